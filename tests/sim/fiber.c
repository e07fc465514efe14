/* A switch saves what the calling convention says a call keeps, and the stack pointer. On x86-64
 * that is a few instructions; elsewhere ucontext does it, with a system call each time. */
#define _GNU_SOURCE
#include "fiber.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#define FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define FIBER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FIBER_TSAN 1
#endif
#endif

#ifdef FIBER_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef FIBER_TSAN
#include <sanitizer/tsan_interface.h>
#endif

#ifdef FIBER_ASAN
enum { STACK_BYTES = 256 * 1024 };
#else
enum { STACK_BYTES = 64 * 1024 };
#endif

/* At the deep end of a stack; gone when it was too small. */
static const uint64_t canary = UINT64_C(0x5ca1ab1e0ddba11);

struct fiber {
    void (*body)(void *context);
    void *context;
    uint8_t *stack;
#ifdef __x86_64__
    void *self, *caller; /* stack pointers */
#else
    ucontext_t self, caller;
#endif
#ifdef FIBER_ASAN
    void *self_fake, *caller_fake;
    const void *caller_stack;
    size_t caller_bytes;
#endif
#ifdef FIBER_TSAN
    void *self_tsan, *caller_tsan;
#endif
};

#ifdef __x86_64__
void fiber_swap(void **save, void *load);
__asm__(".text\n"
        ".type fiber_swap, @function\n"
        "fiber_swap:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size fiber_swap, .-fiber_swap\n");
#endif

/* Where the first switch to a fiber arrives. */
static void fiber_begin(struct fiber *fiber) {
#ifdef FIBER_ASAN
    __sanitizer_finish_switch_fiber(NULL, &fiber->caller_stack, &fiber->caller_bytes);
#endif
    fiber->body(fiber->context);
    abort();
}

#ifdef __x86_64__
/* The new stack has the fiber in rbx's place; a first `ret` comes here, with the stack aligned as
 * after a call. */
__asm__(".text\n"
        ".type fiber_trampoline, @function\n"
        "fiber_trampoline:\n"
        "    movq %rbx, %rdi\n"
        "    call *%r12\n"
        ".size fiber_trampoline, .-fiber_trampoline\n");
void fiber_trampoline(void);
#else
static void fiber_begin_halves(unsigned high, unsigned low) {
    fiber_begin((struct fiber *)((uintptr_t)high << 32 | low));
}
#endif

struct fiber *fiber_make(void (*body)(void *context), void *context) {
    struct fiber *fiber = calloc(1, sizeof *fiber);
    uint8_t *stack = malloc(STACK_BYTES);
    if (fiber == NULL || stack == NULL)
        abort();
    fiber->body = body;
    fiber->context = context;
    fiber->stack = stack;
    memcpy(stack, &canary, sizeof canary);
#ifdef __x86_64__
    void **top = (void **)(void *)(stack + STACK_BYTES);
    *--top = NULL;
    *--top = NULL; /* so that the stack is aligned when the trampoline calls */
    *--top = (void *)(uintptr_t)fiber_trampoline;
    *--top = NULL;                           /* rbp */
    *--top = fiber;                          /* rbx */
    *--top = (void *)(uintptr_t)fiber_begin; /* r12 */
    top -= 3;                                /* r13 to r15 */
    top[0] = top[1] = top[2] = NULL;
    fiber->self = top;
#else
    if (getcontext(&fiber->self) != 0)
        abort();
    fiber->self.uc_stack.ss_sp = stack;
    fiber->self.uc_stack.ss_size = STACK_BYTES;
    makecontext(&fiber->self, (void (*)(void))fiber_begin_halves, 2,
                (unsigned)((uintptr_t)fiber >> 32), (unsigned)(uintptr_t)fiber);
#endif
#ifdef FIBER_TSAN
    fiber->self_tsan = __tsan_create_fiber(0);
#endif
    return fiber;
}

void fiber_free(struct fiber *fiber) {
    if (memcmp(fiber->stack, &canary, sizeof canary) != 0)
        abort();
#ifdef FIBER_TSAN
    __tsan_destroy_fiber(fiber->self_tsan);
#endif
    free(fiber->stack);
    free(fiber);
}

void fiber_enter(struct fiber *fiber) {
#ifdef FIBER_ASAN
    __sanitizer_start_switch_fiber(&fiber->caller_fake, fiber->stack, STACK_BYTES);
#endif
#ifdef FIBER_TSAN
    fiber->caller_tsan = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fiber->self_tsan, 0);
#endif
#ifdef __x86_64__
    fiber_swap(&fiber->caller, fiber->self);
#else
    swapcontext(&fiber->caller, &fiber->self);
#endif
#ifdef FIBER_ASAN
    __sanitizer_finish_switch_fiber(fiber->caller_fake, NULL, NULL);
#endif
}

static void leave(struct fiber *fiber) {
#ifdef FIBER_TSAN
    __tsan_switch_to_fiber(fiber->caller_tsan, 0);
#endif
#ifdef __x86_64__
    fiber_swap(&fiber->self, fiber->caller);
#else
    swapcontext(&fiber->self, &fiber->caller);
#endif
}

void fiber_leave(struct fiber *fiber) {
#ifdef FIBER_ASAN
    __sanitizer_start_switch_fiber(&fiber->self_fake, fiber->caller_stack, fiber->caller_bytes);
#endif
    leave(fiber);
#ifdef FIBER_ASAN
    __sanitizer_finish_switch_fiber(fiber->self_fake, &fiber->caller_stack, &fiber->caller_bytes);
#endif
}

void fiber_leave_for_good(struct fiber *fiber) {
#ifdef FIBER_ASAN
    __sanitizer_start_switch_fiber(NULL, fiber->caller_stack, fiber->caller_bytes);
#endif
    leave(fiber);
    abort();
}

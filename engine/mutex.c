#include "mutex.h"

#include <errno.h>

enum {
    MUTEX_FREE = 0,
    MUTEX_HELD = 1,
    MUTEX_CONTENDED = 2,
};

/* What is held is mostly held for less than a sleep and a wake cost: a microsecond or two. */
enum { SPINS_MAX = 32 };

static void processor_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

bool mutex_trylock(struct mutex *mutex) {
    uint32_t expected = MUTEX_FREE;
    return atomic_compare_exchange_strong_explicit(&mutex->word, &expected, MUTEX_HELD,
                                                   memory_order_acquire, memory_order_relaxed);
}

/* Takes it as one who may have company among the waiters (M2). */
static bool mutex_take_contended(struct mutex *mutex) {
    return atomic_exchange_explicit(&mutex->word, MUTEX_CONTENDED, memory_order_acquire) ==
           MUTEX_FREE;
}

static bool mutex_spin(struct os *os, struct mutex *mutex) {
    for (int spin = 0; spin < SPINS_MAX; spin++) {
        const uint32_t word = atomic_load_explicit(&mutex->word, memory_order_relaxed);
        if (word == MUTEX_CONTENDED)
            return false; /* others sleep already; who spins on would only overtake them */
        if (word == MUTEX_FREE && mutex_trylock(mutex))
            return true;
        os_step(os);
        processor_relax();
    }
    return false;
}

int mutex_lock(struct os *os, struct mutex *mutex, uint64_t deadline_ns) {
    if (mutex_trylock(mutex) || mutex_spin(os, mutex))
        return 0;
    while (!mutex_take_contended(mutex)) {
        if (os_futex_wait(os, &mutex->word, MUTEX_CONTENDED, deadline_ns) == ETIMEDOUT)
            return mutex_take_contended(mutex) ? 0 : ETIMEDOUT;
    }
    return 0;
}

void mutex_unlock(struct os *os, struct mutex *mutex) {
    if (atomic_exchange_explicit(&mutex->word, MUTEX_FREE, memory_order_release) == MUTEX_CONTENDED)
        os_futex_wake(os, &mutex->word, 1);
}

/* fiber: a stack of one's own and the switch to it. */
#ifndef PAWL_TESTS_SIM_FIBER_H
#define PAWL_TESTS_SIM_FIBER_H

#include <stddef.h>

struct fiber;

/* A fiber that will run body(context) when first switched to; the body never returns. */
struct fiber *fiber_make(void (*body)(void *context), void *context);
void fiber_free(struct fiber *fiber);

/* From the thread's own stack to the fiber, until it goes back. */
void fiber_enter(struct fiber *fiber);

/* From inside a fiber, back to who entered it. */
void fiber_leave(struct fiber *fiber);

/* The same for a fiber that will never be entered again. */
void fiber_leave_for_good(struct fiber *fiber);

#endif

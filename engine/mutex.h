/* mutex: an in-process lock over the seam's futex, so that the simulator can schedule it.
 *
 * What it is not: recursive, fair, or of any use between processes (a dead owner is not noticed);
 * the append lock of `shared` is for those. There are no condition variables: who waits for
 * something waits on a word of its own.
 *
 * Invariants
 * M1  The word is 0 when free, 1 when held, 2 when held and somebody may be waiting.
 *
 * M2  Who has ever waited takes it as 2, so that its unlock wakes the next: at worst one wake too
 *     many, never one too few, also after a waiter gave up at its deadline.
 *
 * Threads: any. What was written before an unlock is seen after the next lock.
 */
#ifndef PAWL_ENGINE_MUTEX_H
#define PAWL_ENGINE_MUTEX_H

#include "os.h"

/* Zeroed memory is a free mutex. It owns nothing. */
struct mutex {
    _Atomic uint32_t word;
};

/* 0, or ETIMEDOUT when the deadline passed; never anything else, and with OS_NO_DEADLINE only 0. */
int mutex_lock(struct os *os, struct mutex *mutex, uint64_t deadline_ns);

/* Never waits. False: somebody has it, perhaps the caller. */
bool mutex_trylock(struct mutex *mutex);

/* By the thread that locked it. */
void mutex_unlock(struct os *os, struct mutex *mutex);

#endif

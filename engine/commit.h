/* commit: group commit as a state machine that never waits. Given what is true now, it says what
 * who waits for durability has to do next; flush.c does it.
 *
 * One sync is in flight at a time, for whichever threads of whichever processes appended before it
 * began; who finds nobody at it leads the next. Two syncs at once make both slower.
 * Threads: pure functions.
 */
#ifndef PAWL_ENGINE_COMMIT_H
#define PAWL_ENGINE_COMMIT_H

#include <stdbool.h>
#include <stdint.h>

struct commit_facts {
    uint64_t wanted_lsn; /* durable up to here is what the caller waits for */
    uint64_t durable_lsn;
    bool is_failed;      /* the store is latched */
    bool has_leader;     /* somebody is at a sync */
    bool leader_is_dead; /* and its session's process is gone */
    bool is_past_deadline;
    bool is_interrupted;
};

enum commit_move {
    COMMIT_DONE,        /* it is durable */
    COMMIT_FAILED,      /* a sync failed before it was: undetermined */
    COMMIT_LEAD,        /* take the lead and sync */
    COMMIT_TAKE_OVER,   /* take the lead from the dead, write its range again, and sync */
    COMMIT_WAIT,        /* sleep until something has changed */
    COMMIT_LATE,        /* the deadline passed: pending */
    COMMIT_INTERRUPTED, /* the handle's waits were ended: pending */
    COMMIT_MOVE_COUNT,
};

enum commit_move commit_next(const struct commit_facts *facts);

/* Should a leader give the threads that the last sync woke a moment more to append? Their next
 * frames then share its sync. `arrived` of the `expected` frames are there after `waited_ns`. */
bool commit_should_gather(uint64_t arrived, uint64_t expected, uint64_t waited_ns);

#endif

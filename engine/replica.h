/* replica: a handle's own copy of a store's state, which follows the log.
 *
 * Every operation that changes something takes one road:
 *
 *     replica_lock     the append lock; everything that others appended is applied
 *     (decide)         looks at the state; nothing changes, and a refusal leaves here
 *     replica_append   gets the memory that applying needs, appends one frame, applies it
 *     replica_unlock
 *     log_wait_durable if it must survive a power cut
 *
 * Whoever was asleep, and an opening, read the same frames and get the same state.
 *
 * What it is not: a decision what to append.
 *
 * Invariants
 * R1  The state is what applying all frames below state.applied_lsn in turn gives. A call that
 *     fails leaves it at such a position.
 *
 * R2  Between replica_lock() and replica_unlock() nothing is in the log that is not applied.
 *
 * Threads: one at a time.
 */
#ifndef PAWL_ENGINE_REPLICA_H
#define PAWL_ENGINE_REPLICA_H

#include "log.h"
#include "state.h"

struct replica {
    struct log *log; /* the caller's; outlives the replica */
    struct log_reader *reader;
    struct state state;
};

/* Nothing is applied yet. PAWL_NO_MEMORY, PAWL_FORKED. */
pawl_status replica_open(struct replica *replica, struct os *os, struct log *log,
                         pawl_error *error);

/* Zeroed it may be closed too. */
void replica_close(struct replica *replica);

/* Applies what the log has beyond the state. PAWL_DAMAGED, PAWL_VERSION, PAWL_NO_MEMORY, PAWL_IO,
 * PAWL_FAILED, PAWL_FORKED: it got as far as it could, and may be asked again. */
pawl_status replica_catch_up(struct replica *replica, pawl_error *error);

/* Catches up, takes the append lock with room for frames of `bytes` in all, and catches up with
 * what came meanwhile. What log_lock() and replica_catch_up() answer; nothing is held on failure.
 */
pawl_status replica_lock(struct replica *replica, uint64_t bytes, enum log_class class,
                         uint64_t deadline, pawl_error *error);
void replica_unlock(struct replica *replica);

/* Appends one frame and applies it; the lock is held. PAWL_DAMAGED: the records make no sense here,
 * which is a mistake of the caller's. PAWL_NO_MEMORY, or what log_append() answers; the frame is
 * then not applied, and with anything but PAWL_FAILED_SYNC it is not in the log. */
pawl_status replica_append(struct replica *replica, const struct log_draft *draft,
                           uint64_t *ret_end_lsn, pawl_error *error);

#endif

#include "log.h"

#include "check.h"
#include "core.h"
#include "flush.h"
#include "supply.h"
#include "tail.h"

#include <errno.h>

enum { SUPPLY_TRIES = 64 }; /* at least, before it is a matter of the deadline */

/* Waits, without the append lock, for what tail_make_room() has asked for. */
static pawl_status log_help_room(struct log *log, pawl_status asked, uint64_t bytes,
                                 enum log_class class, uint64_t deadline, pawl_error *error) {
    pawl_status status;
    if (asked == PAWL_EMPTY)
        status = supply_room(log, bytes, class, deadline, error);
    else
        status = flush_wait(log, log_tail(log), deadline, error);
    if (status == PAWL_PENDING)
        return error_set(error, PAWL_BUSY, "the disk did not take what was written before in time");
    return status;
}

pawl_status log_lock(struct log *log, uint64_t bytes, enum log_class class, uint64_t deadline,
                     pawl_error *error) {
    TRY(core_usable(log, error));
    if (bytes > FRAME_BYTES_MAX)
        return error_set(error, PAWL_TOO_LARGE, "a frame of %llu bytes; at most %d",
                         (unsigned long long)bytes, FRAME_BYTES_MAX);
    for (int i = 0; i < SUPPLY_TRIES || os_clock_boot(log->os) < deadline; i++) {
        if (i > 0 && atomic_load(&log->is_interrupted) != 0)
            return error_set(error, PAWL_INTERRUPTED, "the wait was interrupted");
        TRY(tail_lock(log, deadline, error));
        pawl_status status = tail_make_room(log, bytes, class, error);
        if (status == PAWL_OK)
            return PAWL_OK;
        tail_unlock(log);
        if (status == PAWL_EMPTY || status == PAWL_PENDING)
            status = log_help_room(log, status, bytes, class, deadline, error);
        if (status == PAWL_FAILED_SYNC)
            return core_failed(log, error); /* of the caller's own nothing was written */
        TRY(status);
    }
    return error_set(error, PAWL_BUSY, "others used up all room until the deadline");
}

void log_unlock(struct log *log) {
    if (os_is_forked_child(log->os))
        return; /* what is held is held by the parent */
    tail_unlock(log);
}

pawl_status log_append(struct log *log, const struct log_draft *draft, uint64_t *ret_lsn,
                       uint64_t *ret_end_lsn, pawl_error *error) {
    uint64_t lsn;
    TRY(core_usable(log, error));
    TRY(tail_append(log, draft, &lsn, error));
    *ret_lsn = lsn;
    *ret_end_lsn = log_tail(log);
    return PAWL_OK;
}

pawl_status log_wait_durable(struct log *log, uint64_t lsn, uint64_t deadline, pawl_error *error) {
    TRY(core_usable(log, error));
    if (lsn > log_tail(log))
        return error_set(error, PAWL_INVALID, "position %llu lies beyond the log's end",
                         (unsigned long long)lsn);
    return flush_wait(log, lsn, deadline, error);
}

pawl_status log_wait_tail(struct log *log, uint64_t lsn, uint64_t deadline, pawl_error *error) {
    struct shared *shared = log->shared;
    TRY(core_usable(log, error));
    pawl_status status = PAWL_OK;
    atomic_fetch_add(&shared->tail_waiters, 1);
    for (;;) {
        const uint32_t seen = atomic_load(&shared->tail_event);
        if (log_tail(log) > lsn)
            break;
        if (atomic_load(&log->is_interrupted) != 0)
            status = error_set(error, PAWL_INTERRUPTED, "the wait was interrupted");
        else if (shared_is_failed(shared))
            status = core_failed(log, error);
        else if (os_futex_wait(log->os, &shared->tail_event, seen,
                               core_until(log->os, CORE_LOOK_NS, deadline)) == ETIMEDOUT &&
                 log_tail(log) <= lsn && os_clock_boot(log->os) >= deadline)
            status = error_set(error, PAWL_EMPTY, "nothing was appended before the deadline");
        if (status != PAWL_OK)
            break;
    }
    atomic_fetch_sub(&shared->tail_waiters, 1);
    return status;
}

uint64_t log_first(struct log *log) {
    return chain_first_lsn(&log->chain);
}

uint64_t log_tail(struct log *log) {
    return atomic_load_explicit(&log->shared->tail_lsn, memory_order_acquire);
}

uint64_t log_durable(struct log *log) {
    return atomic_load_explicit(&log->shared->durable_lsn, memory_order_acquire);
}

void log_interrupt(struct log *log) {
    struct shared *shared = log->shared;
    atomic_store(&log->is_interrupted, 1);
    shared_event_raise(log->os, &shared->durable_event, &shared->durable_waiters);
    shared_event_raise(log->os, &shared->tail_event, &shared->tail_waiters);
    os_futex_wake(log->os, &shared->append_owner, UINT32_MAX);
}

static pawl_status log_append_mark(struct log *log, uint16_t flags, uint64_t *ret_end_lsn,
                                   uint64_t deadline, pawl_error *error) {
    const struct log_draft draft = {
        .flags = (uint16_t)(FRAME_MARK | flags),
        .time_us = os_clock_wall(log->os),
    };
    uint64_t lsn;
    TRY(log_lock(log, frame_bytes(0, 0), LOG_FINISHING, deadline, error));
    const pawl_status status = log_append(log, &draft, &lsn, ret_end_lsn, error);
    if (status == PAWL_OK)
        atomic_store(&log->shared->marked_lsn, *ret_end_lsn);
    log_unlock(log);
    return status;
}

pawl_status log_mark(struct log *log, uint16_t flags, uint64_t deadline, pawl_error *error) {
    uint64_t end_lsn;
    TRY(core_usable(log, error));
    TRY(flush_wait(log, log_tail(log), deadline, error));
    TRY(log_append_mark(log, flags, &end_lsn, deadline, error));
    return STEP_IS_ON(STEP_MARK_SYNC) ? flush_wait(log, end_lsn, deadline, error) : PAWL_OK;
}

pawl_status log_maintain(struct log *log, pawl_error *error) {
    TRY(core_usable(log, error));
    struct shared *shared = log->shared;
    if (shared_is_failed(shared))
        return core_failed(log, error);
    const uint64_t tail = log_tail(log);
    const uint64_t deadline = os_clock_boot(log->os) + log->options.busy_ns;
    TRY(flush_wait(log, tail, deadline, error));
    TRY(supply_maintain(log, error));
    if (atomic_exchange(&log->idle_lsn, tail) == tail && atomic_load(&shared->marked_lsn) != tail)
        return log_mark(log, 0, deadline, error);
    return PAWL_OK;
}

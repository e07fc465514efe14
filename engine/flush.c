#include "flush.h"

#include "check.h"
#include "commit.h"
#include "window.h"

#include <errno.h>

/* ---- The sync ---- */

/* A position of the log with the file it lies in. */
struct flush_piece {
    struct chain_entry entry;
    struct os_file *file;
};

static pawl_status flush_hold(struct log *log, uint64_t lsn, struct flush_piece *ret_piece,
                              pawl_error *error) {
    struct chain_entry entry;
    CHECK(chain_find(&log->chain, lsn, &entry), error);
    struct os_file *file;
    TRY(chain_hold(&log->chain, entry.ordinal, atomic_load(&log->shared->durable_lsn), &file,
                   error));
    *ret_piece = (struct flush_piece){entry, file};
    return PAWL_OK;
}

/* Latches the store: whoever waits, in whichever process, learns of it. */
static pawl_status flush_fail(struct log *log, const struct flush_piece *piece, int os_errno,
                              pawl_error *error) {
    if (STEP_IS_ON(STEP_COMMIT_FAIL_ALL))
        shared_fail(log->os, log->shared, os_errno, piece->entry.ordinal);
    char name[SEGMENT_NAME_BYTES];
    segment_name(piece->entry.ordinal, name);
    (void)error_os(error, os_errno, name, 0, "a sync of segment %s failed", name);
    return error_as(error, PAWL_FAILED_SYNC);
}

/* Writes [from, to) again with the bytes that are there, frame by frame, so that the pages are
 * dirty and this process's own sync answers for them. */
static pawl_status flush_rewrite(struct log *log, const struct flush_piece *piece, uint64_t from,
                                 uint64_t to, pawl_error *error) {
    const struct frame_key key = {log->identity.secret, piece->entry.ordinal};
    struct window window;
    char name[SEGMENT_NAME_BYTES];
    segment_name(piece->entry.ordinal, name);
    window_init(&window, log->os, piece->file, name);
    pawl_status status = PAWL_OK;
    int failed = 0;
    while (status == PAWL_OK && failed == 0 && from < to) {
        const uint64_t offset = chain_offset(&piece->entry, from);
        const uint8_t *bytes;
        size_t count;
        struct frame_header header;
        status = window_get(&window, offset, FRAME_HEADER_BYTES, &bytes, &count, error);
        if (status != PAWL_OK)
            break;
        if (count < FRAME_HEADER_BYTES || frame_read_header(bytes, &key, &header) != FRAME_WHOLE ||
            header.lsn != from) {
            failed = EIO;
            break;
        }
        const size_t size = frame_header_frame_bytes(&header);
        status = window_get(&window, offset, size, &bytes, &count, error);
        if (status != PAWL_OK)
            break;
        failed = count == size && frame_body_is_whole(&header, bytes, key.secret)
                     ? os_file_write(log->os, piece->file, bytes, size, offset)
                     : EIO;
        from += size;
    }
    window_deinit(&window);
    return status == PAWL_OK && failed != 0 ? flush_fail(log, piece, failed, error) : status;
}

/* Syncs the segments that [from, to), which is not empty, lies in. */
static pawl_status flush_range(struct log *log, uint64_t from, uint64_t to, bool must_rewrite,
                               pawl_error *error) {
    bool is_last;
    do {
        struct flush_piece piece = {0};
        TRY(flush_hold(log, from, &piece, error));
        const uint64_t end = piece.entry.end_lsn < to ? piece.entry.end_lsn : to;
        is_last = end == to;
        pawl_status status = PAWL_OK;
        if (must_rewrite && STEP_IS_ON(STEP_COMMIT_REWRITE))
            status = flush_rewrite(log, &piece, from, end, error);
        int failed = 0;
        if (status == PAWL_OK && STEP_IS_ON(STEP_COMMIT_SYNC) &&
            (is_last || STEP_IS_ON(STEP_COMMIT_SYNC_FIRST)))
            failed = os_file_sync(log->os, piece.file);
        if (failed != 0)
            status = flush_fail(log, &piece, failed, error);
        chain_let_go(&log->chain, piece.file);
        TRY(status);
        from = end;
    } while (!is_last);
    return PAWL_OK;
}

/* ---- Leading ---- */

/* Gives those whom the last sync woke the moment they need to append again. */
static void flush_gather(struct log *log) {
    struct shared *shared = log->shared;
    const uint64_t expected = atomic_load(&shared->group_frames);
    const uint64_t synced = atomic_load(&shared->synced_frames);
    const uint64_t began = os_clock_boot(log->os);
    while (commit_should_gather(atomic_load(&shared->sync_frames) - synced, expected,
                                os_clock_boot(log->os) - began))
        os_pause(log->os, 0);
}

/* Was something from `durable_lsn` on written, or being synced, by a process that is gone? Then an
 * error of the system's own writing may have been told to it alone, or to nobody. */
static bool flush_must_rewrite(struct log *log, uint64_t durable_lsn) {
    return (STEP_IS_ON(STEP_COMMIT_DEAD_WRITER) && slots_left_dirty(&log->slots, durable_lsn)) ||
           atomic_load(&log->shared->rewrite_lsn) > durable_lsn;
}

/* One sync for everything that has been appended. The caller has the lead. */
static pawl_status flush_lead(struct log *log, pawl_error *error) {
    struct shared *shared = log->shared;
    const uint64_t from = atomic_load(&shared->durable_lsn);
    uint64_t to = atomic_load(&shared->tail_lsn);
    const uint64_t frames = atomic_load(&shared->sync_frames);
    const uint64_t active = atomic_load(&shared->active_ordinal);
    if (from == to)
        return PAWL_OK; /* who led a moment ago has synced it all */
    TRY(core_judge_chain(log, chain_follow(&log->chain, active, error), error));
    TRY(flush_range(log, from, to, flush_must_rewrite(log, from), error));
    if (!STEP_IS_ON(STEP_COMMIT_BOUND))
        to = atomic_load(&shared->tail_lsn);
    if (shared_is_failed(shared))
        return core_failed(log, error);
    atomic_store(&shared->group_frames, (uint32_t)(frames - atomic_load(&shared->synced_frames)));
    atomic_store(&shared->synced_frames, frames);
    os_step(log->os);
    atomic_store(&shared->durable_lsn, to);
    return PAWL_OK;
}

static pawl_status flush_try_lead(struct log *log, shared_owner dead, pawl_error *error) {
    struct shared *shared = log->shared;
    const bool has_lead = dead == 0
                              ? shared_owner_try(&shared->sync_owner, log->slots.self)
                              : shared_owner_replace(&shared->sync_owner, dead, log->slots.self);
    if (!has_lead)
        return PAWL_OK;
    /* It stays owed until all of it is durable: this one may fail at it, or die. */
    if (dead != 0)
        shared_raise_rewrite(shared, atomic_load(&shared->tail_lsn));
    flush_gather(log);
    const pawl_status status = flush_lead(log, error);
    if (!STEP_IS_ON(STEP_COMMIT_OWED))
        atomic_store(&shared->rewrite_lsn, 0);
    shared_owner_drop(log->os, &shared->sync_owner);
    shared_event_raise(log->os, &shared->durable_event, &shared->durable_waiters);
    return status;
}

/* ---- Waiting ---- */

/* Sleeps until something has changed. True: nothing did for a slice, so the leader may be dead. */
static bool flush_sleep(struct log *log, uint32_t seen, uint64_t deadline) {
    return os_futex_wait(log->os, &log->shared->durable_event, seen,
                         core_until(log->os, CORE_SLICE_NS, deadline)) == ETIMEDOUT;
}

static pawl_status flush_step(struct log *log, enum commit_move move, shared_owner leader,
                              pawl_error *error) {
    switch (move) {
    case COMMIT_LEAD: return flush_try_lead(log, 0, error);
    case COMMIT_TAKE_OVER: return flush_try_lead(log, leader, error);
    case COMMIT_FAILED: return core_undetermined(log, error);
    case COMMIT_LATE:
        return error_set(error, PAWL_PENDING, "the deadline passed before it was durable");
    case COMMIT_INTERRUPTED:
        return error_set(error, PAWL_PENDING, "interrupted before it was known to be durable");
    case COMMIT_DONE:
    case COMMIT_WAIT:
    case COMMIT_MOVE_COUNT: break;
    }
    return PAWL_OK;
}

static pawl_status flush_until(struct log *log, uint64_t lsn, uint64_t deadline,
                               pawl_error *error) {
    struct shared *shared = log->shared;
    bool has_waited = false;
    for (;;) {
        const uint32_t seen = atomic_load(&shared->durable_event);
        const shared_owner leader = atomic_load(&shared->sync_owner);
        const struct commit_facts facts = {
            .wanted_lsn = lsn,
            .durable_lsn = atomic_load(&shared->durable_lsn),
            .is_failed = shared_is_failed(shared),
            .has_leader = leader != 0,
            .leader_is_dead = has_waited && leader != 0 && slots_owner_is_dead(&log->slots, leader),
            .is_past_deadline = os_clock_boot(log->os) >= deadline,
            .is_interrupted = atomic_load(&log->is_interrupted) != 0,
        };
        const enum commit_move move = commit_next(&facts);
        if (move == COMMIT_DONE)
            return PAWL_OK;
        if (move == COMMIT_WAIT)
            has_waited = flush_sleep(log, seen, deadline);
        pawl_error found;
        const pawl_status status = flush_step(log, move, leader, &found);
        /* The latch decides, for who led as for all. */
        const bool is_latched = status == PAWL_FAILED || status == PAWL_FAILED_SYNC;
        if (status != PAWL_OK && (!is_latched || move == COMMIT_FAILED)) {
            if (error != NULL)
                *error = found;
            return status;
        }
    }
}

pawl_status flush_wait(struct log *log, uint64_t lsn, uint64_t deadline, pawl_error *error) {
    struct shared *shared = log->shared;
    if (atomic_load(&shared->durable_lsn) >= lsn)
        return PAWL_OK;
    atomic_fetch_add(&shared->durable_waiters, 1);
    const pawl_status status = flush_until(log, lsn, deadline, error);
    atomic_fetch_sub(&shared->durable_waiters, 1);
    return status;
}

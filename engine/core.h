/* core: what the rooms of the log share: one handle's view of it. No functions of weight.
 *
 * Threads: what is not atomic is constant after opening, or guarded as said.
 */
#ifndef PAWL_ENGINE_CORE_H
#define PAWL_ENGINE_CORE_H

#include "chain.h"
#include "footer.h"
#include "identity.h"
#include "log.h"
#include "mutex.h"
#include "shared.h"
#include "slots.h"

#include <string.h>

struct log {
    struct os *os;
    struct os_dir *store_dir;
    struct os_dir *dir; /* log/ */
    struct identity identity;
    struct slots slots;
    struct shared *shared;
    struct chain chain;
    struct log_options options;

    struct mutex append_mutex; /* the append lock between the threads of this handle */
    /* Guarded by the append lock: where a frame is laid out, and the segment it goes to. */
    uint8_t *buffer;
    size_t buffer_bytes;
    struct chain_entry active;
    struct os_file *active_file;

    struct mutex supply_mutex; /* the maintenance byte between the threads of this handle */
    bool has_reserve;          /* the reserve was looked at; guarded by it */

    _Atomic uint64_t idle_lsn; /* the tail at the last upkeep */
    _Atomic uint32_t is_interrupted;
};

/* What each segment keeps free for its own footer. */
static inline uint64_t core_footer_bytes(void) {
    return frame_bytes(FOOTER_METADATA_BYTES, 0);
}

/* How often a waiter looks whether who it waits for is still alive. */
#define CORE_SLICE_NS (5U * 1000 * 1000)

/* How often who waits for work, or for another thread, looks by itself: who brought the work may
 * have died before it could wake anybody, and an interruption wakes nobody at a mutex. */
#define CORE_LOOK_NS (100U * 1000 * 1000)

static inline uint64_t core_until(struct os *os, uint64_t slice_ns, uint64_t deadline) {
    const uint64_t until = os_clock_boot(os) + slice_ns;
    return until < deadline ? until : deadline;
}

/* The header of a segment of this store, made now. */
static inline struct segment_header core_segment_header(struct log *log, uint64_t ordinal,
                                                        uint32_t flags, uint64_t durable_lsn) {
    struct segment_header header = {
        .flags = flags,
        .ordinal = ordinal,
        .durable_lsn = durable_lsn,
        .made_us = os_clock_wall(log->os),
    };
    memcpy(header.uuid, log->identity.uuid, sizeof header.uuid);
    return header;
}

/* This session's own slot. */
static inline struct shared_slot *core_slot(struct log *log) {
    return &log->shared->slots[shared_owner_slot(log->slots.self)];
}

/* Waits for a mutex of this handle, whose holder may itself wait for another process.
 * PAWL_INTERRUPTED; PAWL_BUSY past the deadline: another thread `does_what`. */
static inline pawl_status core_lock(struct log *log, struct mutex *mutex, const char *does_what,
                                    uint64_t deadline, pawl_error *error) {
    while (mutex_lock(log->os, mutex, core_until(log->os, CORE_LOOK_NS, deadline)) != 0) {
        if (atomic_load(&log->is_interrupted) != 0)
            return error_set(error, PAWL_INTERRUPTED, "the wait was interrupted");
        if (os_clock_boot(log->os) >= deadline)
            return error_set(error, PAWL_BUSY, "another thread of this process %s", does_what);
    }
    return PAWL_OK;
}

/* PAWL_FORKED in a child that was forked after the opening: its descriptors are closed. */
static inline pawl_status core_usable(struct log *log, pawl_error *error) {
    if (os_is_forked_child(log->os))
        return error_set(error, PAWL_FORKED,
                         "the store was opened before this process was forked; open it again");
    return PAWL_OK;
}

static inline pawl_status core_failed(struct log *log, pawl_error *error) {
    struct shared *shared = log->shared;
    char name[SEGMENT_NAME_BYTES];
    int os_errno;
    uint64_t ordinal;
    shared_failure(shared, &os_errno, &ordinal);
    segment_name(ordinal, name);
    (void)error_set(
        error, PAWL_FAILED,
        "segment %s could not be made durable (errno %d); nothing more is written until every "
        "process has closed the store and one opens it again",
        name, os_errno);
    return error_at(error, PAWL_FAILED, name, 0, atomic_load(&shared->durable_lsn));
}

/* The same, for a call of which something was written. */
static inline pawl_status core_undetermined(struct log *log, pawl_error *error) {
    (void)core_failed(log, error);
    return error_as(error, PAWL_FAILED_SYNC);
}

/* What was written and is not durable can be gone before any sync has said so: the system failed to
 * write it back by itself, and dropped it from the cache. That is no damage to what was promised;
 * the next sync will tell. */
static inline pawl_status core_not_durable(struct log *log, pawl_error *error) {
    if (shared_is_failed(log->shared))
        return core_failed(log, error);
    return error_set(error, PAWL_IO, "what is not durable yet can't be read back");
}

/* The same for what the chain calls damage, unless everything is durable. A segment that is just
 * being begun counts, though the tail has not moved into it yet; so that is looked at first. */
static inline pawl_status core_judge_chain(struct log *log, pawl_status status, pawl_error *error) {
    const bool is_appending = atomic_load(&log->shared->appending_lsn) != 0;
    const uint64_t durable_lsn = atomic_load(&log->shared->durable_lsn);
    if (status == PAWL_DAMAGED &&
        (is_appending || durable_lsn < atomic_load(&log->shared->tail_lsn)))
        return core_not_durable(log, error);
    return status;
}

#endif

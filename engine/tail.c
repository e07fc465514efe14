#include "tail.h"

#include "check.h"
#include "footer.h"

#include <errno.h>
#include <string.h>

enum {
    SPINS = 200,
    BUFFER_BYTES_KEPT = 1024 * 1024,
    SEGMENTS_UNSYNCED_MAX = CHAIN_FILES / 2,
};

/* ---- The append lock ---- */

/* Waits for the owner word. Spins first: a frame is written in a microsecond. */
static pawl_status tail_take_word(struct log *log, uint64_t deadline, pawl_error *error) {
    struct os *os = log->os;
    _Atomic uint32_t *word = &log->shared->append_owner;
    shared_owner self = log->slots.self;
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(word, memory_order_relaxed) == 0 && shared_owner_try(word, self))
            return PAWL_OK;
    }
    for (;;) {
        const uint32_t owner = shared_owner_mark_waited(word);
        if (owner == 0) {
            self |= SHARED_OWNER_WAITED; /* others may sleep on it too */
            if (shared_owner_try(word, self))
                return PAWL_OK;
            continue;
        }
        if (atomic_load(&log->is_interrupted) != 0)
            return error_set(error, PAWL_INTERRUPTED, "the wait for the append lock was ended");
        const bool is_late = os_clock_boot(os) >= deadline;
        if (!is_late &&
            os_futex_wait(os, word, owner, core_until(os, CORE_SLICE_NS, deadline)) != ETIMEDOUT)
            continue;
        const uint32_t still = atomic_load(word);
        if (still != 0 && slots_owner_is_dead(&log->slots, still)) {
            if (shared_owner_replace(word, still, self))
                return PAWL_OK;
        } else if (still != 0 && is_late) {
            return slots_busy(&log->slots, still, "the append lock", error);
        }
    }
}

/* ---- What a dead owner left ---- */

/* Makes a frame that stands whole at the tail part of the log. */
static void tail_publish(struct log *log, const struct frame_header *header, size_t size) {
    struct shared *shared = log->shared;
    /* Who died while it began a segment may not have come so far as to open it. */
    if ((header->flags & (FRAME_FOOTER | FRAME_SEGMENT_START)) != 0)
        atomic_store(&shared->is_sealed, (header->flags & FRAME_FOOTER) != 0);
    if ((header->flags & FRAME_NEEDS_SYNC) != 0)
        atomic_store_explicit(&shared->sync_frames,
                              atomic_load_explicit(&shared->sync_frames, memory_order_relaxed) + 1,
                              memory_order_relaxed);
    os_step(log->os);
    atomic_store_explicit(&shared->tail_lsn, header->lsn + size, memory_order_release);
    os_step(log->os);
    atomic_store_explicit(&shared->appending_lsn, 0, memory_order_release);
    shared_event_raise(log->os, &shared->tail_event, &shared->tail_waiters);
}

/* Makes active and active_file those of the log's last segment. */
static pawl_status tail_view(struct log *log, pawl_error *error) {
    struct shared *shared = log->shared;
    const uint64_t ordinal = atomic_load_explicit(&shared->active_ordinal, memory_order_relaxed);
    if (log->active_file != NULL && log->active.ordinal == ordinal)
        return PAWL_OK;
    TRY(core_judge_chain(log, chain_follow(&log->chain, ordinal, error), error));
    struct os_file *file;
    TRY(chain_hold(&log->chain, ordinal, atomic_load(&shared->durable_lsn), &file, error));
    if (log->active_file != NULL)
        chain_let_go(&log->chain, log->active_file);
    log->active = chain_last(&log->chain);
    log->active_file = file;
    return PAWL_OK;
}

static pawl_status tail_buffer(struct log *log, size_t bytes, pawl_error *error) {
    if (bytes <= log->buffer_bytes)
        return PAWL_OK;
    size_t capacity = 4096;
    while (capacity < bytes)
        capacity *= 2;
    uint8_t *buffer = os_allocate(log->os, capacity);
    if (buffer == NULL)
        return error_set(error, PAWL_NO_MEMORY, "no memory for a frame of %zu bytes", bytes);
    os_release(log->os, log->buffer, log->buffer_bytes);
    log->buffer = buffer;
    log->buffer_bytes = capacity;
    return PAWL_OK;
}

/* Reads `bytes` at the tail into the buffer; what lies behind the file's end is zero. */
static pawl_status tail_read(struct log *log, size_t bytes, pawl_error *error) {
    const uint64_t offset = chain_offset(&log->active, atomic_load(&log->shared->tail_lsn));
    size_t read = 0;
    TRY(tail_buffer(log, bytes, error));
    const int failed = os_file_read(log->os, log->active_file, log->buffer, bytes, offset, &read);
    if (failed != 0) {
        char name[SEGMENT_NAME_BYTES];
        segment_name(log->active.ordinal, name);
        return error_os(error, failed, name, offset, "cannot read segment %s", name);
    }
    memset(log->buffer + read, 0, bytes - read);
    return PAWL_OK;
}

enum tail_finding {
    TAIL_NO_HEADER, /* zeros where a header would be: nothing came so far */
    TAIL_SPOILED,   /* something that is no whole frame of this place */
    TAIL_WHOLE,
};

/* Looks at what stands at the tail. *ret_header only when it is whole. */
static pawl_status tail_inspect(struct log *log, struct frame_header *ret_header,
                                enum tail_finding *ret_finding, pawl_error *error) {
    const struct frame_key key = {log->identity.secret, log->active.ordinal};
    struct frame_header header = {0};
    TRY(tail_read(log, FRAME_HEADER_BYTES, error));
    const enum frame_verdict verdict = frame_read_header(log->buffer, &key, &header);
    enum tail_finding finding = verdict == FRAME_ABSENT ? TAIL_NO_HEADER : TAIL_SPOILED;
    if (verdict == FRAME_WHOLE && header.lsn == atomic_load(&log->shared->tail_lsn)) {
        TRY(tail_read(log, frame_header_frame_bytes(&header), error));
        if (!STEP_IS_ON(STEP_APPEND_VERIFY_ADOPTED) ||
            frame_body_is_whole(&header, log->buffer, key.secret))
            finding = TAIL_WHOLE;
    }
    *ret_header = header;
    *ret_finding = finding;
    return PAWL_OK;
}

/* Who wrote at the tail has died, or failed, and appending_lsn says where. The start of a segment
 * is no question here: it stands in the next file, where tail_begin() looks for itself. */
static pawl_status tail_settle(struct log *log, pawl_error *error) {
    struct shared *shared = log->shared;
    if (atomic_load(&shared->appending_lsn) == atomic_load(&shared->tail_lsn)) {
        struct frame_header header;
        enum tail_finding finding;
        TRY(tail_view(log, error));
        TRY(tail_inspect(log, &header, &finding, error));
        if (finding == TAIL_WHOLE)
            tail_publish(log, &header, frame_header_frame_bytes(&header));
        else if (finding == TAIL_SPOILED)
            atomic_store(&shared->is_sealed, 1); /* it ends here, without a footer */
    }
    os_step(log->os);
    atomic_store(&shared->appending_lsn, 0);
    return PAWL_OK;
}

pawl_status tail_lock(struct log *log, uint64_t deadline, pawl_error *error) {
    struct shared *shared = log->shared;
    TRY(core_lock(log, &log->append_mutex, "holds the append lock", deadline, error));
    pawl_status status = tail_take_word(log, deadline, error);
    if (status != PAWL_OK) {
        mutex_unlock(log->os, &log->append_mutex);
        return status;
    }
    if (!shared_is_sound(shared))
        status = error_at(
            error,
            error_set(error, PAWL_DAMAGED, "%s was written over while it was in use", SHARED_NAME),
            SHARED_NAME, 0, 0);
    else if (shared_is_failed(shared) && STEP_IS_ON(STEP_APPEND_CHECK_FAILED))
        status = core_failed(log, error);
    else if (atomic_load(&shared->appending_lsn) != 0 && STEP_IS_ON(STEP_APPEND_SETTLE))
        status = tail_settle(log, error);
    if (status != PAWL_OK)
        tail_unlock(log);
    return status;
}

void tail_unlock(struct log *log) {
    if (log->buffer_bytes > BUFFER_BYTES_KEPT) {
        os_release(log->os, log->buffer, log->buffer_bytes);
        log->buffer = NULL;
        log->buffer_bytes = 0;
    }
    shared_owner_drop(log->os, &log->shared->append_owner);
    mutex_unlock(log->os, &log->append_mutex);
}

/* ---- Writing ---- */

/* Lays the frame out in the buffer for `lsn` in segment `ordinal`. */
static pawl_status tail_lay_out(struct log *log, const struct log_draft *draft, uint64_t ordinal,
                                struct frame_header *ret_header, pawl_error *error) {
    struct frame_header header = {
        .lsn = atomic_load(&log->shared->tail_lsn),
        .durable_lsn = atomic_load(&log->shared->durable_lsn),
        .time_us = draft->time_us,
        .metadata_bytes = draft->metadata_bytes,
        .payload_bytes = draft->payload_bytes,
        .record_count = draft->record_count,
        .flags = draft->flags,
    };
    if (!STEP_IS_ON(STEP_MARK_AFTER_SYNC) && (draft->flags & FRAME_MARK) != 0)
        header.durable_lsn = header.lsn;
    const size_t size = frame_header_frame_bytes(&header);
    if (size == 0 || draft->record_count > FRAME_RECORDS_MAX)
        return error_set(error, PAWL_TOO_LARGE,
                         "a frame of %u records in %u + %u bytes; at most %d records in %d bytes",
                         draft->record_count, draft->metadata_bytes, draft->payload_bytes,
                         FRAME_RECORDS_MAX, FRAME_BYTES_MAX);
    TRY(tail_buffer(log, size, error));
    const struct frame_key key = {log->identity.secret, ordinal};
    frame_build(&header, draft->metadata, draft->payload, key.secret, log->buffer);
    frame_place(&header, &key, log->buffer);
    *ret_header = header;
    return PAWL_OK;
}

/* Says, before anything else, that `bytes` are about to stand at the tail (H3, H6). */
static void tail_announce(struct log *log, size_t bytes) {
    struct shared *shared = log->shared;
    const uint64_t tail = atomic_load_explicit(&shared->tail_lsn, memory_order_relaxed);
    atomic_store_explicit(&core_slot(log)->dirty_lsn, tail + bytes, memory_order_release);
    if (STEP_IS_ON(STEP_APPEND_MARK_INTENT))
        atomic_store_explicit(&shared->appending_lsn, tail, memory_order_release);
    os_step(log->os);
}

static pawl_status tail_write(struct log *log, struct os_file *file, uint64_t ordinal,
                              const void *bytes, size_t size, uint64_t offset, pawl_error *error) {
    tail_announce(log, size);
    const int failed = os_file_write(log->os, file, bytes, size, offset);
    if (failed != 0) {
        char name[SEGMENT_NAME_BYTES];
        segment_name(ordinal, name);
        return error_os(error, failed, name, offset, "cannot write to segment %s", name);
    }
    return PAWL_OK;
}

/* The write of a frame failed with `status`. All of it may be there nevertheless, and recovery
 * would take it for part of the log: so it is judged now, as what a dead owner leaves. */
static pawl_status tail_judge(struct log *log, uint64_t lsn, pawl_status status,
                              pawl_error *error) {
    pawl_error why = {0};
    if (tail_settle(log, &why) == PAWL_OK)
        return atomic_load(&log->shared->tail_lsn) > lsn ? PAWL_OK : status;
    shared_fail(log->os, log->shared, why.os_errno != 0 ? why.os_errno : EIO, log->active.ordinal);
    return core_undetermined(log, error);
}

pawl_status tail_append(struct log *log, const struct log_draft *draft, uint64_t *ret_lsn,
                        pawl_error *error) {
    struct frame_header header = {0};
    CHECK(log->active.ordinal == atomic_load(&log->shared->active_ordinal), error);
    TRY(tail_lay_out(log, draft, log->active.ordinal, &header, error));
    const size_t size = frame_header_frame_bytes(&header);
    CHECK(header.lsn + size <= atomic_load(&log->shared->room_lsn), error);
    const pawl_status status = tail_write(log, log->active_file, log->active.ordinal, log->buffer,
                                          size, chain_offset(&log->active, header.lsn), error);
    if (status == PAWL_OK)
        tail_publish(log, &header, size);
    else
        TRY(tail_judge(log, header.lsn, status, error));
    *ret_lsn = header.lsn;
    return PAWL_OK;
}

/* ---- Going on to the next segment ---- */

static pawl_status tail_seal(struct log *log, pawl_error *error) {
    uint8_t metadata[FOOTER_METADATA_BYTES];
    struct writer writer = writer_over(metadata, sizeof metadata);
    const struct footer footer = {log->active.first_lsn, atomic_load(&log->shared->tail_lsn)};
    footer_write(&writer, &footer);
    const struct log_draft draft = {
        .metadata = metadata,
        .metadata_bytes = (uint32_t)writer_used(&writer),
        .record_count = 1,
        .flags = FRAME_FOOTER,
        .time_us = os_clock_wall(log->os),
    };
    uint64_t lsn;
    return tail_append(log, &draft, &lsn, error);
}

/* Writes the start of the segment that was made ahead, or finds that one who died has written it.
 * *ret_size 0: something else stands there. */
static pawl_status tail_write_start(struct log *log, struct os_file *file, uint64_t ordinal,
                                    size_t *ret_size, pawl_error *error) {
    const uint64_t tail = atomic_load(&log->shared->tail_lsn);
    const struct segment_start start = {log->active.ordinal, tail};
    enum chain_start verdict = CHAIN_START_NONE;
    struct frame_header header;
    struct segment_start found = {0};
    TRY(chain_read_start(log->os, file, ordinal, log->identity.secret, &verdict, &header, &found,
                         error));
    *ret_size = 0;
    if (verdict == CHAIN_START_WHOLE && found.end_lsn == tail &&
        found.predecessor == start.predecessor) {
        *ret_size = frame_header_frame_bytes(&header);
        tail_announce(log, *ret_size);
    }
    if (verdict != CHAIN_START_NONE)
        return PAWL_OK;
    uint8_t frame[SEGMENT_START_FRAME_BYTES];
    *ret_size =
        segment_start_frame(&start, ordinal, log->identity.secret,
                            atomic_load(&log->shared->durable_lsn), os_clock_wall(log->os), frame);
    return tail_write(log, file, ordinal, frame, *ret_size, SEGMENT_DATA_AT, error);
}

/* Begins the segment that was made ahead. When a dead process has spoiled it there is none any
 * more. */
static pawl_status tail_begin(struct log *log, pawl_error *error) {
    struct shared *shared = log->shared;
    const uint64_t ordinal = atomic_load(&shared->ready_ordinal);
    const uint64_t tail = atomic_load(&shared->tail_lsn);
    struct os_file *file;
    struct os_stat stat = {0};
    size_t size = 0;
    TRY(chain_hold(&log->chain, ordinal, atomic_load(&shared->durable_lsn), &file, error));
    const int failed = os_file_stat(log->os, file, &stat);
    char name[SEGMENT_NAME_BYTES];
    segment_name(ordinal, name);
    const pawl_status status =
        failed == 0 ? tail_write_start(log, file, ordinal, &size, error)
                    : error_os(error, failed, name, 0, "cannot look at segment %s", name);
    chain_let_go(&log->chain, file);
    /* A reserve may take the place of this file, and whoever begins that is another: what is open
     * here would then be no part of the log. */
    if (status != PAWL_OK || size == 0)
        chain_close_unbegun(&log->chain, ordinal);
    TRY(status);
    if (size == 0) {
        atomic_store(&shared->ready_ordinal, 0);
        return PAWL_OK;
    }
    atomic_store(&shared->room_lsn, tail + (stat.bytes - SEGMENT_DATA_AT));
    atomic_store(&shared->active_is_reserve, atomic_load(&shared->ready_is_reserve));
    os_step(log->os);
    atomic_store(&shared->active_ordinal, ordinal);
    os_step(log->os);
    const struct frame_header header = {.lsn = tail, .flags = FRAME_SEGMENT_START};
    tail_publish(log, &header, size);
    return PAWL_OK;
}

/* May this class of work use what is ready? */
static bool tail_is_for(uint32_t is_reserve, enum log_class class) {
    return is_reserve == 0 || class == LOG_FINISHING;
}

static bool tail_has_room(const struct shared *shared, uint64_t bytes, enum log_class class) {
    return atomic_load_explicit(&shared->is_sealed, memory_order_relaxed) == 0 &&
           tail_is_for(atomic_load_explicit(&shared->active_is_reserve, memory_order_relaxed),
                       class) &&
           atomic_load_explicit(&shared->tail_lsn, memory_order_relaxed) + bytes +
                   core_footer_bytes() <=
               atomic_load_explicit(&shared->room_lsn, memory_order_relaxed);
}

pawl_status tail_make_room(struct log *log, uint64_t bytes, enum log_class class,
                           pawl_error *error) {
    struct shared *shared = log->shared;
    for (;;) {
        TRY(tail_view(log, error));
        if (tail_has_room(shared, bytes, class))
            return PAWL_OK;
        if (atomic_load(&shared->ready_ordinal) <= log->active.ordinal ||
            !tail_is_for(atomic_load(&shared->ready_is_reserve), class))
            return PAWL_EMPTY;
        if (chain_count_beyond(&log->chain, atomic_load(&shared->durable_lsn)) >=
            SEGMENTS_UNSYNCED_MAX)
            return PAWL_PENDING;
        if (atomic_load(&shared->is_sealed) == 0)
            TRY(tail_seal(log, error));
        TRY(tail_begin(log, error));
    }
}

void tail_deinit(struct log *log) {
    os_release(log->os, log->buffer, log->buffer_bytes);
    log->buffer = NULL;
    log->buffer_bytes = 0;
    /* The chain closes it. Letting go of it would take a mutex, which in a forked child may be held
     * by a thread that is not there. */
    log->active_file = NULL;
}

#include "supply.h"

#include "check.h"
#include "tail.h"

#include <errno.h>

enum {
    AHEAD_BYTES_MIN = 64 * 1024,
    EXTENSION_BYTES_MAX = 4 * 1024 * 1024,
    PAGE_BYTES = 4096,
};

static const uint64_t pause_ns = 200 * 1000;

/* ---- Who may supply ---- */

static pawl_status supply_begin(struct log *log, uint64_t deadline, pawl_error *error) {
    TRY(core_lock(log, &log->supply_mutex, "makes a segment", deadline, error));
    pawl_status status = PAWL_OK;
    while (status == PAWL_OK && !slots_take_maintenance(&log->slots)) {
        if (atomic_load(&log->is_interrupted) != 0)
            status = error_set(error, PAWL_INTERRUPTED, "the wait for a segment was interrupted");
        else if (os_clock_boot(log->os) >= deadline)
            status = slots_busy(&log->slots, atomic_load(&log->shared->supply_owner),
                                "the making of the next segment", error);
        else
            os_pause(log->os, pause_ns);
    }
    if (status != PAWL_OK) {
        mutex_unlock(log->os, &log->supply_mutex);
        return status;
    }
    atomic_store(&log->shared->supply_owner, log->slots.self);
    return PAWL_OK;
}

static void supply_end(struct log *log) {
    atomic_store(&log->shared->supply_owner, 0);
    slots_drop_maintenance(&log->slots);
    mutex_unlock(log->os, &log->supply_mutex);
}

/* ---- How much ---- */

static uint64_t round_up(uint64_t bytes) {
    return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

static uint64_t supply_segment_data(const struct log *log) {
    return log->shared->segment_bytes - SEGMENT_DATA_AT;
}

/* How far ahead of the tail to be: as much as has been written, within a segment. */
static uint64_t supply_ahead(struct log *log) {
    const uint64_t written = atomic_load(&log->shared->tail_lsn) - log->shared->opening_lsn;
    uint64_t ahead = written < AHEAD_BYTES_MIN ? AHEAD_BYTES_MIN : written;
    if (ahead > supply_segment_data(log))
        ahead = supply_segment_data(log);
    return ahead;
}

/* ---- More of the active segment ---- */

/* The size of data to which the active segment should grow for a frame of `bytes`; 0: it should
 * not. */
static uint64_t supply_extension(struct log *log, const struct chain_entry *active,
                                 uint64_t bytes) {
    struct shared *shared = log->shared;
    const uint64_t used = atomic_load(&shared->tail_lsn) - active->first_lsn;
    const uint64_t needed = used + bytes + core_footer_bytes();
    const bool is_fresh = used <= SEGMENT_START_FRAME_BYTES;
    if (atomic_load(&shared->is_sealed) != 0 || atomic_load(&shared->active_is_reserve) != 0 ||
        (needed > supply_segment_data(log) && !is_fresh))
        return 0;
    uint64_t ahead = supply_ahead(log);
    if (ahead > EXTENSION_BYTES_MAX)
        ahead = EXTENSION_BYTES_MAX;
    uint64_t target = used + ahead;
    if (target > supply_segment_data(log))
        target = supply_segment_data(log);
    return round_up(target > needed ? target : needed);
}

static pawl_status supply_publish_room(struct log *log, const struct chain_entry *active,
                                       uint64_t data_bytes, uint64_t deadline, pawl_error *error) {
    const uint64_t room_lsn = active->first_lsn + data_bytes;
    TRY(tail_lock(log, deadline, error));
    /* Never less: another has made more since this was worked out, and it may be in use. */
    if (atomic_load(&log->shared->active_ordinal) == active->ordinal &&
        atomic_load(&log->shared->room_lsn) < room_lsn)
        atomic_store(&log->shared->room_lsn, room_lsn);
    tail_unlock(log);
    return PAWL_OK;
}

static pawl_status supply_extend(struct log *log, const struct chain_entry *active,
                                 uint64_t data_bytes, uint64_t deadline, pawl_error *error) {
    struct os_file *file;
    TRY(chain_hold(&log->chain, active->ordinal, atomic_load(&log->shared->durable_lsn), &file,
                   error));
    struct os_stat stat;
    const int failed = os_file_stat(log->os, file, &stat);
    char name[SEGMENT_NAME_BYTES];
    segment_name(active->ordinal, name);
    pawl_status status = PAWL_OK;
    if (failed != 0)
        status = error_os(error, failed, name, 0, "cannot look at segment %s", name);
    else if (stat.bytes < SEGMENT_DATA_AT + data_bytes)
        status = segment_extend(log->os, file, active->ordinal, stat.bytes,
                                SEGMENT_DATA_AT + data_bytes, error);
    chain_let_go(&log->chain, file);
    TRY(status);
    return supply_publish_room(log, active, data_bytes, deadline, error);
}

/* ---- The next segment ---- */

enum supply_state {
    SUPPLY_MISSING,  /* no such file, or an unfinished one */
    SUPPLY_BLANK,    /* a header and no frame; or only the start that belongs at the tail, by one
                        who died before it was part of the log: another beside it must not be */
    SUPPLY_OCCUPIED, /* something was begun in it */
};

/* A file behind the active segment. */
struct supply_file {
    uint64_t ordinal;
    enum supply_state state;
    uint64_t bytes;
};

static pawl_status supply_look(struct log *log, uint64_t ordinal, struct supply_file *ret_file,
                               pawl_error *error) {
    char name[SEGMENT_NAME_BYTES];
    segment_name(ordinal, name);
    struct os_file *file;
    *ret_file = (struct supply_file){.ordinal = ordinal, .state = SUPPLY_MISSING};
    int failed = os_file_open(log->os, log->dir, name, OS_OPEN_READ, &file);
    if (failed == ENOENT)
        return PAWL_OK;
    if (failed != 0)
        return error_os(error, failed, name, 0, "cannot open segment %s", name);
    struct os_stat stat = {0};
    struct segment_header header;
    uint8_t block[512];
    size_t read = 0;
    failed = os_file_stat(log->os, file, &stat);
    if (failed == 0)
        failed = os_file_read(log->os, file, block, sizeof block, 0, &read);
    pawl_status status = PAWL_OK;
    if (failed != 0)
        status = error_os(error, failed, name, 0, "cannot read segment %s", name);
    else if (stat.bytes >= SEGMENT_DATA_AT &&
             segment_read_header(block, read, log->identity.uuid, log->identity.secret, &header) ==
                 SEGMENT_OURS) {
        enum chain_start verdict = CHAIN_START_NONE;
        struct frame_header start_header;
        struct segment_start start;
        status = chain_read_start(log->os, file, ordinal, log->identity.secret, &verdict,
                                  &start_header, &start, error);
        const bool is_begun_here = verdict == CHAIN_START_WHOLE &&
                                   start.end_lsn == atomic_load(&log->shared->tail_lsn) &&
                                   start.predecessor == atomic_load(&log->shared->active_ordinal);
        ret_file->state =
            verdict == CHAIN_START_NONE || is_begun_here ? SUPPLY_BLANK : SUPPLY_OCCUPIED;
        /* It has a second name elsewhere: it is made anew. */
        if (ret_file->state == SUPPLY_BLANK && stat.links > 1)
            ret_file->state = SUPPLY_MISSING;
        ret_file->bytes = stat.bytes;
    }
    (void)os_file_close(log->os, file); /* only read */
    return status;
}

static struct segment_header supply_header(struct log *log, uint64_t ordinal, uint32_t flags) {
    return core_segment_header(log, ordinal, flags, atomic_load(&log->shared->durable_lsn));
}

static pawl_status supply_make(struct log *log, uint64_t ordinal, uint32_t flags,
                               uint64_t data_bytes, pawl_error *error) {
    const struct segment_header header = supply_header(log, ordinal, flags);
    return segment_make(log->os, log->dir, &header, log->identity.secret, data_bytes, error);
}

/* Makes a file that is there ready for use: whoever made it may have died before its sync, or of a
 * sync that failed, after which the pages are clean and not on the disk. So its header is written
 * again. */
static pawl_status supply_renew(struct log *log, const struct supply_file *next, uint32_t flags,
                                uint64_t data_bytes, pawl_error *error) {
    const struct segment_header header = supply_header(log, next->ordinal, flags);
    char name[SEGMENT_NAME_BYTES];
    segment_name(next->ordinal, name);
    struct os_file *file;
    int failed = os_file_open(log->os, log->dir, name, OS_OPEN_READ | OS_OPEN_WRITE, &file);
    if (failed != 0)
        return error_os(error, failed, name, 0, "cannot open segment %s", name);
    if (STEP_IS_ON(STEP_SEGMENT_RENEW))
        failed = segment_write_header(log->os, file, &header, log->identity.secret);
    const uint64_t wanted = SEGMENT_DATA_AT + data_bytes;
    pawl_status status = PAWL_OK;
    if (failed == 0)
        status = segment_extend(log->os, file, next->ordinal, next->bytes,
                                next->bytes < wanted ? wanted : next->bytes, error);
    const bool is_synced = status == PAWL_OK && failed == 0 && os_file_sync(log->os, file) == 0;
    const int close_failed = os_file_close(log->os, file);
    failed = failed != 0 ? failed : close_failed;
    if (status == PAWL_OK && failed != 0)
        status = error_os(error, failed, name, 0, "cannot write to segment %s", name);
    TRY(status);
    /* Nobody's frame is in it: after a failed sync it is made again from nothing. */
    return is_synced ? PAWL_OK : supply_make(log, next->ordinal, flags, data_bytes, error);
}

/* The herald of `ordinal`. */
static pawl_status supply_herald(struct log *log, uint64_t ordinal, pawl_error *error) {
    struct supply_file herald;
    if (!STEP_IS_ON(STEP_SEGMENT_HERALD))
        return PAWL_OK;
    TRY(supply_look(log, ordinal + 1, &herald, error));
    return herald.state == SUPPLY_MISSING ? supply_make(log, ordinal + 1, 0, 0, error) : PAWL_OK;
}

/* Names that somebody who died may have left unsynced are synced with ours. */
static pawl_status supply_sync_names(struct log *log, pawl_error *error) {
    const int failed = STEP_IS_ON(STEP_SEGMENT_SYNC_NAME) ? os_dir_sync(log->os, log->dir) : 0;
    if (failed != 0)
        return error_os(error, failed, "log", 0, "cannot sync the names of the segments");
    return PAWL_OK;
}

/* Tells which segment is ready; 0: none, and nobody begins the one that is worked on. */
static pawl_status supply_publish_next(struct log *log, uint64_t ordinal, bool is_reserve,
                                       uint64_t deadline, pawl_error *error) {
    TRY(tail_lock(log, deadline, error));
    atomic_store(&log->shared->ready_is_reserve, is_reserve);
    atomic_store(&log->shared->ready_ordinal, ordinal);
    tail_unlock(log);
    return PAWL_OK;
}

/* The first file behind the active segment that nothing was begun in. */
static pawl_status supply_choose(struct log *log, struct supply_file *ret_file, pawl_error *error) {
    uint64_t ordinal = atomic_load(&log->shared->active_ordinal);
    do {
        ordinal++;
        if (ordinal >= SEGMENT_ORDINAL_MAX)
            return error_set(error, PAWL_TOO_LARGE, "all segment names are used up");
        TRY(supply_look(log, ordinal, ret_file, error));
    } while (ret_file->state == SUPPLY_OCCUPIED);
    return PAWL_OK;
}

static pawl_status supply_ordinary(struct log *log, const struct supply_file *next,
                                   uint64_t data_bytes, pawl_error *error) {
    if (next->state == SUPPLY_MISSING)
        TRY(supply_make(log, next->ordinal, 0, data_bytes, error));
    else
        TRY(supply_renew(log, next, 0, data_bytes, error));
    TRY(supply_herald(log, next->ordinal, error));
    return supply_sync_names(log, error);
}

/* ---- The reserve ---- */

/* Turns a reserve file into segment `ordinal`. PAWL_NOT_FOUND: it is used up. */
static pawl_status reserve_convert(struct log *log, const char *from, uint64_t ordinal,
                                   uint64_t data_bytes, pawl_error *error) {
    struct os_file *file;
    int failed = os_file_open(log->os, log->dir, from, OS_OPEN_READ | OS_OPEN_WRITE, &file);
    if (failed == ENOENT)
        return PAWL_NOT_FOUND;
    if (failed != 0)
        return error_os(error, failed, from, 0, "cannot open the reserve");
    const struct segment_header header = supply_header(log, ordinal, SEGMENT_RESERVE);
    struct os_stat stat = {0};
    failed = os_file_stat(log->os, file, &stat);
    const bool is_enough =
        failed == 0 && stat.bytes >= SEGMENT_DATA_AT + data_bytes && stat.links <= 1;
    if (is_enough) {
        failed = segment_write_header(log->os, file, &header, log->identity.secret);
        if (failed == 0 && STEP_IS_ON(STEP_RESERVE_SYNC_HEADER))
            failed = os_file_sync(log->os, file);
    }
    const int close_failed = os_file_close(log->os, file);
    if (failed == 0)
        failed = close_failed;
    if (failed == 0 && !is_enough)
        return PAWL_NOT_FOUND;
    char name[SEGMENT_NAME_BYTES];
    segment_name(ordinal, name);
    if (failed == 0)
        failed = os_rename(log->os, log->dir, from, name);
    if (failed != 0)
        return error_os(error, failed, from, 0, "cannot make segment %s of the reserve", name);
    return PAWL_OK;
}

static pawl_status reserve_use(struct log *log, uint64_t ordinal, uint64_t data_bytes,
                               pawl_error *error) {
    pawl_status status = PAWL_NOT_FOUND;
    for (int i = 0; i < SEGMENT_RESERVES && status == PAWL_NOT_FOUND; i++)
        status = reserve_convert(log, segment_reserve_names[i], ordinal, data_bytes, error);
    return status;
}

/* With no space left: a reserve becomes the next segment; its herald takes the space of the header
 * that stood in its place, or the other reserve. */
static pawl_status supply_from_reserve(struct log *log, const struct supply_file *next,
                                       uint64_t data_bytes, pawl_error *error) {
    const bool is_there =
        next->state == SUPPLY_BLANK && next->bytes >= SEGMENT_DATA_AT + data_bytes;
    /* What could not be made larger may be large enough; nothing says that it was ever synced. */
    const pawl_status status = is_there
                                   ? supply_renew(log, next, SEGMENT_RESERVE, data_bytes, error)
                                   : reserve_use(log, next->ordinal, data_bytes, error);
    if (status == PAWL_NOT_FOUND)
        return error_set(error, PAWL_DISK_FULL,
                         "there is no space left, and the reserve is used up");
    TRY(status);
    /* Without any herald the work can still be finished; a missing newest segment would go unseen.
     */
    if (supply_herald(log, next->ordinal, NULL) != PAWL_OK)
        (void)reserve_use(log, next->ordinal + 1, 0, NULL);
    return supply_sync_names(log, error);
}

bool supply_give_reserve(struct log *log) {
    for (int i = 0; i < SEGMENT_RESERVES; i++) {
        /* Some file systems give the space back only once the name is gone for good. */
        if (os_unlink(log->os, log->dir, segment_reserve_names[i]) == 0)
            return os_dir_sync(log->os, log->dir) == 0;
    }
    return false;
}

pawl_status supply_refill_reserve(struct log *log, pawl_error *error) {
    if (log->options.reserve_bytes == 0)
        return PAWL_OK;
    for (int i = 0; i < SEGMENT_RESERVES; i++) {
        struct os_file *file;
        int failed = segment_open_own(log->os, log->dir, segment_reserve_names[i], &file);
        if (failed != 0)
            return error_os(error, failed, segment_reserve_names[i], 0, "cannot make the reserve");
        const uint64_t wanted = SEGMENT_DATA_AT + round_up(log->options.reserve_bytes);
        struct os_stat stat = {0};
        failed = os_file_stat(log->os, file, &stat);
        /* A copy may have left the zeros out. Seen once, for where the system stores zeros as
         * nothing they stay so. */
        const bool is_sparse = !log->has_reserve && stat.allocated_bytes < wanted;
        const bool is_missing = failed == 0 && (stat.bytes < wanted || is_sparse);
        if (is_missing)
            failed = os_file_zero_fill(log->os, file, 0, wanted);
        if (is_missing && failed != 0)
            (void)os_file_truncate(log->os, file, 0); /* not half a reserve */
        const int close_failed = os_file_close(log->os, file);
        failed = failed != 0 ? failed : close_failed;
        if (failed != 0)
            return error_os(error, failed, segment_reserve_names[i], 0, "cannot make the reserve");
    }
    log->has_reserve = true;
    return PAWL_OK;
}

/* ---- The whole ---- */

static pawl_status supply_next(struct log *log, uint64_t bytes, enum log_class class,
                               uint64_t deadline, pawl_error *error) {
    /* What is ready could be begun while it is worked on: it is taken back first. */
    if (STEP_IS_ON(STEP_SUPPLY_RETRACT))
        TRY(supply_publish_next(log, 0, false, deadline, error));
    struct supply_file next;
    TRY(supply_choose(log, &next, error));
    const uint64_t needed = SEGMENT_START_FRAME_BYTES + bytes + core_footer_bytes();
    uint64_t data_bytes = supply_ahead(log);
    if (data_bytes < needed)
        data_bytes = needed;
    pawl_status status = supply_ordinary(log, &next, round_up(data_bytes), error);
    bool is_reserve = false;
    if (status == PAWL_DISK_FULL && class == LOG_FINISHING) {
        status = supply_from_reserve(log, &next, needed, error);
        is_reserve = true;
    }
    TRY(status);
    return supply_publish_next(log, next.ordinal, is_reserve, deadline, error);
}

static pawl_status supply_room_held(struct log *log, uint64_t bytes, enum log_class class,
                                    uint64_t deadline, pawl_error *error) {
    struct shared *shared = log->shared;
    const uint64_t active_ordinal = atomic_load(&shared->active_ordinal);
    TRY(core_judge_chain(log, chain_follow(&log->chain, active_ordinal, error), error));
    const struct chain_entry active = chain_last(&log->chain);
    const uint64_t data_bytes = supply_extension(log, &active, bytes);
    if (data_bytes > 0) {
        const pawl_status status = supply_extend(log, &active, data_bytes, deadline, error);
        if (status != PAWL_DISK_FULL || class == LOG_ORDINARY)
            return status;
    }
    return supply_next(log, bytes, class, deadline, error);
}

pawl_status supply_room(struct log *log, uint64_t bytes, enum log_class class, uint64_t deadline,
                        pawl_error *error) {
    TRY(supply_begin(log, deadline, error));
    const pawl_status status = supply_room_held(log, bytes, class, deadline, error);
    supply_end(log);
    return status;
}

/* How much the active segment still takes. */
static uint64_t supply_left(struct shared *shared) {
    /* The tail first: the room only grows, but for a cut, after which it may be the smaller. */
    const uint64_t tail = atomic_load(&shared->tail_lsn);
    const uint64_t room = atomic_load(&shared->room_lsn);
    return atomic_load(&shared->is_sealed) == 0 && room > tail ? room - tail : 0;
}

pawl_status supply_maintain(struct log *log, pawl_error *error) {
    struct shared *shared = log->shared;
    const uint64_t ahead = supply_ahead(log);
    const uint64_t left = supply_left(shared);
    const bool is_ready =
        atomic_load(&shared->ready_ordinal) > atomic_load(&shared->active_ordinal);
    const uint64_t deadline = os_clock_boot(log->os);
    pawl_status status = supply_begin(log, deadline, NULL);
    if (status != PAWL_OK)
        return PAWL_OK; /* somebody else is at it */
    if (left < ahead / 2 && !is_ready)
        status =
            supply_room_held(log, ahead / 2, LOG_ORDINARY, deadline + log->options.busy_ns, error);
    if (status == PAWL_OK)
        status = supply_refill_reserve(log, error);
    supply_end(log);
    return status;
}

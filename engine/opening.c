/* Opening and closing a log.
 *
 * Under the door:
 *  1. Is any slot held? If not, this process is alone.
 *  2. identity is read, or, in a new store, made (create.h).
 *  3. Who is alone recovers the log (scan.h), removes what lies behind a cut, makes `shared` anew
 *     and says in it where the log ends. For who is not, `shared` is right, and it joins.
 *  4. It takes a slot, by which others see that it lives.
 * After a cut nothing is written yet: the segment counts as closed, and the first append begins the
 * next one. So recovery has nothing to finish, and a crash in it changes nothing.
 */
#include "check.h"
#include "core.h"
#include "create.h"
#include "flush.h"
#include "scan.h"
#include "supply.h"
#include "tail.h"

#include <errno.h>
#include <string.h>

static const uint64_t segment_bytes_default = 64 * 1024 * 1024;
static const uint64_t reserve_bytes_max = UINT64_C(1) << 30;
static const uint64_t busy_ns_max = UINT64_C(1)
                                    << 62; /* a century; added to the clock it does not wrap */

static const uint64_t pause_ns_min = 1000 * 1000;
static const uint64_t pause_ns_max = 64 * 1000 * 1000;

/* ---- Files and directories ---- */

static pawl_status open_log_dir(struct log *log, unsigned create, pawl_error *error) {
    if (log->dir != NULL)
        return PAWL_OK;
    const int failed =
        os_dir_open_at(log->os, log->store_dir, "log", OS_OPEN_READ | create, &log->dir);
    if (failed == ENOENT)
        return error_at(error, error_set(error, PAWL_DAMAGED, "the directory log/ is missing"),
                        "log", 0, 0);
    if (failed != 0)
        return error_os(error, failed, "log", 0, "cannot open log/");
    return PAWL_OK;
}

/* Without a whole identity nothing may stand in log/ but what a creation that died leaves. */
static pawl_status open_check_log(struct log *log, pawl_error *error) {
    if (log->dir == NULL) {
        const int failed = os_dir_open_at(log->os, log->store_dir, "log", OS_OPEN_READ, &log->dir);
        if (failed == ENOENT)
            return PAWL_OK;
        if (failed != 0)
            return error_os(error, failed, "log", 0, "cannot open log/");
    }
    return create_check_log(log, error);
}

static int open_identity_file(struct log *log, unsigned create) {
    return os_file_open(log->os, log->store_dir, IDENTITY_NAME,
                        OS_OPEN_READ | OS_OPEN_WRITE | create, &log->slots.identity);
}

static pawl_status open_files(struct log *log, const char *path, pawl_error *error) {
    const unsigned create = log->options.create ? OS_OPEN_CREATE : 0;
    int failed = os_dir_open(log->os, path, OS_OPEN_READ | OS_OPEN_WRITE | create, &log->store_dir);
    if (failed == ENOENT && create == 0)
        return error_set(error, PAWL_NO_STORE, "there is no store at %.200s", path);
    if (failed != 0)
        return error_os(error, failed, NULL, 0, "cannot %s the directory %.200s",
                        create == 0 ? "open" : "make", path);
    failed = open_identity_file(log, 0);
    if (failed == ENOENT) {
        const pawl_status status = open_check_log(log, error);
        /* Made by somebody else meanwhile, it came before what stands in log/. */
        if (status == PAWL_DAMAGED)
            failed = open_identity_file(log, 0);
        if (status != PAWL_OK && failed != 0)
            return status;
    }
    if (failed == ENOENT && create == 0)
        return error_set(error, PAWL_NO_STORE, "there is no store at %.200s", path);
    if (failed == ENOENT) {
        TRY(create_check_empty(log, error));
        failed = open_identity_file(log, create);
    }
    if (failed != 0)
        return error_os(error, failed, IDENTITY_NAME, 0, "cannot open %s", IDENTITY_NAME);
    return PAWL_OK;
}

/* Who is alone trusts nothing that is only cached: a creation may have died before its sync, or of
 * one that failed. */
static pawl_status open_settle_identity(struct log *log, pawl_error *error) {
    struct os_file *identity = log->slots.identity;
    int failed = STEP_IS_ON(STEP_OPEN_SYNC_IDENTITY) ? os_file_sync(log->os, identity) : 0;
    if (failed == 0 && STEP_IS_ON(STEP_OPEN_DROP_IDENTITY))
        failed = os_file_drop_cache(log->os, identity);
    if (failed != 0)
        return error_os(error, failed, IDENTITY_NAME, 0, "cannot sync %s before reading it",
                        IDENTITY_NAME);
    return PAWL_OK;
}

static pawl_status open_identity(struct log *log, const char *path, struct log_opening *opening,
                                 pawl_error *error) {
    struct identity_copies copies;
    TRY(identity_read_copies(log->os, log->slots.identity, &copies, error));
    const pawl_status status = identity_take(&copies, &log->identity, error);
    if (status == PAWL_OK)
        return open_log_dir(log, 0, error);
    if (copies.verdict != IDENTITY_BLANK && copies.verdict != IDENTITY_BROKEN)
        return status;
    if (copies.verdict == IDENTITY_BROKEN)
        TRY(open_log_dir(log, 0, error));
    TRY(open_check_log(log, error));
    if (!log->options.create)
        return error_set(error, PAWL_NO_STORE, "the store at %.200s was never finished", path);
    if (log->dir == NULL)
        TRY(open_log_dir(log, OS_OPEN_CREATE, error));
    TRY(create_store(log, path, error));
    opening->was_created = true;
    return PAWL_OK;
}

/* ---- Alone ---- */

static pawl_status recover_unlink(struct log *log, uint64_t ordinal, pawl_error *error) {
    char name[SEGMENT_NAME_BYTES];
    segment_name(ordinal, name);
    const int failed = os_unlink(log->os, log->dir, name);
    if (failed != 0)
        return error_os(error, failed, name, 0, "cannot remove %s, which is no part of the log",
                        name);
    return PAWL_OK;
}

/* Makes the file next to the end again in place, blank. */
static pawl_status recover_blank(struct log *log, uint64_t ordinal, uint64_t durable_lsn,
                                 pawl_error *error) {
    const struct segment_header header = core_segment_header(log, ordinal, 0, durable_lsn);
    return segment_make(log->os, log->dir, &header, log->identity.secret, 0, error);
}

/* Whatever lies behind the end goes, so that none of it is taken for a segment made ahead. The file
 * next to the end is made again in place, so a sealed segment always has a successor and the names
 * never have a gap there; but only once the others are gone for good: one that came back would make
 * a segment in use of a file whose header is not there yet. */
static pawl_status recover_remove(struct log *log, const struct scan *scan, pawl_error *error) {
    size_t lowest = scan->count;
    for (size_t i = scan->count; i > scan->end_file + 1; i--) {
        if (!scan->files[i - 1].is_blank)
            lowest = i - 1;
    }
    if (lowest == scan->count || !STEP_IS_ON(STEP_RECOVERY_REMOVE))
        return PAWL_OK;
    const uint64_t next = scan->files[scan->end_file].ordinal + 1;
    for (size_t i = scan->count; i > lowest; i--) {
        if (scan->files[i - 1].ordinal != next)
            TRY(recover_unlink(log, scan->files[i - 1].ordinal, error));
    }
    const int failed = STEP_IS_ON(STEP_RECOVERY_REMOVE_SYNC) ? os_dir_sync(log->os, log->dir) : 0;
    if (failed != 0)
        return error_os(error, failed, "log", 0, "cannot sync the names of the segments");
    if (scan->files[lowest].ordinal == next)
        TRY(recover_blank(log, next, scan->end_lsn, error));
    return PAWL_OK;
}

/* A segment that has begun and that no other names: no crash leaves one, so it is not removed. */
static pawl_status recover_stray(uint64_t ordinal, pawl_error *error) {
    char name[SEGMENT_NAME_BYTES];
    segment_name(ordinal, name);
    (void)error_set(error, PAWL_DAMAGED,
                    "segment %s has begun, and the segments around it pass over it; `pawl verify` "
                    "tells more",
                    name);
    return error_at(error, PAWL_DAMAGED, name, SEGMENT_DATA_AT, 0);
}

/* A segment that its successor passes over: one whose beginning a dying process spoiled. */
static pawl_status recover_remove_voids(struct log *log, const struct scan *scan,
                                        pawl_error *error) {
    size_t in_line = 0;
    for (size_t i = 0; i < scan->end_file; i++) {
        while (in_line < scan->line_count && scan->line[in_line] < i)
            in_line++;
        const bool is_void = in_line > 0 && in_line < scan->line_count && scan->line[in_line] != i;
        if (is_void && scan->files[i].start_verdict == CHAIN_START_WHOLE)
            return recover_stray(scan->files[i].ordinal, error);
        if (is_void)
            TRY(recover_unlink(log, scan->files[i].ordinal, error));
    }
    return PAWL_OK;
}

static pawl_status recover_chain(struct log *log, const struct scan *scan, pawl_error *error) {
    for (size_t i = 0; i < scan->line_count && scan->line[i] <= scan->end_file; i++) {
        const struct look_file *file = &scan->files[scan->line[i]];
        TRY(chain_push(&log->chain, file->ordinal, file->start.end_lsn, error));
    }
    return PAWL_OK;
}

/* Says in `shared` where the log ends. Everything below has just been synced. */
static void recover_publish(struct shared *shared, const struct scan *scan, bool was_closed) {
    const struct look_file *file = &scan->files[scan->end_file];
    const bool is_cut = scan->row != RECOVERY_CLEAN && STEP_IS_ON(STEP_RECOVERY_NEW_SEGMENT);
    shared->opening_lsn = scan->end_lsn;
    shared->closed_lsn = was_closed ? scan->end_lsn : 0;
    atomic_store(&shared->active_ordinal, file->ordinal);
    atomic_store(&shared->active_is_reserve, (file->header.flags & SEGMENT_RESERVE) != 0);
    atomic_store(&shared->is_sealed, is_cut || scan->facts.is_sealed);
    atomic_store(&shared->room_lsn, file->start.end_lsn + (file->bytes - SEGMENT_DATA_AT) /
                                                              FRAME_ALIGNMENT * FRAME_ALIGNMENT);
    atomic_store(&shared->durable_lsn, scan->end_lsn);
    atomic_store(&shared->tail_lsn, scan->end_lsn);
    if ((scan->last_flags & FRAME_MARK) != 0)
        atomic_store(&shared->marked_lsn, scan->end_lsn);
}

static pawl_status recover_shared(struct log *log, pawl_error *error) {
    if (log->options.exclusive)
        return shared_make_private(log->os, &log->identity, log->options.segment_bytes,
                                   &log->shared, error);
    pawl_status status;
    do {
        status = shared_make(log->os, log->store_dir, &log->identity, log->options.segment_bytes,
                             &log->shared, error);
        /* A store is opened on a full disk too: finishing work is what makes space. */
    } while (status == PAWL_DISK_FULL && supply_give_reserve(log));
    return status;
}

static pawl_status recover_scanned(struct log *log, struct scan *scan, struct log_opening *opening,
                                   pawl_error *error) {
    opening->row = scan->row;
    opening->torn_bytes = scan->row == RECOVERY_CLEAN ? 0 : scan->torn_bytes;
    opening->later_frames = scan->later_frames;
    opening->was_closed = (scan->last_flags & FRAME_CLOSE) != 0 && scan->row == RECOVERY_CLEAN;
    opening->strangers = scan->strangers;
    if (recovery_is_damage(scan->row))
        return scan_damage(scan, error);
    TRY(recover_remove(log, scan, error));
    TRY(recover_remove_voids(log, scan, error));
    TRY(recover_chain(log, scan, error));
    TRY(recover_shared(log, error));
    recover_publish(log->shared, scan, opening->was_closed);
    return PAWL_OK;
}

static pawl_status open_alone(struct log *log, struct log_opening *opening, pawl_error *error) {
    struct scan scan;
    scan_init(&scan, log->os, log->dir, &log->identity);
    pawl_status status = scan_run(&scan, error);
    if (status == PAWL_OK)
        status = recover_scanned(log, &scan, opening, error);
    scan_deinit(&scan);
    return status;
}

/* ---- With others ---- */

static pawl_status open_joining(struct log *log, unsigned held_slot, pawl_error *error) {
    TRY(shared_map(log->os, log->store_dir, &log->identity, &log->shared, error));
    if (log->options.exclusive) {
        const uint32_t generation =
            held_slot < SHARED_SLOTS ? atomic_load(&log->shared->slots[held_slot].generation) : 0;
        log->slots.shared = log->shared;
        const pawl_status status =
            slots_busy(&log->slots, shared_owner_make(held_slot, generation), "the store", error);
        shared_unmap(log->os, log->shared);
        log->slots.shared = log->shared = NULL; /* what it keeps of its own is no mapping */
        return status;
    }
    const uint64_t active = atomic_load(&log->shared->active_ordinal);
    return core_judge_chain(log, chain_load(&log->chain, active, error), error);
}

/* ---- The whole ---- */

static void open_release(struct log *log) {
    tail_deinit(log);
    chain_deinit(&log->chain);
    if (log->shared != NULL && log->options.exclusive)
        shared_release_private(log->os, log->shared);
    else if (log->shared != NULL)
        shared_unmap(log->os, log->shared);
    if (log->dir != NULL)
        os_dir_close(log->os, log->dir);
    if (log->slots.identity != NULL)
        (void)os_file_close(log->os, log->slots.identity); /* synced when it was written */
    if (log->store_dir != NULL)
        os_dir_close(log->os, log->store_dir);
    os_release(log->os, log, sizeof *log);
}

static pawl_status open_inside(struct log *log, const char *path, struct log_opening *opening,
                               pawl_error *error) {
    bool is_alone;
    unsigned held_slot;
    TRY(slots_are_free(&log->slots, &is_alone, &held_slot, error));
    opening->was_alone = is_alone;
    TRY(slots_hold(&log->slots, log->store_dir, is_alone, error));
    if (is_alone)
        TRY(open_settle_identity(log, error));
    TRY(open_identity(log, path, opening, error));
    log->chain.dir = log->dir;
    if (is_alone)
        TRY(open_alone(log, opening, error));
    else
        TRY(open_joining(log, held_slot, error));
    TRY(slots_take(&log->slots, log->shared, error));
    opening->recovery = log->shared->opening;
    opening->recovered_lsn = log->shared->opening_lsn;
    if (is_alone)
        (void)supply_refill_reserve(log, NULL); /* with no space now, upkeep tries again */
    return PAWL_OK;
}

static pawl_status open_check_options(const struct log_options *options, pawl_error *error) {
    if (options->segment_bytes < SEGMENT_BYTES_MIN)
        return error_set(error, PAWL_INVALID, "segments of %llu bytes; at least %d",
                         (unsigned long long)options->segment_bytes, SEGMENT_BYTES_MIN);
    if (options->reserve_bytes > reserve_bytes_max)
        return error_set(error, PAWL_INVALID, "a reserve of %llu bytes; at most %llu",
                         (unsigned long long)options->reserve_bytes,
                         (unsigned long long)reserve_bytes_max);
    return PAWL_OK;
}

static pawl_status open_once(struct os *os, const char *path, const struct log_options *options,
                             uint64_t deadline, struct log **ret_log,
                             struct log_opening *ret_opening, pawl_error *error) {
    struct log_opening opening = {0};
    struct log *log = os_allocate(os, sizeof *log);
    if (log == NULL)
        return error_set(error, PAWL_NO_MEMORY, "no memory to open the store");
    log->os = os;
    log->slots.os = os;
    log->options = *options;
    chain_init(&log->chain, os, NULL, &log->identity);
    pawl_status status = open_files(log, path, error);
    if (status == PAWL_OK)
        status = slots_take_door(&log->slots, log->store_dir, deadline, error);
    if (status == PAWL_OK) {
        status = open_inside(log, path, &opening, error);
        if (status == PAWL_OK && !log->options.exclusive)
            slots_drop_door(&log->slots);
    }
    if (status != PAWL_OK) {
        open_release(log); /* closing identity drops the door and the slot */
        return status;
    }
    *ret_log = log;
    *ret_opening = opening;
    return PAWL_OK;
}

pawl_status log_open(struct os *os, const char *path, const struct log_options *options,
                     struct log **ret_log, struct log_opening *ret_opening, pawl_error *error) {
    struct log_options all = *options;
    if (all.segment_bytes == 0)
        all.segment_bytes = segment_bytes_default;
    if (all.busy_ns > busy_ns_max)
        all.busy_ns = busy_ns_max;
    TRY(open_check_options(&all, error));
    const uint64_t deadline = os_clock_boot(os) + all.busy_ns;
    uint64_t pause_ns = pause_ns_min;
    for (;;) {
        const pawl_status status = open_once(os, path, &all, deadline, ret_log, ret_opening, error);
        if (status != PAWL_BUSY || os_clock_boot(os) >= deadline)
            return status;
        /* Nothing is held meanwhile: whoever is to make way needs the door for it. */
        os_pause(os, pause_ns);
        pause_ns = pause_ns * 2 > pause_ns_max ? pause_ns_max : pause_ns * 2;
    }
}

/* With the door held: the last one out marks the log as closed. */
static pawl_status close_last(struct log *log, pawl_error *error) {
    bool is_alone;
    unsigned held_slot;
    TRY(slots_are_free(&log->slots, &is_alone, &held_slot, error));
    const uint64_t tail = log_tail(log);
    if (!is_alone || shared_is_failed(log->shared) || log->shared->closed_lsn == tail)
        return PAWL_OK;
    return log_mark(log, FRAME_CLOSE, os_clock_boot(log->os) + log->options.busy_ns, error);
}

pawl_status log_close(struct log *log, pawl_error *error) {
    if (os_is_forked_child(log->os)) {
        open_release(log);
        return PAWL_OK;
    }
    const uint64_t deadline = os_clock_boot(log->os) + log->options.busy_ns;
    /* That ended the waits of others; this one is asked for. */
    atomic_store(&log->is_interrupted, 0);
    pawl_status status = PAWL_OK;
    /* A frame that was refused is in what it may have written, and is not in the log. */
    const uint64_t dirty = atomic_load(&core_slot(log)->dirty_lsn);
    const uint64_t tail = log_tail(log);
    if (STEP_IS_ON(STEP_CLOSE_SYNC))
        status = flush_wait(log, dirty < tail ? dirty : tail, deadline, error);
    if (log->options.exclusive ||
        slots_take_door(&log->slots, log->store_dir, deadline, NULL) == PAWL_OK)
        (void)close_last(log, NULL); /* a mark narrows a window; without it nothing is lost */
    open_release(log);
    return status;
}

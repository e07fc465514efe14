#include "scan.h"

#include "bytes.h"
#include "check.h"

#include <string.h>

void scan_init(struct scan *scan, struct os *os, struct os_dir *dir,
               const struct identity *identity) {
    memset(scan, 0, sizeof *scan);
    scan->os = os;
    scan->dir = dir;
    scan->identity = identity;
}

void scan_deinit(struct scan *scan) {
    os_release(scan->os, scan->line, scan->capacity * sizeof *scan->line);
    os_release(scan->os, scan->files, scan->capacity * sizeof *scan->files);
    memset(scan, 0, sizeof *scan);
}

/* ---- The names ---- */

static int scan_stranger(void *context, const char *name) {
    struct scan *scan = context;
    (void)name;
    scan->strangers++;
    return 0;
}

static pawl_status scan_list(struct scan *scan, pawl_error *error) {
    struct look_list list = {.os = scan->os, .stranger = scan_stranger, .context = scan};
    const int failed = look_list(&list, scan->dir);
    scan->files = list.files;
    scan->count = list.count;
    scan->capacity = list.capacity;
    if (failed != 0)
        return error_os(error, failed, "log", 0, "cannot list the segments");
    if (scan->count == 0)
        return PAWL_OK;
    scan->line = os_allocate(scan->os, scan->capacity * sizeof *scan->line);
    if (scan->line == NULL)
        return error_set(error, PAWL_NO_MEMORY, "no memory for the list of segments");
    return PAWL_OK;
}

/* ---- One file ---- */

static pawl_status scan_open(struct scan *scan, const struct look_file *file,
                             struct window *ret_window, pawl_error *error) {
    const unsigned how = OS_OPEN_READ | (scan->must_not_write ? 0U : OS_OPEN_WRITE);
    const pawl_status status =
        look_open(scan->os, scan->dir, file->ordinal, how, ret_window, error);
    if (status != PAWL_NOT_FOUND)
        return status;
    char name[SEGMENT_NAME_BYTES];
    segment_name(file->ordinal, name);
    (void)error_set(error, PAWL_IO, "segment %s went away while it was looked at", name);
    return error_at(error, PAWL_IO, name, 0, 0);
}

static void scan_prove(struct scan *scan, uint64_t lsn) {
    if (lsn > scan->proof_lsn)
        scan->proof_lsn = lsn;
}

/* What lies behind a place of a file. */
struct scan_places {
    uint64_t headers;   /* whole ones, from `count_from` on */
    uint64_t last_byte; /* offset behind the last byte that is not zero, to the next place or the
                         * file's end; 0 when all are */
};

/* Looks at every aligned place from `offset` to the end of the file. */
static pawl_status scan_places(struct scan *scan, struct window *window,
                               const struct look_file *file, uint64_t offset, uint64_t count_from,
                               struct scan_places *ret_places, pawl_error *error) {
    const struct frame_key key = {scan->identity->secret, file->ordinal};
    struct scan_places places = {0};
    struct frame_header header;
    TRY(look_last_byte(window, offset, &places.last_byte, error));
    pawl_status status = PAWL_OK;
    for (uint64_t at = offset; at < places.last_byte; at += FRAME_ALIGNMENT) {
        status = look_next_header(window, &key, at, &at, &header, error);
        if (status != PAWL_OK)
            break;
        places.headers += at >= count_from;
        scan_prove(scan, header.durable_lsn);
    }
    if (status != PAWL_OK && status != PAWL_EMPTY)
        return status;
    const uint64_t beyond = places.last_byte % FRAME_ALIGNMENT;
    if (beyond != 0)
        places.last_byte += FRAME_ALIGNMENT - beyond;
    if (places.last_byte > file->bytes)
        places.last_byte = file->bytes;
    *ret_places = places;
    return PAWL_OK;
}

/* What a failed sync left in memory must not be read as if it were on the disk. */
static pawl_status scan_settle(struct scan *scan, const struct window *window, pawl_error *error) {
    const char *name = window->name;
    if (scan->must_not_write)
        return PAWL_OK;
    int failed = STEP_IS_ON(STEP_RECOVERY_SYNC_FILE) ? os_file_sync(scan->os, window->file) : 0;
    if (failed != 0)
        return error_os(error, failed, name, 0, "cannot sync segment %s before reading it", name);
    failed = STEP_IS_ON(STEP_RECOVERY_DROP_CACHE) ? os_file_drop_cache(scan->os, window->file) : 0;
    if (failed != 0)
        return error_os(error, failed, name, 0, "cannot drop what is cached of segment %s", name);
    return PAWL_OK;
}

static pawl_status scan_look_at(struct scan *scan, struct look_file *file, bool is_followed,
                                pawl_error *error) {
    struct window window;
    TRY(scan_open(scan, file, &window, error));
    pawl_status status = file->is_settled ? scan_settle(scan, &window, error) : PAWL_OK;
    if (status == PAWL_OK)
        status = look_inside(&window, scan->identity, file, error);
    if (status == PAWL_OK)
        file->row = look_decide(file, is_followed);
    look_close(&window);
    return status;
}

static pawl_status scan_file_damage(const struct look_file *file, pawl_error *error) {
    char name[SEGMENT_NAME_BYTES];
    segment_name(file->ordinal, name);
    const pawl_status status = file->row == RECOVERY_FILE_NEWER ? PAWL_VERSION : PAWL_DAMAGED;
    (void)error_set(error, status, "segment %s: %s; `pawl verify` tells more", name,
                    recovery_file_row_sentence(file->row));
    return error_at(error, status, name, 0, 0);
}

/* Looks at files[index] and decides what it is. */
static pawl_status scan_judge(struct scan *scan, size_t index, pawl_error *error) {
    struct look_file *file = &scan->files[index];
    bool is_followed = false;
    for (size_t i = index + 1; i < scan->count && !is_followed; i++)
        is_followed = scan->files[i].start_verdict == CHAIN_START_WHOLE;
    TRY(scan_look_at(scan, file, is_followed, error));
    if (file->row == RECOVERY_FILE_UNFINISHED)
        return PAWL_OK;
    if (file->row != RECOVERY_FILE_SEGMENT)
        return scan_file_damage(file, error);
    scan_prove(scan, file->header.durable_lsn);
    if (file->start_verdict == CHAIN_START_WHOLE)
        scan_prove(scan, file->start_header.durable_lsn);
    return PAWL_OK;
}

/* Step 1. From the newest down, so that it is known of each whether a later one has begun. */
static pawl_status scan_look(struct scan *scan, pawl_error *error) {
    for (size_t i = scan->count; i > 0; i--) {
        scan->files[i - 1].start_verdict = CHAIN_START_NONE;
        TRY(scan_judge(scan, i - 1, error));
    }
    return PAWL_OK;
}

/* ---- The line of segments ---- */

static size_t scan_index_of(const struct scan *scan, uint64_t ordinal) {
    size_t low = 0, high = scan->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (scan->files[middle].ordinal < ordinal)
            low = middle + 1;
        else
            high = middle;
    }
    return low < scan->count && scan->files[low].ordinal == ordinal ? low : scan->count;
}

/* Fills the line that ends at files[head], newest first. False when a predecessor is not there. */
static bool scan_line_to(struct scan *scan, size_t head) {
    scan->line_count = 0;
    for (size_t at = head;;) {
        const struct look_file *file = &scan->files[at];
        if (file->start_verdict != CHAIN_START_WHOLE)
            return false;
        scan->line[scan->line_count++] = at;
        if (file->start.predecessor == 0)
            return true;
        const size_t before = scan_index_of(scan, file->start.predecessor);
        if (before >= at || scan->files[before].start.end_lsn >= file->start.end_lsn)
            return false;
        at = before;
    }
}

/* Step 2. */
static bool scan_find_line(struct scan *scan) {
    for (size_t head = scan->count; head > 0; head--) {
        if (!scan_line_to(scan, head - 1))
            continue;
        for (size_t i = 0, j = scan->line_count - 1; i < j; i++, j--) {
            const size_t at = scan->line[i];
            scan->line[i] = scan->line[j];
            scan->line[j] = at;
        }
        return true;
    }
    scan->line_count = 0;
    return false;
}

/* ---- Frames ---- */

/* How far one segment's frames go. */
struct scan_reach {
    uint64_t end_lsn;
    uint64_t end_offset;
    uint64_t frames;
    uint16_t last_flags; /* of the last of them */
    bool is_short;       /* it should go further, or is the head: its end is an X */
    /* When it is short: */
    enum recovery_bytes bytes;
    uint64_t torn_bytes;
    uint64_t later_frames;
};

/* Reads whole frames from the segment's beginning to the first place without one, or to `end_lsn`.
 */
static pawl_status scan_walk(struct scan *scan, struct window *window, const struct look_file *file,
                             uint64_t end_lsn, struct scan_reach *reach, pawl_error *error) {
    const struct frame_key key = {scan->identity->secret, file->ordinal};
    reach->end_lsn = file->start.end_lsn;
    reach->end_offset = SEGMENT_DATA_AT;
    while (reach->end_lsn < end_lsn) {
        const uint8_t *bytes;
        size_t count;
        struct frame_header header;
        TRY(window_get(window, reach->end_offset, FRAME_HEADER_BYTES, &bytes, &count, error));
        if (count < FRAME_HEADER_BYTES || frame_read_header(bytes, &key, &header) != FRAME_WHOLE ||
            header.lsn != reach->end_lsn)
            break;
        const size_t size = frame_header_frame_bytes(&header);
        TRY(window_get(window, reach->end_offset, size, &bytes, &count, error));
        if (count < size)
            break;
        if (STEP_IS_ON(STEP_RECOVERY_CHECK_PAYLOAD)
                ? !frame_body_is_whole(&header, bytes, key.secret)
                : !frame_metadata_is_whole(&header, bytes + FRAME_HEADER_BYTES, key.secret))
            break;
        scan_prove(scan, header.durable_lsn);
        reach->last_flags = header.flags;
        reach->frames++;
        reach->end_lsn += size;
        reach->end_offset += size;
    }
    /* Beyond it, if what claims to follow is not what follows. */
    reach->is_short = reach->end_lsn != end_lsn;
    return PAWL_OK;
}

/* What stands at X when something that is not zero lies at or behind it. */
static pawl_status scan_classify(struct scan *scan, struct window *window, uint64_t ordinal,
                                 struct scan_reach *reach, pawl_error *error) {
    const struct frame_key key = {scan->identity->secret, ordinal};
    const uint8_t *bytes;
    size_t count;
    struct frame_header header;
    TRY(window_get(window, reach->end_offset, FRAME_HEADER_BYTES, &bytes, &count, error));
    size_t size = FRAME_HEADER_BYTES;
    if (count == FRAME_HEADER_BYTES) {
        const enum frame_verdict verdict = frame_read_header(bytes, &key, &header);
        if (verdict == FRAME_ABSURD || (verdict == FRAME_WHOLE && header.lsn != reach->end_lsn)) {
            reach->bytes = RECOVERY_ABSURD;
            return PAWL_OK;
        }
        if (verdict == FRAME_WHOLE) {
            size = frame_header_frame_bytes(&header);
            TRY(window_get(window, reach->end_offset, size, &bytes, &count, error));
        }
    }
    reach->bytes =
        frame_is_torn(bytes, count, size, reach->end_offset) ? RECOVERY_TORN : RECOVERY_ROT;
    return PAWL_OK;
}

/* Everything about X but the facts of other files. */
static pawl_status scan_look_behind(struct scan *scan, struct window *window,
                                    const struct look_file *file, struct scan_reach *reach,
                                    pawl_error *error) {
    struct scan_places places;
    TRY(scan_places(scan, window, file, reach->end_offset, reach->end_offset + FRAME_ALIGNMENT,
                    &places, error));
    reach->later_frames = places.headers;
    reach->bytes = RECOVERY_ZERO;
    if (places.last_byte <= reach->end_offset)
        return PAWL_OK;
    reach->torn_bytes = places.last_byte - reach->end_offset;
    return scan_classify(scan, window, file->ordinal, reach, error);
}

/* One segment of the line, up to where the next of the line begins. */
static pawl_status scan_segment(struct scan *scan, size_t position, struct scan_reach *reach,
                                pawl_error *error) {
    const struct look_file *file = &scan->files[scan->line[position]];
    const bool is_head = position + 1 == scan->line_count;
    const uint64_t end_lsn =
        is_head ? UINT64_MAX : scan->files[scan->line[position + 1]].start.end_lsn;
    struct window window;
    TRY(scan_open(scan, file, &window, error));
    pawl_status status = scan_walk(scan, &window, file, end_lsn, reach, error);
    if (status == PAWL_OK && reach->is_short)
        status = scan_look_behind(scan, &window, file, reach, error);
    look_close(&window);
    return status;
}

/* A file behind the head: nothing in it is of the log, but a header in it may prove something. */
static pawl_status scan_spare(struct scan *scan, struct look_file *file, uint64_t *frames,
                              pawl_error *error) {
    struct window window;
    TRY(scan_open(scan, file, &window, error));
    struct scan_places places = {0};
    const pawl_status status =
        scan_places(scan, &window, file, SEGMENT_DATA_AT, SEGMENT_DATA_AT, &places, error);
    file->is_blank = status == PAWL_OK && places.last_byte == 0;
    *frames += places.headers;
    look_close(&window);
    return status;
}

/* Syncs a file and reads its beginning from the disk, once. *has_changed: the disk has another than
 * the cache had. */
static pawl_status scan_settle_file(struct scan *scan, size_t index, bool *has_changed,
                                    pawl_error *error) {
    struct look_file *file = &scan->files[index];
    if (file->is_settled)
        return PAWL_OK;
    const enum chain_start before = file->start_verdict;
    file->is_settled = true;
    TRY(scan_judge(scan, index, error));
    *has_changed |= file->start_verdict != before;
    return PAWL_OK;
}

/* Steps 3 and 4. *has_changed: a segment of the line has not begun on the disk; find another line.
 */
static pawl_status scan_end(struct scan *scan, bool *has_changed, pawl_error *error) {
    uint64_t behind = 0;
    const size_t head = scan->line[scan->line_count - 1];
    for (size_t i = scan->count; i > head + 1; i--) {
        TRY(scan_settle_file(scan, i - 1, has_changed, error));
        TRY(scan_spare(scan, &scan->files[i - 1], &behind, error));
    }
    for (size_t position = scan->line_count; position > 0; position--) {
        const size_t at = scan->line[position - 1];
        struct scan_reach reach = {0};
        TRY(scan_settle_file(scan, at, has_changed, error));
        if (*has_changed)
            return PAWL_OK;
        TRY(scan_segment(scan, position - 1, &reach, error));
        if (reach.is_short) {
            scan->end_file = at;
            scan->end_lsn = reach.end_lsn;
            scan->end_offset = reach.end_offset;
            scan->last_flags = reach.last_flags;
            scan->torn_bytes = reach.torn_bytes;
            scan->later_frames = reach.later_frames + behind;
            scan->facts.bytes = reach.bytes;
        }
        behind += reach.frames + reach.later_frames;
        if (scan->proof_lsn >= scan->files[at].start.end_lsn)
            break;
    }
    return PAWL_OK;
}

static bool scan_has_file_after(const struct scan *scan, uint64_t ordinal) {
    return scan->count > 0 && scan->files[scan->count - 1].ordinal > ordinal;
}

pawl_status scan_run(struct scan *scan, pawl_error *error) {
    TRY(scan_list(scan, error));
    TRY(scan_look(scan, error));
    bool has_changed;
    do {
        has_changed = false;
        if (!scan_find_line(scan)) {
            /* The log's first segment was durable before there was a store. */
            const bool is_there = scan->count > 0 && scan->files[0].ordinal == 1;
            scan->row = is_there ? RECOVERY_LOST_DURABLE : RECOVERY_LOST_SEGMENT;
            scan->end_lsn = SEGMENT_FIRST_LSN;
            return PAWL_OK;
        }
        TRY(scan_end(scan, &has_changed, error));
    } while (has_changed);
    const uint64_t ordinal = scan->files[scan->end_file].ordinal;
    scan->facts.is_proved = STEP_IS_ON(STEP_RECOVERY_PROOF) && scan->proof_lsn > scan->end_lsn;
    scan->facts.has_later = scan->later_frames > 0;
    scan->facts.is_sealed = (scan->last_flags & FRAME_FOOTER) != 0;
    scan->facts.next_exists = scan_index_of(scan, ordinal + 1) < scan->count;
    scan->facts.has_gap = !scan->facts.next_exists && scan_has_file_after(scan, ordinal);
    scan->row = recovery_decide(&scan->facts);
    return PAWL_OK;
}

pawl_status scan_damage(const struct scan *scan, pawl_error *error) {
    char name[SEGMENT_NAME_BYTES];
    const bool is_lost = scan->row == RECOVERY_LOST_SEGMENT || scan->row == RECOVERY_LOST_SUCCESSOR;
    uint64_t ordinal = 1, offset = is_lost ? 0 : SEGMENT_DATA_AT;
    if (scan->line_count > 0) {
        /* A sealed segment is whole: what is missing is its successor's beginning. */
        const bool is_next = is_lost || scan->facts.is_sealed;
        ordinal = scan->files[scan->end_file].ordinal + is_next;
        const bool is_gone = is_lost || (is_next && !scan->facts.next_exists);
        offset = is_gone ? 0 : is_next ? SEGMENT_DATA_AT : scan->end_offset;
    }
    segment_name(ordinal, name);
    (void)error_set(error, PAWL_DAMAGED, "segment %s, offset %llu: %s; `pawl verify` tells more",
                    name, (unsigned long long)offset, recovery_row_sentence(scan->row));
    return error_at(error, PAWL_DAMAGED, name, offset, scan->end_lsn);
}

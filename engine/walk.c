#include "walk.h"

#include "bytes.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    FILES_FIRST = 16,
    FOLLOW_ORDINALS = 8, /* so far apart a segment and its successor may be named */
    BLOCK_BYTES = 32 * 1024,
};

void walk_init(struct walk *walk, struct os *os, struct os_dir *dir,
               const struct identity *identity) {
    memset(walk, 0, sizeof *walk);
    walk->os = os;
    walk->dir = dir;
    walk->identity = identity;
}

void walk_deinit(struct walk *walk) {
    os_release(walk->os, walk->line, walk->capacity * sizeof *walk->line);
    os_release(walk->os, walk->files, walk->capacity * sizeof *walk->files);
    memset(walk, 0, sizeof *walk);
}

pawl_status walk_tell(struct walk *walk, bool is_damage, uint64_t ordinal, uint64_t offset,
                      uint64_t lsn, pawl_error *error, const char *format, ...) {
    if (walk->visitor.finding == NULL)
        return PAWL_OK;
    struct walk_finding finding = {
        .is_damage = is_damage,
        .ordinal = ordinal,
        .offset = offset,
        .lsn = lsn,
    };
    char name[SEGMENT_NAME_BYTES];
    segment_name(ordinal, name);
    (void)snprintf(finding.file, sizeof finding.file, "log/%s", name);
    va_list values;
    va_start(values, format);
    (void)vsnprintf(finding.what, sizeof finding.what, format, values);
    va_end(values);
    return walk->visitor.finding(walk->visitor.context, &finding, error);
}

/* ---- One file ---- */

pawl_status walk_open(struct walk *walk, uint64_t ordinal, struct window *ret_window,
                      pawl_error *error) {
    char name[SEGMENT_NAME_BYTES];
    segment_name(ordinal, name);
    window_init(ret_window, walk->os, NULL, name);
    const int failed = os_file_open(walk->os, walk->dir, name, OS_OPEN_READ, &ret_window->file);
    if (failed == ENOENT)
        return error_set(error, PAWL_NOT_FOUND, "segment %s is missing", name);
    if (failed != 0)
        return error_os(error, failed, name, 0, "cannot open segment %s", name);
    return PAWL_OK;
}

void walk_close(struct window *window) {
    struct os *os = window->os;
    struct os_file *file = window->file;
    window_deinit(window);
    (void)os_file_close(os, file); /* only read */
}

pawl_status walk_last_byte(struct window *window, uint64_t offset, uint64_t *ret_end,
                           pawl_error *error) {
    uint64_t end = 0;
    for (;;) {
        const uint8_t *bytes;
        size_t count;
        TRY(window_get(window, offset, BLOCK_BYTES, &bytes, &count, error));
        if (count == 0)
            break;
        if (!bytes_are_zero(bytes, count)) {
            size_t last = count;
            while (bytes[last - 1] == 0)
                last--;
            end = offset + last;
        }
        offset += count;
    }
    *ret_end = end;
    return PAWL_OK;
}

static void walk_prove(struct walk *walk, uint64_t lsn) {
    if (lsn > walk->proof_lsn)
        walk->proof_lsn = lsn;
}

static enum recovery_header walk_verdict(enum segment_verdict verdict) {
    switch (verdict) {
    case SEGMENT_OURS: return RECOVERY_HEADER_OURS;
    case SEGMENT_ABSENT: return RECOVERY_HEADER_ABSENT;
    case SEGMENT_WRONG: return RECOVERY_HEADER_WRONG;
    case SEGMENT_FOREIGN: return RECOVERY_HEADER_FOREIGN;
    case SEGMENT_NEWER: return RECOVERY_HEADER_NEWER;
    }
    return RECOVERY_HEADER_WRONG;
}

static pawl_status walk_look_inside(struct walk *walk, struct walk_file *file,
                                    struct window *window, pawl_error *error) {
    const uint8_t *bytes;
    size_t count;
    TRY(window_get(window, 0, SEGMENT_DATA_AT, &bytes, &count, error));
    file->verdict = walk_verdict(segment_read_header(bytes, count, walk->identity->uuid,
                                                     walk->identity->secret, &file->header));
    if (file->verdict == RECOVERY_HEADER_OURS) {
        file->key = file->header.ordinal;
    } else {
        uint64_t end;
        TRY(walk_last_byte(window, SEGMENT_DATA_AT, &end, error));
        file->has_content = end > 0;
    }
    TRY(chain_read_start(walk->os, window->file, file->key, walk->identity->secret,
                         &file->start_verdict, &file->start_header, &file->start, error));
    struct os_stat stat = {0};
    const int failed = os_file_stat(walk->os, window->file, &stat);
    if (failed != 0)
        return error_os(error, failed, window->name, 0, "cannot look at segment %s", window->name);
    file->bytes = stat.bytes;
    return PAWL_OK;
}

static pawl_status walk_look(struct walk *walk, struct walk_file *file, pawl_error *error) {
    struct window window;
    file->key = file->ordinal;
    const pawl_status opened = walk_open(walk, file->ordinal, &window, error);
    file->is_gone = opened == PAWL_NOT_FOUND;
    if (file->is_gone)
        return PAWL_OK;
    TRY(opened);
    const pawl_status status = walk_look_inside(walk, file, &window, error);
    walk_close(&window);
    return status;
}

/* ---- The names ---- */

struct walk_listing {
    struct walk *walk;
    pawl_status status; /* of a visitor */
    pawl_error *error;
};

static pawl_status walk_stranger(struct walk *walk, const char *name, pawl_error *error) {
    /* The reserve is kept beside the segments until it becomes one. */
    if (strcmp(name, "reserve-1") == 0 || strcmp(name, "reserve-2") == 0)
        return PAWL_OK;
    walk->strangers++;
    struct walk_finding finding = {.is_damage = false};
    (void)snprintf(finding.file, sizeof finding.file, "log/%.58s", name);
    (void)snprintf(finding.what, sizeof finding.what, "not a file of the log");
    if (walk->visitor.finding == NULL)
        return PAWL_OK;
    return walk->visitor.finding(walk->visitor.context, &finding, error);
}

static int walk_grow(struct walk *walk) {
    const size_t capacity = walk->capacity == 0 ? FILES_FIRST : walk->capacity * 2;
    struct walk_file *files = os_allocate(walk->os, capacity * sizeof *files);
    struct walk_piece *line = os_allocate(walk->os, capacity * sizeof *line);
    if (files == NULL || line == NULL) {
        os_release(walk->os, files, capacity * sizeof *files);
        os_release(walk->os, line, capacity * sizeof *line);
        return ENOMEM;
    }
    if (walk->count > 0)
        memcpy(files, walk->files, walk->count * sizeof *files);
    os_release(walk->os, walk->files, walk->capacity * sizeof *walk->files);
    os_release(walk->os, walk->line, walk->capacity * sizeof *walk->line);
    walk->files = files;
    walk->line = line;
    walk->capacity = capacity;
    return 0;
}

static int walk_visit_name(void *context, const char *name) {
    struct walk_listing *listing = context;
    struct walk *walk = listing->walk;
    uint64_t ordinal;
    if (!segment_parse_name(name, &ordinal)) {
        listing->status = walk_stranger(walk, name, listing->error);
        return listing->status == PAWL_OK ? 0 : ECANCELED;
    }
    if (walk->end == WALK_TO_FLUX && ordinal > walk->end_ordinal)
        return 0;
    if (walk->count == walk->capacity && walk_grow(walk) != 0)
        return ENOMEM;
    walk->files[walk->count++] = (struct walk_file){.ordinal = ordinal};
    return 0;
}

static pawl_status walk_list(struct walk *walk, pawl_error *error) {
    struct walk_listing listing = {.walk = walk, .status = PAWL_OK, .error = error};
    walk->count = 0;
    const int failed = os_dir_list(walk->os, walk->dir, walk_visit_name, &listing);
    TRY(listing.status);
    if (failed != 0)
        return error_os(error, failed, "log", 0, "cannot list the segments");
    return PAWL_OK;
}

/* By what their frames are bound to; of two of one ordinal the rightly named comes first. */
static bool walk_is_before(const struct walk_file *a, const struct walk_file *b) {
    if (a->key != b->key)
        return a->key < b->key;
    if ((a->ordinal == a->key) != (b->ordinal == b->key))
        return a->ordinal == a->key;
    return a->ordinal < b->ordinal;
}

/* They come nearly in order, or in none; there are few. */
static void walk_sort(struct walk *walk) {
    for (size_t gap = walk->count / 2; gap > 0; gap /= 2) {
        for (size_t i = gap; i < walk->count; i++) {
            const struct walk_file moved = walk->files[i];
            size_t at = i;
            for (; at >= gap && walk_is_before(&moved, &walk->files[at - gap]); at -= gap)
                walk->files[at] = walk->files[at - gap];
            walk->files[at] = moved;
        }
    }
}

static pawl_status walk_judge_file(struct walk *walk, const struct walk_file *file,
                                   pawl_error *error) {
    switch (file->row) {
    case RECOVERY_FILE_SEGMENT:
    case RECOVERY_FILE_UNFINISHED: return PAWL_OK;
    case RECOVERY_FILE_RENAMED:
        return walk_tell(walk, true, file->ordinal, 0, 0, error, "%s (%llu)",
                         recovery_file_row_sentence(file->row), (unsigned long long)file->key);
    case RECOVERY_FILE_NEWER: {
        char name[SEGMENT_NAME_BYTES];
        segment_name(file->ordinal, name);
        (void)error_set(error, PAWL_VERSION, "segment %s: %s", name,
                        recovery_file_row_sentence(file->row));
        return error_at(error, PAWL_VERSION, name, 0, 0);
    }
    case RECOVERY_FILE_HEADER:
    case RECOVERY_FILE_FOREIGN:
    case RECOVERY_FILE_ROW_COUNT: break;
    }
    return walk_tell(walk, true, file->ordinal, 0, 0, error, "%s",
                     recovery_file_row_sentence(file->row));
}

static pawl_status walk_judge_files(struct walk *walk, pawl_error *error) {
    bool is_followed = false;
    for (size_t i = walk->count; i > 0; i--) {
        struct walk_file *file = &walk->files[i - 1];
        if (file->is_gone)
            continue;
        const struct recovery_file_facts facts = {
            .header = file->verdict,
            .is_named_right = file->key == file->ordinal,
            .has_content = file->has_content,
            .is_followed = is_followed,
        };
        file->row = recovery_decide_file(&facts);
        is_followed = is_followed || file->start_verdict == CHAIN_START_WHOLE;
        if (file->verdict == RECOVERY_HEADER_OURS)
            walk_prove(walk, file->header.durable_lsn);
        if (file->start_verdict == CHAIN_START_WHOLE)
            walk_prove(walk, file->start_header.durable_lsn);
    }
    for (size_t i = 0; i < walk->count; i++) {
        if (!walk->files[i].is_gone)
            TRY(walk_judge_file(walk, &walk->files[i], error));
    }
    return PAWL_OK;
}

/* ---- The line ---- */

static bool walk_may_be_in_line(const struct walk *walk, size_t at) {
    const struct walk_file *file = &walk->files[at];
    if (file->is_gone || file->row == RECOVERY_FILE_FOREIGN || file->row == RECOVERY_FILE_NEWER)
        return false;
    return at == 0 || walk->files[at - 1].key != file->key; /* the first of its ordinal */
}

/* The file of `key`, or walk->count. */
static size_t walk_find(const struct walk *walk, uint64_t key) {
    size_t low = 0, high = walk->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (walk->files[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    const bool is_found =
        low < walk->count && walk->files[low].key == key && walk_may_be_in_line(walk, low);
    return is_found ? low : walk->count;
}

/* The nearest before `at` that begins as it must, or walk->count. */
static size_t walk_begun_before(const struct walk *walk, size_t at) {
    while (at > 0) {
        at--;
        if (walk->files[at].start_verdict == CHAIN_START_WHOLE && walk_may_be_in_line(walk, at))
            return at;
    }
    return walk->count;
}

static size_t walk_head(const struct walk *walk) {
    size_t at = walk->count;
    do {
        at = walk_begun_before(walk, at);
    } while (at < walk->count && walk->end == WALK_TO_POSITION &&
             walk->files[at].key > walk->end_ordinal);
    if (at == walk->count && walk->count > 0 && walk->end == WALK_TO_LAST)
        at = walk_find(walk, walk->files[0].key); /* none begins as it must */
    return at;
}

static void walk_push(struct walk *walk, size_t file, uint64_t end_lsn) {
    const struct walk_file *pushed = &walk->files[file];
    walk->line[walk->line_count++] = (struct walk_piece){
        .file = file,
        .first_lsn = pushed->start_verdict == CHAIN_START_WHOLE ? pushed->start_header.lsn : 0,
        .end_lsn = end_lsn,
    };
}

static void walk_turn_line(struct walk *walk) {
    for (size_t i = 0, j = walk->line_count; i + 1 < j; i++, j--) {
        const struct walk_piece piece = walk->line[i];
        walk->line[i] = walk->line[j - 1];
        walk->line[j - 1] = piece;
    }
    for (size_t i = 0; i < walk->line_count; i++)
        walk->files[walk->line[i].file].place = i + 1;
}

/* From the newest segment that has begun backwards by what each names as its predecessor. */
static pawl_status walk_line(struct walk *walk, pawl_error *error) {
    size_t at = walk_head(walk);
    uint64_t end_lsn = CHAIN_END_OPEN;
    walk->line_count = 0;
    while (at < walk->count) {
        const struct walk_file *file = &walk->files[at];
        walk_push(walk, at, end_lsn);
        if (file->start_verdict != CHAIN_START_WHOLE) {
            TRY(walk_tell(walk, true, file->ordinal, SEGMENT_DATA_AT, 0, error,
                          "the segment does not begin as it must"));
            at = walk_begun_before(walk, at);
            end_lsn = CHAIN_END_OPEN;
            continue;
        }
        end_lsn = file->start.end_lsn;
        if (file->start.predecessor == 0)
            break;
        const size_t before = walk_find(walk, file->start.predecessor);
        if (before < at && !(walk->files[before].start_verdict == CHAIN_START_WHOLE &&
                             walk->files[before].start.end_lsn >= end_lsn)) {
            at = before;
            continue;
        }
        TRY(walk_tell(walk, true, file->start.predecessor, 0, end_lsn, error,
                      "a segment that was in use is missing; its successor is %llu",
                      (unsigned long long)file->ordinal));
        at = walk_begun_before(walk, at);
        end_lsn = CHAIN_END_OPEN;
    }
    walk_turn_line(walk);
    return PAWL_OK;
}

pawl_status walk_files(struct walk *walk, pawl_error *error) {
    TRY(walk_list(walk, error));
    for (size_t i = 0; i < walk->count; i++)
        TRY(walk_look(walk, &walk->files[i], error));
    walk_sort(walk);
    TRY(walk_judge_files(walk, error));
    return walk_line(walk, error);
}

/* ---- Frames ---- */

/* Where the walk stands in a file. */
struct walk_place {
    struct window *window;
    const struct walk_file *file;
    uint64_t first_lsn;
    uint64_t end_lsn;
    uint64_t lsn;
    uint64_t offset;
    bool is_last; /* no segment of the line is behind this one */
    bool is_done;
};

/* What was found at a place. */
struct walk_look {
    struct walk_frame frame;
    size_t size;       /* 0: not known */
    const char *wrong; /* NULL: whole as far as was asked */
    bool has_metadata; /* header and metadata are whole */
};

static pawl_status walk_look_body(struct walk *walk, struct walk_place *place,
                                  struct walk_look *look, pawl_error *error) {
    const uint64_t secret = walk->identity->secret;
    const struct frame_header *header = &look->frame.header;
    const uint8_t *bytes;
    size_t count;
    TRY(window_get(place->window, place->offset, look->size, &bytes, &count, error));
    if (count < look->size) {
        look->wrong = "the file ends within a frame";
        look->has_metadata = false;
        return PAWL_OK;
    }
    look->frame.bytes = bytes;
    look->frame.metadata = bytes + FRAME_HEADER_BYTES;
    const uint8_t *payload = look->frame.metadata + header->metadata_bytes;
    if (!frame_payload_is_whole(header, payload, secret))
        look->wrong = "a payload is not whole";
    else
        look->frame.payload = payload;
    if (look->wrong == NULL && !frame_body_is_whole(header, bytes, secret))
        look->wrong = "the padding of a frame is not whole";
    return PAWL_OK;
}

static pawl_status walk_look_at(struct walk *walk, struct walk_place *place, bool is_full,
                                struct walk_look *look, pawl_error *error) {
    const struct frame_key key = {walk->identity->secret, place->file->key};
    struct frame_header *header = &look->frame.header;
    const uint8_t *bytes;
    size_t count;
    memset(look, 0, sizeof *look);
    TRY(window_get(place->window, place->offset, FRAME_HEADER_BYTES, &bytes, &count, error));
    const enum frame_verdict verdict =
        count < FRAME_HEADER_BYTES ? FRAME_ABSENT : frame_read_header(bytes, &key, header);
    if (verdict != FRAME_WHOLE || header->lsn != place->lsn) {
        look->wrong = verdict == FRAME_ABSENT   ? "a frame is missing"
                      : verdict == FRAME_WRONG  ? "the header of a frame is not whole"
                      : verdict == FRAME_ABSURD ? "a frame says what cannot be"
                                                : "a frame stands at another's place";
        return PAWL_OK;
    }
    look->frame.ordinal = place->file->ordinal;
    look->frame.offset = place->offset;
    look->size = frame_header_frame_bytes(header);
    const size_t wanted = FRAME_HEADER_BYTES + header->metadata_bytes;
    TRY(window_get(place->window, place->offset, wanted, &bytes, &count, error));
    look->frame.metadata = bytes + FRAME_HEADER_BYTES;
    if (count < wanted)
        look->wrong = "the file ends within a frame";
    else if (!frame_metadata_is_whole(header, look->frame.metadata, key.secret))
        look->wrong = "the metadata of a frame is not whole";
    look->has_metadata = look->wrong == NULL;
    return look->has_metadata && is_full ? walk_look_body(walk, place, look, error) : PAWL_OK;
}

/* The next place behind this one at which a header of this segment stands. False: there is none. */
static pawl_status walk_find_next(struct walk *walk, const struct walk_place *place,
                                  struct walk_place *ret_next, bool *ret_found, pawl_error *error) {
    const struct frame_key key = {walk->identity->secret, place->file->key};
    const uint64_t first = place->first_lsn != 0 ? FRAME_ALIGNMENT : 0;
    for (uint64_t at = place->offset + first;; at += FRAME_ALIGNMENT) {
        const uint8_t *bytes;
        size_t count;
        TRY(window_get(place->window, at, FRAME_HEADER_BYTES, &bytes, &count, error));
        if (count < FRAME_HEADER_BYTES)
            break;
        struct frame_header header;
        if (!frame_looks_like_header(bytes) ||
            frame_read_header(bytes, &key, &header) != FRAME_WHOLE ||
            (place->first_lsn != 0 && header.lsn != place->first_lsn + (at - SEGMENT_DATA_AT)) ||
            header.lsn < at - SEGMENT_DATA_AT || header.lsn >= place->end_lsn)
            continue;
        *ret_next = *place;
        ret_next->first_lsn = header.lsn - (at - SEGMENT_DATA_AT);
        ret_next->lsn = header.lsn;
        ret_next->offset = at;
        *ret_found = true;
        return PAWL_OK;
    }
    *ret_found = false;
    return PAWL_OK;
}

/* At a place where no frame can be read: is it the end, or is something broken? */
static pawl_status walk_gap(struct walk *walk, struct walk_place *place, const char *wrong,
                            pawl_error *error) {
    if (walk->end == WALK_TO_FLUX && place->is_last && place->lsn >= walk->end_lsn) {
        place->is_done = true;
        return PAWL_OK;
    }
    struct walk_place next = *place;
    bool is_found;
    TRY(walk_find_next(walk, place, &next, &is_found, error));
    const bool is_end = !is_found && place->is_last && walk->end == WALK_TO_LAST;
    if (!is_end && is_found)
        TRY(walk_tell(walk, true, place->file->ordinal, place->offset, place->lsn, error,
                      "%s; the next whole one stands %llu bytes behind it", wrong,
                      (unsigned long long)(next.offset - place->offset)));
    else if (!is_end)
        TRY(walk_tell(walk, true, place->file->ordinal, place->offset, place->lsn, error,
                      "%s, and none behind it in the segment", wrong));
    *place = next;
    place->is_done = !is_found;
    return PAWL_OK;
}

static pawl_status walk_step(struct walk *walk, struct walk_place *place, pawl_error *error) {
    struct walk_look look;
    const bool is_full =
        walk->is_full || (walk->end == WALK_TO_FLUX && place->lsn >= walk->end_lsn);
    TRY(walk_look_at(walk, place, is_full, &look, error));
    const bool is_in_flux =
        walk->end == WALK_TO_FLUX && place->is_last && place->lsn >= walk->end_lsn;
    if (look.size == 0 || (look.wrong != NULL && is_in_flux))
        return walk_gap(walk, place, look.wrong, error);
    if (look.wrong != NULL && place->is_last && walk->end == WALK_TO_LAST) {
        struct walk_place next;
        bool is_followed;
        TRY(walk_find_next(walk, place, &next, &is_followed, error));
        place->is_done = !is_followed; /* the recovery's table has judged the last frame */
        if (!is_followed)
            return PAWL_OK;
    }
    if (place->lsn + look.size > place->end_lsn)
        return walk_gap(walk, place, "a frame reaches beyond its segment", error);
    if (look.wrong != NULL)
        TRY(walk_tell(walk, true, place->file->ordinal, place->offset, place->lsn, error, "%s",
                      look.wrong));
    walk_prove(walk, look.frame.header.durable_lsn);
    walk->last_flags = look.frame.header.flags;
    if (look.has_metadata && place->lsn >= walk->from_lsn) {
        walk->frames_bytes += look.size;
        if (walk->visitor.frame != NULL)
            TRY(walk->visitor.frame(walk->visitor.context, &look.frame, error));
    }
    place->lsn += look.size;
    place->offset += look.size;
    return PAWL_OK;
}

static bool walk_is_at_end(const struct walk *walk, const struct walk_place *place) {
    return place->is_done || place->lsn >= place->end_lsn ||
           (walk->end == WALK_TO_POSITION && place->file->key == walk->end_ordinal &&
            place->lsn >= walk->end_lsn);
}

/* One segment, from `place` on. */
static pawl_status walk_through(struct walk *walk, struct walk_place *place, pawl_error *error) {
    while (!walk_is_at_end(walk, place))
        TRY(walk_step(walk, place, error));
    walk->lsn = place->lsn;
    walk->last = (struct walk_piece){.first_lsn = place->first_lsn};
    walk->last_ordinal = place->file->ordinal;
    walk->last_key = place->file->key;
    return PAWL_OK;
}

static pawl_status walk_segment(struct walk *walk, size_t position, pawl_error *error) {
    const struct walk_piece *piece = &walk->line[position];
    struct window window;
    const uint64_t ordinal = walk->files[piece->file].ordinal;
    const pawl_status opened = walk_open(walk, ordinal, &window, error);
    if (opened == PAWL_NOT_FOUND)
        return walk_tell(walk, true, ordinal, 0, piece->first_lsn, error,
                         "the segment has just been removed");
    TRY(opened);
    struct walk_place place = {
        .window = &window,
        .file = &walk->files[piece->file],
        .first_lsn = piece->first_lsn,
        .end_lsn = piece->end_lsn,
        .lsn = piece->first_lsn,
        .offset = SEGMENT_DATA_AT,
        .is_last = position + 1 == walk->line_count,
    };
    pawl_status status = PAWL_OK;
    if (piece->first_lsn == 0) { /* told of already */
        bool is_found;
        status = walk_find_next(walk, &place, &place, &is_found, error);
        place.is_done = status == PAWL_OK && !is_found;
    }
    if (status == PAWL_OK)
        status = walk_through(walk, &place, error);
    walk_close(&window);
    return status;
}

pawl_status walk_frames(struct walk *walk, pawl_error *error) {
    for (size_t position = 0; position < walk->line_count; position++) {
        if (walk->line[position].end_lsn <= walk->from_lsn)
            continue;
        TRY(walk_segment(walk, position, error));
    }
    return PAWL_OK;
}

/* ---- Following ---- */

/* The segment that names the last one as its predecessor. PAWL_EMPTY: there is none yet. */
static pawl_status walk_successor(struct walk *walk, struct walk_file *ret_file,
                                  pawl_error *error) {
    for (uint64_t ordinal = walk->last_key + 1; ordinal <= walk->last_key + FOLLOW_ORDINALS;
         ordinal++) {
        struct walk_file file = {.ordinal = ordinal};
        TRY(walk_look(walk, &file, error));
        if (file.is_gone || file.start_verdict != CHAIN_START_WHOLE ||
            file.start.predecessor != walk->last_key)
            continue;
        *ret_file = file;
        return PAWL_OK;
    }
    return PAWL_EMPTY;
}

static pawl_status walk_follow_in(struct walk *walk, const struct walk_file *file,
                                  uint64_t first_lsn, uint64_t lsn, pawl_error *error) {
    struct window window;
    TRY(walk_open(walk, file->ordinal, &window, error));
    struct walk_place place = {
        .window = &window,
        .file = file,
        .first_lsn = first_lsn,
        .end_lsn = CHAIN_END_OPEN,
        .lsn = lsn,
        .offset = SEGMENT_DATA_AT + (lsn - first_lsn),
        .is_last = true,
    };
    const pawl_status status = walk_through(walk, &place, error);
    walk_close(&window);
    return status;
}

pawl_status walk_follow(struct walk *walk, pawl_error *error) {
    if (walk->last.first_lsn == 0)
        return PAWL_OK;
    walk->end = WALK_TO_FLUX;
    walk->end_lsn = 0;
    const struct walk_file file = {.ordinal = walk->last_ordinal, .key = walk->last_key};
    TRY(walk_follow_in(walk, &file, walk->last.first_lsn, walk->lsn, error));
    for (;;) {
        struct walk_file next;
        const pawl_status status = walk_successor(walk, &next, error);
        if (status == PAWL_EMPTY)
            return PAWL_OK;
        TRY(status);
        /* What the last one holds may have grown between the two looks. */
        const uint64_t end_lsn = next.start.end_lsn;
        if (end_lsn > walk->lsn) {
            const struct walk_file last = {.ordinal = walk->last_ordinal, .key = walk->last_key};
            TRY(walk_follow_in(walk, &last, walk->last.first_lsn, walk->lsn, error));
        }
        if (end_lsn != walk->lsn)
            TRY(walk_tell(walk, false, next.ordinal, SEGMENT_DATA_AT, end_lsn, error,
                          "the log was cut at %llu, before what has been shown of it",
                          (unsigned long long)end_lsn));
        TRY(walk_follow_in(walk, &next, end_lsn, end_lsn, error));
    }
}

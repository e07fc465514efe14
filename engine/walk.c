#include "walk.h"

#include "bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FOLLOW_ORDINALS = 8 }; /* so far apart a segment and its successor may be named */

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

pawl_status walk_tell(struct walk *walk, enum walk_kind kind, uint64_t ordinal, uint64_t offset,
                      uint64_t lsn, pawl_error *error, const char *format, ...) {
    if (walk->visitor.finding == NULL)
        return PAWL_OK;
    struct walk_finding finding = {
        .kind = kind,
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

pawl_status walk_tell_failure(struct walk *walk, uint64_t ordinal, uint64_t offset, uint64_t lsn,
                              pawl_status status, const pawl_error *failure, pawl_error *error) {
    if (status == PAWL_DAMAGED || status == PAWL_IO || status == PAWL_PERMISSION)
        return walk_tell(walk, status == PAWL_DAMAGED ? WALK_DAMAGE : WALK_UNREAD, ordinal, offset,
                         lsn, error, "%s", failure->sentence);
    if (error != NULL)
        *error = *failure;
    return status;
}

/* ---- A place and what is there ---- */

/* Where the walk stands in a file. */
struct walk_place {
    struct window *window;
    const struct look_file *file;
    uint64_t first_lsn;
    uint64_t end_lsn;
    uint64_t lsn;
    uint64_t offset;
    bool is_last; /* no segment of the line is behind this one */
    bool is_open; /* nothing tells where the segment ends, but that nothing whole follows */
    bool is_done;
    bool is_unread;     /* the system does not let the file be read: the walk leaves it */
    pawl_error failure; /* what it said */
};

/* What was found at a place. */
struct walk_found {
    struct walk_frame frame;
    size_t size;       /* 0: not known */
    const char *wrong; /* NULL: whole as far as was asked */
    bool has_metadata; /* header and metadata are whole */
};

/* A status of reading the place's file: what the system does not let be read is noted. */
static pawl_status walk_note(struct walk_place *place, pawl_status status, pawl_error *error) {
    place->is_unread = status == PAWL_IO || status == PAWL_PERMISSION;
    if (status != PAWL_OK && error != NULL)
        *error = place->failure;
    return status;
}

static pawl_status walk_get(struct walk_place *place, size_t bytes, const uint8_t **ret_bytes,
                            size_t *ret_count, pawl_error *error) {
    const pawl_status status =
        window_get(place->window, place->offset, bytes, ret_bytes, ret_count, &place->failure);
    return walk_note(place, status, error);
}

static pawl_status walk_find_body(struct walk *walk, struct walk_place *place,
                                  struct walk_found *found, pawl_error *error) {
    const uint64_t secret = walk->identity->secret;
    const struct frame_header *header = &found->frame.header;
    const uint8_t *bytes;
    size_t count;
    TRY(walk_get(place, found->size, &bytes, &count, error));
    if (count < found->size) {
        found->wrong = "the file ends within a frame";
        found->has_metadata = false;
        return PAWL_OK;
    }
    found->frame.bytes = bytes;
    found->frame.metadata = bytes + FRAME_HEADER_BYTES;
    const uint8_t *payload = found->frame.metadata + header->metadata_bytes;
    if (!frame_payload_is_whole(header, payload, secret))
        found->wrong = "a payload is not whole";
    else
        found->frame.payload = payload;
    if (found->wrong == NULL && !frame_body_is_whole(header, bytes, secret))
        found->wrong = "the padding of a frame is not whole";
    return PAWL_OK;
}

/* A footer is read wholly in any case: it is short, and how it ends is what it is for. */
static pawl_status walk_read_frame(struct walk *walk, struct walk_place *place, bool is_full,
                                   struct walk_found *found, pawl_error *error) {
    const struct frame_key key = {walk->identity->secret, place->file->key};
    struct frame_header *header = &found->frame.header;
    const uint8_t *bytes;
    size_t count;
    memset(found, 0, sizeof *found);
    TRY(walk_get(place, FRAME_HEADER_BYTES, &bytes, &count, error));
    const enum frame_verdict verdict =
        count < FRAME_HEADER_BYTES ? FRAME_ABSENT : frame_read_header(bytes, &key, header);
    if (verdict != FRAME_WHOLE || header->lsn != place->lsn) {
        found->wrong = verdict == FRAME_ABSENT   ? "a frame is missing"
                       : verdict == FRAME_WRONG  ? "the header of a frame is not whole"
                       : verdict == FRAME_ABSURD ? "a frame says what cannot be"
                                                 : "a frame stands at another's place";
        return PAWL_OK;
    }
    found->frame.ordinal = place->file->ordinal;
    found->frame.offset = place->offset;
    found->size = frame_header_frame_bytes(header);
    const size_t wanted = FRAME_HEADER_BYTES + header->metadata_bytes;
    TRY(walk_get(place, wanted, &bytes, &count, error));
    found->frame.metadata = bytes + FRAME_HEADER_BYTES;
    if (count < wanted)
        found->wrong = "the file ends within a frame";
    else if (!frame_metadata_is_whole(header, found->frame.metadata, key.secret))
        found->wrong = "the metadata of a frame is not whole";
    found->has_metadata = found->wrong == NULL;
    if (!found->has_metadata || (!is_full && (header->flags & FRAME_FOOTER) == 0))
        return PAWL_OK;
    return walk_find_body(walk, place, found, error);
}

/* The next place behind this one at which a header of this segment stands. PAWL_EMPTY: there is
 * none. */
static pawl_status walk_find_next(struct walk *walk, struct walk_place *place,
                                  struct walk_place *ret_next, pawl_error *error) {
    const struct frame_key key = {walk->identity->secret, place->file->key};
    for (uint64_t at = place->offset + FRAME_ALIGNMENT;; at += FRAME_ALIGNMENT) {
        struct frame_header header;
        const pawl_status status =
            look_next_header(place->window, &key, at, &at, &header, &place->failure);
        if (status == PAWL_EMPTY)
            return status;
        TRY(walk_note(place, status, error));
        if (header.lsn != place->first_lsn + (at - SEGMENT_DATA_AT) || header.lsn >= place->end_lsn)
            continue;
        *ret_next = *place;
        ret_next->lsn = header.lsn;
        ret_next->offset = at;
        return PAWL_OK;
    }
}

/* ---- Going through a segment ---- */

/* At a place where no frame can be read: is it the end, or is something broken? */
static pawl_status walk_gap(struct walk *walk, struct walk_place *place, const char *wrong,
                            pawl_error *error) {
    struct walk_place next = *place;
    const pawl_status status = walk_find_next(walk, place, &next, error);
    place->is_done = status != PAWL_OK;
    if (status != PAWL_OK && status != PAWL_EMPTY && !place->is_unread)
        return status;
    if (status == PAWL_OK)
        TRY(walk_tell(walk, WALK_DAMAGE, place->file->ordinal, place->offset, place->lsn, error,
                      "%s; the next whole one stands %llu bytes behind it", wrong,
                      (unsigned long long)(next.offset - place->offset)));
    else if (!place->is_open)
        TRY(walk_tell(walk, WALK_DAMAGE, place->file->ordinal, place->offset, place->lsn, error,
                      status == PAWL_EMPTY ? "%s, and none behind it in the segment" : "%s",
                      wrong));
    if (status == PAWL_OK)
        *place = next;
    return status == PAWL_EMPTY ? PAWL_OK : status;
}

/* Does the log, or what is known of the segment, end before a frame that is not whole? */
static pawl_status walk_ends_at(struct walk *walk, struct walk_place *place, bool *ret_ends,
                                pawl_error *error) {
    *ret_ends = walk->end == WALK_TO_FLUX && place->is_last && place->lsn >= walk->end_lsn;
    if (*ret_ends || !place->is_open)
        return PAWL_OK;
    struct walk_place next;
    const pawl_status status = walk_find_next(walk, place, &next, error);
    *ret_ends = status == PAWL_EMPTY;
    return status == PAWL_EMPTY ? PAWL_OK : status;
}

static pawl_status walk_visit(struct walk *walk, const struct walk_found *found,
                              pawl_error *error) {
    walk_prove(walk, found->frame.header.durable_lsn);
    if (!found->has_metadata || found->frame.header.lsn < walk->from_lsn)
        return PAWL_OK;
    if (walk->visitor.frame == NULL)
        return PAWL_OK;
    return walk->visitor.frame(walk->visitor.context, &found->frame, error);
}

static pawl_status walk_step(struct walk *walk, struct walk_place *place, pawl_error *error) {
    struct walk_found found;
    const bool is_full =
        walk->is_full || (walk->end == WALK_TO_FLUX && place->lsn >= walk->end_lsn);
    TRY(walk_read_frame(walk, place, is_full, &found, error));
    if (found.wrong != NULL) {
        TRY(walk_ends_at(walk, place, &place->is_done, error));
        if (place->is_done)
            return PAWL_OK;
    }
    if (found.size == 0)
        return walk_gap(walk, place, found.wrong, error);
    if (found.size > place->end_lsn - place->lsn)
        return walk_gap(walk, place, "a frame reaches beyond its segment", error);
    if (found.wrong != NULL)
        TRY(walk_tell(walk, WALK_DAMAGE, place->file->ordinal, place->offset, place->lsn, error,
                      "%s", found.wrong));
    TRY(walk_visit(walk, &found, error));
    place->lsn += found.size;
    place->offset += found.size;
    return PAWL_OK;
}

static bool walk_is_at_end(const struct walk *walk, const struct walk_place *place) {
    return place->is_done || place->lsn >= place->end_lsn ||
           (walk->end == WALK_TO_POSITION && place->file->key == walk->end_ordinal &&
            place->lsn >= walk->end_lsn);
}

/* One segment, from `place` on. */
static pawl_status walk_through(struct walk *walk, struct walk_place *place, pawl_error *error) {
    pawl_status status = PAWL_OK;
    while (status == PAWL_OK && !walk_is_at_end(walk, place))
        status = walk_step(walk, place, error);
    walk->lsn = place->lsn;
    walk->last_first_lsn = place->first_lsn;
    walk->last_ordinal = place->file->ordinal;
    walk->last_key = place->file->key;
    return status;
}

static pawl_status walk_segment_in(struct walk *walk, size_t position, struct window *window,
                                   pawl_error *error) {
    const struct walk_piece *piece = &walk->line[position];
    struct look_file *file = &walk->files[piece->file];
    const bool is_last = position + 1 == walk->line_count;
    struct walk_place place = {
        .window = window,
        .file = file,
        .first_lsn = piece->first_lsn,
        .end_lsn = piece->end_lsn,
        .lsn = piece->first_lsn + (piece->from_offset - SEGMENT_DATA_AT),
        .offset = piece->from_offset,
        .is_last = is_last,
        .is_open = piece->end_lsn == CHAIN_END_OPEN && (!is_last || walk->end == WALK_TO_LAST),
    };
    const pawl_status status = walk_through(walk, &place, error);
    if (!place.is_unread)
        return status;
    file->is_unreadable = true;
    return walk_tell_failure(walk, file->ordinal, place.offset, place.lsn, status, &place.failure,
                             error);
}

static pawl_status walk_segment(struct walk *walk, size_t position, pawl_error *error) {
    const struct walk_piece *piece = &walk->line[position];
    struct look_file *file = &walk->files[piece->file];
    struct window window;
    pawl_error failure = {0};
    if (piece->first_lsn == 0) /* nothing whole is in it */
        return PAWL_OK;
    pawl_status status =
        look_open(walk->os, walk->dir, file->ordinal, OS_OPEN_READ, &window, &failure);
    if (status == PAWL_NOT_FOUND)
        return walk_tell(walk, WALK_DAMAGE, file->ordinal, 0, piece->first_lsn, error,
                         "the segment has just been removed");
    if (status != PAWL_OK) {
        file->is_unreadable = true;
        return walk_tell_failure(walk, file->ordinal, 0, piece->first_lsn, status, &failure, error);
    }
    status = walk_segment_in(walk, position, &window, error);
    look_close(&window);
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
static pawl_status walk_successor(struct walk *walk, struct look_file *ret_file,
                                  pawl_error *error) {
    for (uint64_t ordinal = walk->last_key + 1; ordinal <= walk->last_key + FOLLOW_ORDINALS;
         ordinal++) {
        struct look_file file = {.ordinal = ordinal};
        const pawl_status status = walk_look(walk, &file, error);
        if (status != PAWL_OK && status != PAWL_NOT_FOUND && status != PAWL_DAMAGED)
            return status;
        if (file.start_verdict != CHAIN_START_WHOLE || file.start.predecessor != walk->last_key)
            continue;
        *ret_file = file;
        return PAWL_OK;
    }
    return PAWL_EMPTY;
}

static pawl_status walk_follow_in(struct walk *walk, const struct look_file *file,
                                  uint64_t first_lsn, uint64_t lsn, pawl_error *error) {
    struct window window;
    const pawl_status found =
        look_open(walk->os, walk->dir, file->ordinal, OS_OPEN_READ, &window, error);
    if (found == PAWL_NOT_FOUND)
        return error_as(error, PAWL_DAMAGED); /* it is in the log, and was there before */
    TRY(found);
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
    look_close(&window);
    return status;
}

pawl_status walk_follow(struct walk *walk, pawl_error *error) {
    if (walk->last_first_lsn == 0)
        return PAWL_OK;
    walk->end = WALK_TO_FLUX;
    walk->end_lsn = 0;
    const struct look_file file = {.ordinal = walk->last_ordinal, .key = walk->last_key};
    TRY(walk_follow_in(walk, &file, walk->last_first_lsn, walk->lsn, error));
    for (;;) {
        struct look_file next;
        const pawl_status status = walk_successor(walk, &next, error);
        if (status == PAWL_EMPTY)
            return PAWL_OK;
        TRY(status);
        /* What the last one holds may have grown between the two looks. */
        const uint64_t end_lsn = next.start.end_lsn;
        if (end_lsn > walk->lsn) {
            const struct look_file last = {.ordinal = walk->last_ordinal, .key = walk->last_key};
            TRY(walk_follow_in(walk, &last, walk->last_first_lsn, walk->lsn, error));
        }
        if (end_lsn != walk->lsn)
            TRY(walk_tell(walk, WALK_NOTE, next.ordinal, SEGMENT_DATA_AT, end_lsn, error,
                          "the log was cut at %llu, before what has been shown of it",
                          (unsigned long long)end_lsn));
        TRY(walk_follow_in(walk, &next, end_lsn, end_lsn, error));
    }
}

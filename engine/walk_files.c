/* walk_files(): which files a log has, what is wrong with each as a whole, and their order. */
#include "walk.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- The names ---- */

struct walk_listing {
    struct walk *walk;
    pawl_status status; /* of a visitor */
    pawl_error *error;
};

static int walk_stranger(void *context, const char *name) {
    struct walk_listing *listing = context;
    struct walk *walk = listing->walk;
    struct walk_finding finding = {.kind = WALK_NOTE};
    (void)snprintf(finding.file, sizeof finding.file, "log/%s", name);
    (void)snprintf(finding.what, sizeof finding.what, "not a file of the log");
    if (walk->visitor.finding != NULL)
        listing->status = walk->visitor.finding(walk->visitor.context, &finding, listing->error);
    return listing->status == PAWL_OK ? 0 : ECANCELED;
}

static pawl_status walk_list(struct walk *walk, pawl_error *error) {
    struct walk_listing listing = {.walk = walk, .status = PAWL_OK, .error = error};
    struct look_list list = {.os = walk->os, .stranger = walk_stranger, .context = &listing};
    const int failed = look_list(&list, walk->dir);
    walk->files = list.files;
    walk->count = list.count;
    walk->capacity = list.capacity;
    TRY(listing.status);
    if (failed != 0)
        return error_os(error, failed, "log", 0, "cannot list the segments");
    while (walk->end == WALK_TO_FLUX && walk->count > 0 &&
           walk->files[walk->count - 1].ordinal > walk->end_ordinal)
        walk->count--;
    if (walk->count == 0)
        return PAWL_OK;
    walk->line = os_allocate(walk->os, walk->capacity * sizeof *walk->line);
    if (walk->line == NULL)
        return error_set(error, PAWL_NO_MEMORY, "no memory for the list of segments");
    return PAWL_OK;
}

/* ---- Each file as a whole ---- */

static pawl_status walk_look_inside(struct walk *walk, struct look_file *file, pawl_error *error) {
    struct window window;
    TRY(look_open(walk->os, walk->dir, file->ordinal, OS_OPEN_READ, &window, error));
    const pawl_status status = look_inside(&window, walk->identity, file, error);
    look_close(&window);
    return status;
}

pawl_status walk_look(struct walk *walk, struct look_file *file, pawl_error *error) {
    const pawl_status status = walk_look_inside(walk, file, error);
    if (status != PAWL_OK) {
        file->key = file->ordinal;
        file->start_verdict = CHAIN_START_NONE;
    }
    return status;
}

static pawl_status walk_look_and_tell(struct walk *walk, struct look_file *file,
                                      pawl_error *error) {
    pawl_error failure = {0};
    const pawl_status status = walk_look(walk, file, &failure);
    file->is_gone = status == PAWL_NOT_FOUND;
    if (status == PAWL_OK || file->is_gone)
        return PAWL_OK;
    file->is_unreadable = true;
    return walk_tell_failure(walk, file->ordinal, 0, 0, status, &failure, error);
}

static pawl_status walk_judge_file(struct walk *walk, const struct look_file *file,
                                   pawl_error *error) {
    const char *sentence = recovery_file_row_sentence(file->row);
    switch (file->row) {
    case RECOVERY_FILE_SEGMENT:
    case RECOVERY_FILE_UNFINISHED: return PAWL_OK;
    case RECOVERY_FILE_RENAMED:
        return walk_tell(walk, WALK_DAMAGE, file->ordinal, 0, 0, error, "%s (%llu)", sentence,
                         (unsigned long long)file->key);
    case RECOVERY_FILE_NEWER: {
        char name[SEGMENT_NAME_BYTES];
        segment_name(file->ordinal, name);
        (void)error_set(error, PAWL_VERSION, "segment %s: %s", name, sentence);
        return error_at(error, PAWL_VERSION, name, 0, 0);
    }
    case RECOVERY_FILE_HEADER:
    case RECOVERY_FILE_FOREIGN:
    case RECOVERY_FILE_ROW_COUNT: break;
    }
    return walk_tell(walk, WALK_DAMAGE, file->ordinal, 0, 0, error, "%s", sentence);
}

static bool walk_was_read(const struct look_file *file) {
    return !file->is_gone && !file->is_unreadable;
}

/* From the newest down, so that it is known of each whether a later one has begun. */
static pawl_status walk_judge_files(struct walk *walk, pawl_error *error) {
    bool is_followed = false;
    for (size_t i = walk->count; i > 0; i--) {
        struct look_file *file = &walk->files[i - 1];
        if (!walk_was_read(file))
            continue;
        file->row = look_decide(file, is_followed);
        is_followed = is_followed || file->start_verdict == CHAIN_START_WHOLE;
        if (file->verdict == RECOVERY_HEADER_OURS)
            walk_prove(walk, file->header.durable_lsn);
        if (file->start_verdict == CHAIN_START_WHOLE)
            walk_prove(walk, file->start_header.durable_lsn);
    }
    for (size_t i = 0; i < walk->count; i++) {
        if (walk_was_read(&walk->files[i]))
            TRY(walk_judge_file(walk, &walk->files[i], error));
    }
    return PAWL_OK;
}

/* ---- The line ---- */

/* Another store's file, or one that can't be read, has been told of and holds nothing. */
static bool walk_is_void(const struct look_file *file) {
    return file->is_unreadable || (!file->is_gone && (file->row == RECOVERY_FILE_FOREIGN ||
                                                      file->row == RECOVERY_FILE_NEWER));
}

static bool walk_may_be_in_line(const struct walk *walk, size_t at) {
    const struct look_file *file = &walk->files[at];
    if (file->is_gone || walk_is_void(file))
        return false;
    return at == 0 || walk->files[at - 1].key != file->key; /* the first of its ordinal */
}

/* The first file of `key`, or walk->count. */
static size_t walk_index_of(const struct walk *walk, uint64_t key) {
    size_t low = 0, high = walk->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (walk->files[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < walk->count && walk->files[low].key == key ? low : walk->count;
}

/* The same, if it can be in the line. */
static size_t walk_find_candidate(const struct walk *walk, uint64_t key) {
    const size_t at = walk_index_of(walk, key);
    return at < walk->count && walk_may_be_in_line(walk, at) ? at : walk->count;
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

/* Fills in what the whole frames of a segment whose start is lost tell: where it began. */
static pawl_status walk_behead(struct walk *walk, struct walk_piece *piece, pawl_error *error) {
    struct look_file *file = &walk->files[piece->file];
    const struct frame_key key = {walk->identity->secret, file->key};
    struct window window;
    pawl_error failure = {0};
    pawl_status status =
        look_open(walk->os, walk->dir, file->ordinal, OS_OPEN_READ, &window, &failure);
    if (status == PAWL_OK) {
        struct frame_header header;
        uint64_t at = SEGMENT_DATA_AT;
        status = look_next_header(&window, &key, at, &at, &header, &failure);
        look_close(&window);
        if (status == PAWL_OK && header.lsn > at - SEGMENT_DATA_AT) {
            /* The header of the start itself may be whole. */
            const size_t start_bytes =
                at == SEGMENT_DATA_AT ? frame_header_frame_bytes(&header) : 0;
            piece->first_lsn = header.lsn - (at - SEGMENT_DATA_AT);
            piece->from_offset = at + start_bytes;
        }
    }
    if (status == PAWL_OK || status == PAWL_EMPTY || status == PAWL_NOT_FOUND)
        return PAWL_OK;
    file->is_unreadable = true;
    return walk_tell_failure(walk, file->ordinal, SEGMENT_DATA_AT, 0, status, &failure, error);
}

static pawl_status walk_push(struct walk *walk, size_t at, uint64_t end_lsn, pawl_error *error) {
    const struct look_file *file = &walk->files[at];
    struct walk_piece piece = {.file = at, .end_lsn = end_lsn};
    if (file->start_verdict == CHAIN_START_WHOLE) {
        piece.first_lsn = file->start_header.lsn;
        piece.from_offset = SEGMENT_DATA_AT;
    } else {
        TRY(walk_tell(walk, WALK_DAMAGE, file->ordinal, SEGMENT_DATA_AT, 0, error,
                      "the segment does not begin as it must"));
        TRY(walk_behead(walk, &piece, error));
    }
    walk->line[walk->line_count++] = piece;
    return PAWL_OK;
}

/* The last segment of the line, or walk->count. */
static size_t walk_head(struct walk *walk) {
    size_t at = walk->count;
    do {
        at = walk_begun_before(walk, at);
    } while (at < walk->count && walk->end == WALK_TO_POSITION &&
             walk->files[at].key > walk->end_ordinal);
    const uint64_t key = at < walk->count ? walk->files[at].key : 0;
    for (size_t i = walk->count; i > 0 && walk->files[i - 1].key > key; i--) {
        const struct look_file *file = &walk->files[i - 1];
        if (walk_is_void(file) &&
            (walk->end != WALK_TO_POSITION || file->key <= walk->end_ordinal)) {
            walk->end = WALK_TO_LAST; /* the end may be in a file of which nothing is known */
            walk->end_ordinal = 0;
        }
    }
    if (walk->end != WALK_TO_LAST)
        return at;
    if (walk->end_ordinal > key) { /* it has lost its start */
        const size_t end = walk_find_candidate(walk, walk->end_ordinal);
        if (end < walk->count && walk->files[end].start_verdict != CHAIN_START_WHOLE)
            return end;
    }
    if (at == walk->count && walk->count > 0)
        at = walk_find_candidate(walk, walk->files[0].key); /* none begins as it must */
    return at;
}

/* What a segment that has begun names as its predecessor, when that can be it; else walk->count. */
static size_t walk_before(const struct walk *walk, size_t at) {
    const struct look_file *file = &walk->files[at];
    const size_t before = walk_find_candidate(walk, file->start.predecessor);
    if (before >= at)
        return walk->count;
    const struct look_file *other = &walk->files[before];
    const bool is_later =
        other->start_verdict == CHAIN_START_WHOLE && other->start.end_lsn >= file->start.end_lsn;
    return is_later ? walk->count : before;
}

static pawl_status walk_tell_missing(struct walk *walk, const struct look_file *successor,
                                     pawl_error *error) {
    const uint64_t ordinal = successor->start.predecessor;
    const size_t at = walk_index_of(walk, ordinal);
    if (at < walk->count && walk_is_void(&walk->files[at]))
        return PAWL_OK; /* told of */
    return walk_tell(walk, WALK_DAMAGE, ordinal, 0, successor->start.end_lsn, error,
                     "a segment that was in use is missing; its successor is %llu",
                     (unsigned long long)successor->ordinal);
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

/* From the newest segment that has begun backwards by what each names as its predecessor. Where
 * that can't be followed, the nearest one that has begun is next. */
static pawl_status walk_line(struct walk *walk, pawl_error *error) {
    uint64_t end_lsn = CHAIN_END_OPEN;
    walk->line_count = 0;
    for (size_t at = walk_head(walk); at < walk->count;) {
        const struct look_file *file = &walk->files[at];
        TRY(walk_push(walk, at, end_lsn, error));
        if (file->start_verdict != CHAIN_START_WHOLE) {
            const uint64_t first_lsn = walk->line[walk->line_count - 1].first_lsn;
            at = walk_begun_before(walk, at);
            const bool fits =
                first_lsn != 0 && at < walk->count && walk->files[at].start.end_lsn < first_lsn;
            end_lsn = fits ? first_lsn : CHAIN_END_OPEN;
            continue;
        }
        if (file->start.predecessor == 0)
            break;
        const size_t before = walk_before(walk, at);
        end_lsn = before < walk->count ? file->start.end_lsn : CHAIN_END_OPEN;
        if (before == walk->count)
            TRY(walk_tell_missing(walk, file, error));
        at = before < walk->count ? before : walk_begun_before(walk, at);
    }
    walk_turn_line(walk);
    return PAWL_OK;
}

pawl_status walk_files(struct walk *walk, pawl_error *error) {
    TRY(walk_list(walk, error));
    for (size_t i = 0; i < walk->count; i++)
        TRY(walk_look_and_tell(walk, &walk->files[i], error));
    look_sort(walk->files, walk->count);
    TRY(walk_judge_files(walk, error));
    return walk_line(walk, error);
}

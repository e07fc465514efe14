#include "look.h"

#include "bytes.h"

#include <errno.h>
#include <string.h>

enum {
    FILES_FIRST = 16,
    BLOCK_BYTES = 32 * 1024,  /* read at once when only zeros are looked for */
    STRIDE_BYTES = 64 * 1024, /* after so many bytes it is asked again whether a hole follows */
};

/* ---- The names ---- */

void look_list_free(struct look_list *list) {
    os_release(list->os, list->files, list->capacity * sizeof *list->files);
    list->files = NULL;
    list->count = list->capacity = 0;
}

static int look_grow(struct look_list *list) {
    const size_t capacity = list->capacity == 0 ? FILES_FIRST : list->capacity * 2;
    struct look_file *files = os_allocate(list->os, capacity * sizeof *files);
    if (files == NULL)
        return ENOMEM;
    if (list->count > 0)
        memcpy(files, list->files, list->count * sizeof *files);
    os_release(list->os, list->files, list->capacity * sizeof *files);
    list->files = files;
    list->capacity = capacity;
    return 0;
}

static int look_visit(void *context, const char *name) {
    struct look_list *list = context;
    uint64_t ordinal;
    if (!segment_parse_name(name, &ordinal))
        return segment_is_reserve_name(name) ? 0 : list->stranger(list->context, name);
    if (list->count == list->capacity && look_grow(list) != 0)
        return ENOMEM;
    list->files[list->count++] = (struct look_file){
        .ordinal = ordinal,
        .key = ordinal,
        .start_verdict = CHAIN_START_NONE,
    };
    return 0;
}

int look_list(struct look_list *list, struct os_dir *dir) {
    const int failed = os_dir_list(list->os, dir, look_visit, list);
    if (failed == 0)
        look_sort(list->files, list->count);
    return failed;
}

static bool look_is_before(const struct look_file *a, const struct look_file *b) {
    if (a->key != b->key)
        return a->key < b->key;
    if ((a->ordinal == a->key) != (b->ordinal == b->key))
        return a->ordinal == a->key;
    return a->ordinal < b->ordinal;
}

/* Shell's sort: a directory has its names in no order, and there may be tens of thousands. */
void look_sort(struct look_file *files, size_t count) {
    size_t gap = 1;
    while (gap < count / 3)
        gap = gap * 3 + 1;
    for (; gap > 0; gap /= 3) {
        for (size_t i = gap; i < count; i++) {
            const struct look_file moved = files[i];
            size_t at = i;
            for (; at >= gap && look_is_before(&moved, &files[at - gap]); at -= gap)
                files[at] = files[at - gap];
            files[at] = moved;
        }
    }
}

/* ---- One file ---- */

pawl_status look_open(struct os *os, struct os_dir *dir, uint64_t ordinal, unsigned how,
                      struct window *ret_window, pawl_error *error) {
    char name[SEGMENT_NAME_BYTES];
    segment_name(ordinal, name);
    struct os_file *file;
    const int failed = os_file_open(os, dir, name, how, &file);
    if (failed == ENOENT)
        return error_at(error, error_set(error, PAWL_NOT_FOUND, "segment %s is missing", name),
                        name, 0, 0);
    if (failed == EINVAL || failed == ELOOP)
        return error_at(error, error_set(error, PAWL_DAMAGED, "%s is not a regular file", name),
                        name, 0, 0);
    if (failed != 0)
        return error_os(error, failed, name, 0, "cannot open segment %s", name);
    window_init(ret_window, os, file, name);
    return PAWL_OK;
}

void look_close(struct window *window) {
    struct os *os = window->os;
    struct os_file *file = window->file;
    window_deinit(window);
    (void)os_file_close(os, file); /* nothing was written through it */
}

static enum recovery_header look_verdict(enum segment_verdict verdict) {
    switch (verdict) {
    case SEGMENT_OURS: return RECOVERY_HEADER_OURS;
    case SEGMENT_ABSENT: return RECOVERY_HEADER_ABSENT;
    case SEGMENT_WRONG: return RECOVERY_HEADER_WRONG;
    case SEGMENT_FOREIGN: return RECOVERY_HEADER_FOREIGN;
    case SEGMENT_NEWER: return RECOVERY_HEADER_NEWER;
    }
    return RECOVERY_HEADER_WRONG;
}

pawl_status look_inside(struct window *window, const struct identity *identity,
                        struct look_file *file, pawl_error *error) {
    const uint8_t *bytes;
    size_t count;
    TRY(window_get(window, 0, SEGMENT_DATA_AT, &bytes, &count, error));
    file->verdict = look_verdict(
        segment_read_header(bytes, count, identity->uuid, identity->secret, &file->header));
    file->key = file->ordinal;
    file->has_content = false;
    if (file->verdict == RECOVERY_HEADER_OURS) {
        file->key = file->header.ordinal;
    } else {
        uint64_t end;
        TRY(look_last_byte(window, SEGMENT_DATA_AT, &end, error));
        file->has_content = end > 0;
    }
    TRY(chain_read_start(window->os, window->file, file->key, identity->secret,
                         &file->start_verdict, &file->start_header, &file->start, error));
    struct os_stat stat = {0};
    const int failed = os_file_stat(window->os, window->file, &stat);
    if (failed != 0)
        return error_os(error, failed, window->name, 0, "cannot look at segment %s", window->name);
    file->bytes = stat.bytes;
    return PAWL_OK;
}

enum recovery_file_row look_decide(const struct look_file *file, bool is_followed) {
    const struct recovery_file_facts facts = {
        .header = file->verdict,
        .is_named_right = file->key == file->ordinal,
        .has_content = file->has_content,
        .is_followed = is_followed,
    };
    return recovery_decide_file(&facts);
}

/* ---- What is behind a place ---- */

/* Goes on to where the file has something, if `offset` lies in a hole, and keeps to steps of
 * FRAME_ALIGNMENT. PAWL_EMPTY: nothing but a hole is behind it. */
static pawl_status look_past_hole(struct window *window, uint64_t *offset, pawl_error *error) {
    uint64_t found = 0;
    const int failed = os_file_find_data(window->os, window->file, *offset, &found);
    if (failed == ENOENT)
        return PAWL_EMPTY;
    if (failed != 0)
        return error_os(error, failed, window->name, *offset, "cannot read %s", window->name);
    if (found > *offset)
        *offset += (found - *offset) / FRAME_ALIGNMENT * FRAME_ALIGNMENT;
    return PAWL_OK;
}

pawl_status look_last_byte(struct window *window, uint64_t offset, uint64_t *ret_end,
                           pawl_error *error) {
    uint64_t end = 0;
    for (;;) {
        const uint8_t *bytes;
        size_t count = 0;
        const pawl_status status = look_past_hole(window, &offset, error);
        if (status == PAWL_OK)
            TRY(window_get(window, offset, BLOCK_BYTES, &bytes, &count, error));
        else if (status != PAWL_EMPTY)
            return status;
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

pawl_status look_next_header(struct window *window, const struct frame_key *key, uint64_t offset,
                             uint64_t *ret_offset, struct frame_header *ret_header,
                             pawl_error *error) {
    uint64_t ask_at = offset;
    for (uint64_t at = offset;; at += FRAME_ALIGNMENT) {
        const uint8_t *bytes;
        size_t count;
        if (at >= ask_at) {
            TRY(look_past_hole(window, &at, error));
            ask_at = at + STRIDE_BYTES;
        }
        TRY(window_get(window, at, FRAME_HEADER_BYTES, &bytes, &count, error));
        if (count < FRAME_HEADER_BYTES)
            return PAWL_EMPTY;
        if (frame_looks_like_header(bytes) &&
            frame_read_header(bytes, key, ret_header) == FRAME_WHOLE) {
            *ret_offset = at;
            return PAWL_OK;
        }
    }
}

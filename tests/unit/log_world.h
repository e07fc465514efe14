/* Shared by the tests of the log: an os and a directory for each test, removed at the end; frames
 * that carry a number, appended and read back; images of a store's files, to damage and put back.
 *
 * An image taken while the store is open is what the death of its process leaves.
 */
#ifndef PAWL_TESTS_LOG_WORLD_H
#define PAWL_TESTS_LOG_WORLD_H

#include <criterion/criterion.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bytes.h"
#include "footer.h"
#include "frame.h"
#include "identity.h"
#include "log.h"
#include "os_posix.h"
#include "record.h"
#include "segment.h"

enum {
    SMALL_SEGMENT = SEGMENT_BYTES_MIN,
    LARGE_SEGMENT = 64 * 1024,
    NUMBER_RECORD = RECORD_FIRST_OF_STATE,
    NUMBER_METADATA = 11,
    IMAGE_FILES = 64,
};

static struct os *os;
static char root[512];
static char store[600]; /* the store's path */

/* "first/second", or "firstsecond" without a separator. */
static inline void join(char *path, size_t room, const char *first, const char *separator,
                        const char *second) {
    const int bytes = snprintf(path, room, "%s%s%s", first, separator, second);
    cr_assert(bytes > 0 && (size_t)bytes < room, "%s is too long", second);
}

static inline void remove_tree(const char *path) {
    DIR *all = opendir(path);
    if (all != NULL) {
        for (const struct dirent *entry; (entry = readdir(all)) != NULL;) {
            char below[2048];
            if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                continue;
            join(below, sizeof below, path, "/", entry->d_name);
            remove_tree(below);
        }
        (void)closedir(all);
    }
    (void)remove(path); /* it may not be there */
}

static inline void set_up(void) {
    const char *base = getenv("TMPDIR");
    (void)snprintf(root, sizeof root, "%s/pawl-log-XXXXXX", base == NULL ? "/tmp" : base);
    cr_assert(mkdtemp(root) != NULL);
    join(store, sizeof store, root, "/", "store");
    cr_assert_eq(os_posix_create(&os), 0);
}

static inline void tear_down(void) {
    os_posix_destroy(os);
    remove_tree(root);
}

/* Handles. */

static inline struct log_options options_of(uint64_t segment_bytes) {
    return (struct log_options){
        .segment_bytes = segment_bytes,
        .busy_ns = 60U * 1000 * 1000 * 1000,
        .create = true,
    };
}

static inline pawl_status try_open(const struct log_options *options, struct log **ret_log,
                                   struct log_opening *ret_opening, pawl_error *error) {
    return log_open(os, store, options, ret_log, ret_opening, error);
}

static inline struct log *must_open_with(const struct log_options *options,
                                         struct log_opening *ret_opening) {
    struct log *log = NULL;
    pawl_error error = {0};
    const pawl_status status = try_open(options, &log, ret_opening, &error);
    cr_assert_eq(status, PAWL_OK, "%s", error.sentence);
    return log;
}

static inline struct log *must_open_log(uint64_t segment_bytes) {
    const struct log_options options = options_of(segment_bytes);
    struct log_opening opening;
    return must_open_with(&options, &opening);
}

static inline void must_close(struct log *log) {
    cr_assert_eq(log_close(log, NULL), PAWL_OK);
}

/* Frames. */

struct place {
    uint64_t lsn, end_lsn;
};

/* Every payload byte tells its number and its place; none of them is zero. */
static inline uint8_t payload_byte(uint64_t number, uint64_t at) {
    return (uint8_t)((number * 7 + at * 13 + at / 256) % 255 + 1);
}

static inline pawl_status try_append(struct log *log, uint64_t number, uint32_t payload_bytes,
                                     uint16_t flags, uint64_t deadline, struct place *ret_place,
                                     pawl_error *error) {
    uint8_t body[8], metadata[NUMBER_METADATA];
    uint8_t *payload = malloc(payload_bytes + 1U);
    cr_assert_not_null(payload);
    for (uint32_t at = 0; at < payload_bytes; at++)
        payload[at] = payload_byte(number, at);
    bytes_store_u64(body, number);
    struct writer writer = writer_over(metadata, sizeof metadata);
    record_write(&writer, NUMBER_RECORD, 0, body, sizeof body);
    const struct log_draft draft = {
        .metadata = metadata,
        .metadata_bytes = (uint32_t)writer_used(&writer),
        .payload = payload,
        .payload_bytes = payload_bytes,
        .record_count = 1,
        .flags = flags,
        .time_us = number,
    };
    pawl_status status = log_lock(log, frame_bytes(draft.metadata_bytes, payload_bytes),
                                  LOG_ORDINARY, deadline, error);
    if (status == PAWL_OK) {
        status = log_append(log, &draft, &ret_place->lsn, &ret_place->end_lsn, error);
        log_unlock(log);
    }
    free(payload);
    return status;
}

static inline struct place must_append(struct log *log, uint64_t number, uint32_t payload_bytes) {
    struct place place = {0};
    pawl_error error = {0};
    const pawl_status status =
        try_append(log, number, payload_bytes, FRAME_NEEDS_SYNC, OS_NO_DEADLINE, &place, &error);
    cr_assert_eq(status, PAWL_OK, "%s", error.sentence);
    return place;
}

static inline struct place must_append_durably(struct log *log, uint64_t number,
                                               uint32_t payload_bytes) {
    const struct place place = must_append(log, number, payload_bytes);
    cr_assert_eq(log_wait_durable(log, place.end_lsn, OS_NO_DEADLINE, NULL), PAWL_OK);
    return place;
}

static inline bool is_number(const struct log_view *view) {
    return (view->header.flags & (FRAME_SEGMENT_START | FRAME_FOOTER | FRAME_MARK)) == 0;
}

static inline uint64_t number_of(const struct log_view *view) {
    struct reader reader = reader_over(view->metadata, view->header.metadata_bytes);
    struct record record;
    cr_assert_eq(record_next(&reader, &record), PAWL_OK);
    cr_assert_eq(record.kind, NUMBER_RECORD);
    cr_assert_eq(record.bytes, 8);
    return bytes_load_u64(record.body);
}

/* The next frame with a number, its payload checked. PAWL_EMPTY at the end. */
static inline pawl_status read_number(struct log_reader *reader, uint64_t *ret_number,
                                      pawl_error *error) {
    struct log_view view;
    const uint8_t *payload;
    do {
        TRY(log_reader_next(reader, LOG_TO_TAIL, &view, error));
        TRY(log_reader_payload(reader, &view, &payload, error));
    } while (!is_number(&view));
    for (uint32_t at = 0; at < view.header.payload_bytes; at++)
        cr_assert_eq(payload[at], payload_byte(view.header.time_us, at));
    *ret_number = number_of(&view);
    cr_assert_eq(*ret_number, view.header.time_us);
    return PAWL_OK;
}

/* Reads from the log's beginning; the numbers must be 1, 2, 3 and so on. Returns why it ended. */
static inline pawl_status read_all(struct log *log, uint64_t *ret_count, pawl_error *error) {
    struct log_reader *reader = NULL;
    uint64_t number = 0, count = 0;
    cr_assert_eq(log_reader_open(log, log_first(log), &reader, NULL), PAWL_OK);
    pawl_status status;
    while ((status = read_number(reader, &number, error)) == PAWL_OK)
        cr_assert_eq(number, ++count);
    log_reader_close(reader);
    *ret_count = count;
    return status;
}

static inline void must_read_all(struct log *log, uint64_t expected) {
    uint64_t count = 0;
    pawl_error error = {0};
    cr_assert_eq(read_all(log, &count, &error), PAWL_EMPTY, "%s", error.sentence);
    cr_assert_eq(count, expected, "%llu frames", (unsigned long long)count);
}

/* Images. */

struct image_file {
    char name[64]; /* below the store's directory */
    uint8_t *bytes;
    size_t count;
};

struct image {
    struct image_file files[IMAGE_FILES];
    size_t count;
};

static inline void image_set(struct image *image, const char *name, const void *bytes,
                             size_t count) {
    cr_assert_lt(image->count, IMAGE_FILES);
    struct image_file *file = &image->files[image->count++];
    join(file->name, sizeof file->name, name, "", "");
    file->bytes = malloc(count + 1);
    cr_assert_not_null(file->bytes);
    if (count > 0)
        memcpy(file->bytes, bytes, count);
    file->count = count;
}

static inline void image_take_file(struct image *image, const char *below, const char *name) {
    char path[1024], full_name[64];
    join(full_name, sizeof full_name, below, "", name);
    join(path, sizeof path, store, "/", full_name);
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    cr_assert_eq(fseek(file, 0, SEEK_END), 0);
    const long bytes = ftell(file);
    cr_assert_geq(bytes, 0);
    rewind(file);
    uint8_t *content = malloc((size_t)bytes + 1);
    cr_assert_not_null(content);
    cr_assert_eq(fread(content, 1, (size_t)bytes, file), (size_t)bytes);
    (void)fclose(file);
    image_set(image, full_name, content, (size_t)bytes);
    free(content);
}

static inline void image_take_all(struct image *image, const char *below) {
    char path[1024];
    join(path, sizeof path, store, "/", below);
    DIR *all = opendir(path);
    cr_assert_not_null(all, "%s", path);
    for (const struct dirent *entry; (entry = readdir(all)) != NULL;) {
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, "log") != 0)
            image_take_file(image, below, entry->d_name);
    }
    (void)closedir(all);
}

/* The files of the store as they are now. */
static inline void image_take(struct image *image) {
    image->count = 0;
    image_take_all(image, "");
    image_take_all(image, "log/");
}

static inline void image_drop(struct image *image) {
    for (size_t i = 0; i < image->count; i++)
        free(image->files[i].bytes);
    image->count = 0;
}

/* Makes the store's directory what the image says, and nothing else. */
static inline void image_put(const struct image *image) {
    char path[1024];
    remove_tree(store);
    cr_assert_eq(mkdir(store, 0700), 0);
    join(path, sizeof path, store, "/", "log");
    cr_assert_eq(mkdir(path, 0700), 0);
    for (size_t i = 0; i < image->count; i++) {
        join(path, sizeof path, store, "/", image->files[i].name);
        FILE *file = fopen(path, "wb");
        cr_assert_not_null(file, "%s", path);
        const size_t count = image->files[i].count;
        cr_assert_eq(fwrite(image->files[i].bytes, 1, count, file), count);
        cr_assert_eq(fclose(file), 0);
    }
}

static inline struct image_file *image_find(struct image *image, const char *name) {
    for (size_t i = 0; i < image->count; i++) {
        if (strcmp(image->files[i].name, name) == 0)
            return &image->files[i];
    }
    return NULL;
}

static inline struct image_file *image_segment(struct image *image, uint64_t ordinal) {
    char name[64], bare[SEGMENT_NAME_BYTES];
    segment_name(ordinal, bare);
    join(name, sizeof name, "log/", "", bare);
    struct image_file *file = image_find(image, name);
    cr_assert_not_null(file, "%s", name);
    return file;
}

static inline void image_remove(struct image *image, const struct image_file *file) {
    struct image_file *last = &image->files[--image->count];
    free(file->bytes);
    image->files[file - image->files] = *last;
}

static inline void image_rename(struct image_file *file, uint64_t ordinal) {
    char bare[SEGMENT_NAME_BYTES];
    segment_name(ordinal, bare);
    join(file->name, sizeof file->name, "log/", "", bare);
}

/* The highest ordinal of the image in which a frame stands. */
static inline uint64_t image_newest_used(struct image *image) {
    uint64_t newest = 0, ordinal;
    for (size_t i = 0; i < image->count; i++) {
        const struct image_file *file = &image->files[i];
        if (strncmp(file->name, "log/", 4) == 0 && segment_parse_name(file->name + 4, &ordinal) &&
            ordinal > newest && file->count > SEGMENT_DATA_AT &&
            !bytes_are_zero(file->bytes + SEGMENT_DATA_AT, FRAME_HEADER_BYTES))
            newest = ordinal;
    }
    return newest;
}

/* Where a position lies in its segment's file; the segment's first LSN is read from its start. */
static inline size_t image_offset(const struct image_file *segment, uint64_t lsn) {
    const uint64_t first_lsn = bytes_load_u64(segment->bytes + SEGMENT_DATA_AT);
    cr_assert_geq(lsn, first_lsn);
    cr_assert_lt(lsn - first_lsn, segment->count - SEGMENT_DATA_AT);
    return (size_t)(SEGMENT_DATA_AT + lsn - first_lsn);
}

static inline struct identity image_identity(struct image *image) {
    struct identity identity = {.incarnation = 1};
    const struct image_file *file = image_find(image, IDENTITY_NAME);
    cr_assert_not_null(file);
    memcpy(identity.uuid, file->bytes + 16, sizeof identity.uuid);
    identity.secret = bytes_load_u64(file->bytes + 32);
    return identity;
}

#endif

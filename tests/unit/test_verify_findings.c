/* What verify tells of one cause: one finding, at its place, and all else is shown. */
#include "verify_world.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Calls `damage` with a fresh copy of the whole image, for every frame of every segment. */
static void for_each_frame(void (*damage)(size_t file, size_t offset,
                                          const struct frame_header *header)) {
    const uint64_t secret = image_identity(&whole).secret;
    for (size_t i = 0; i < whole.count; i++) {
        const struct image_file *file = &whole.files[i];
        struct frame_header header;
        struct frame_key key = {.secret = secret};
        if (!is_segment(file) || !segment_parse_name(file->name + 4, &key.ordinal))
            continue;
        for (size_t at = SEGMENT_DATA_AT;
             at + FRAME_HEADER_BYTES <= file->count &&
             frame_read_header(file->bytes + at, &key, &header) == FRAME_WHOLE;
             at += frame_header_frame_bytes(&header)) {
            image_copy(&changed, &whole);
            damage(i, at, &header);
        }
    }
}

static void must_find_one(size_t file, size_t offset) {
    image_put(&changed);
    const struct seen seen = look();
    const char *name = whole.files[file].name;
    uint64_t ordinal = 0;
    cr_assert(segment_parse_name(name + 4, &ordinal));
    cr_assert_eq(seen.report.found[WALK_DAMAGE], 1, "%s %zu: %llu findings", name, offset,
                 (unsigned long long)seen.report.found[WALK_DAMAGE]);
    cr_assert_eq(seen.ordinal, ordinal, "%s %zu: told of %s", name, offset, seen.file);
    cr_assert_eq(seen.offset, offset, "%s %zu: told of %llu", name, offset,
                 (unsigned long long)seen.offset);
}

static uint64_t frames_of_whole;

static void flip_header(size_t file, size_t offset, const struct frame_header *header) {
    (void)header;
    changed.files[file].bytes[offset + 20] ^= 1;
    must_find_one(file, offset);
    cr_assert_eq(look().visited, frames_of_whole - 1, "all others are shown");
}

static void flip_metadata(size_t file, size_t offset, const struct frame_header *header) {
    if (header->metadata_bytes == 0)
        return;
    changed.files[file].bytes[offset + FRAME_HEADER_BYTES] ^= 1;
    must_find_one(file, offset);
}

static void lose_frame(size_t file, size_t offset, const struct frame_header *header) {
    memset(changed.files[file].bytes + offset, 0, frame_header_frame_bytes(header));
    must_find_one(file, offset);
}

Test(verify_findings, tells_one_cause_once, .init = set_up_in_memory, .fini = tear_down_images) {
    take_store(true);
    frames_of_whole = look().visited;
    for_each_frame(flip_header);
    for_each_frame(flip_metadata);
}

/* But for the last one: without it the log ends sooner, and nothing proves it. */
static void lose_frame_but_the_last(size_t file, size_t offset, const struct frame_header *header) {
    if ((header->flags & FRAME_CLOSE) == 0)
        lose_frame(file, offset, header);
}

Test(verify_findings, tells_a_lost_frame_once, .init = set_up_in_memory, .fini = tear_down_images) {
    take_store(true);
    for_each_frame(lose_frame_but_the_last);
}

Test(verify_findings, tells_a_missing_segment_once, .init = set_up_in_memory,
     .fini = tear_down_images) {
    take_store(true);
    const uint64_t newest = image_newest_used(&whole);
    cr_assert_gt(newest, 3);
    for (uint64_t ordinal = 1; ordinal <= newest; ordinal++) {
        image_copy(&changed, &whole);
        image_remove(&changed, image_segment(&changed, ordinal));
        image_put(&changed);
        const struct seen seen = look();
        cr_assert_eq(seen.report.found[WALK_DAMAGE], 1, "%llu", (unsigned long long)ordinal);
        cr_assert_eq(seen.ordinal, ordinal);
    }
}

/* What stands behind a lost start tells where the segment before it ended. */
Test(verify_findings, tells_causes_that_stand_side_by_side, .init = set_up_in_memory,
     .fini = tear_down_images) {
    take_store(true);
    struct image_file *before = image_segment(&whole, 4);
    struct image_file *behind = image_segment(&whole, 5);
    const uint64_t end_lsn = bytes_load_u64(behind->bytes + SEGMENT_DATA_AT);
    const size_t footer_bytes = frame_bytes(FOOTER_METADATA_BYTES, 0);
    before->bytes[image_offset(before, end_lsn - footer_bytes) + 20] ^= 1;
    behind->bytes[SEGMENT_DATA_AT + 20] ^= 1;
    image_segment(&whole, 3)->bytes[SEGMENT_DATA_AT + 20] ^= 1; /* an opening looks no further */
    image_put(&whole);
    cr_assert_eq(look().report.found[WALK_DAMAGE], 3);
}

/* What is no regular file, and what the system does not let be read. */

static void segment_path(uint64_t ordinal, char path[1024]) {
    char name[64], bare[SEGMENT_NAME_BYTES];
    segment_name(ordinal, bare);
    join(name, sizeof name, "log/", "", bare);
    join(path, 1024, store, "/", name);
}

static void make_directory(const char *path) {
    cr_assert_eq(mkdir(path, 0700), 0);
}

static void make_pipe(const char *path) {
    cr_assert_eq(mkfifo(path, 0600), 0);
}

static void make_link(const char *path) {
    cr_assert_eq(symlink("0000000001.seg", path), 0);
}

static void make_socket(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int number = socket(AF_UNIX, SOCK_STREAM, 0);
    cr_assert_geq(number, 0);
    cr_assert_lt(strlen(path), sizeof address.sun_path);
    memcpy(address.sun_path, path, strlen(path) + 1);
    cr_assert_eq(bind(number, (const struct sockaddr *)&address, sizeof address), 0);
    (void)close(number);
}

static void (*const specials[])(const char *path) = {make_directory, make_pipe, make_link,
                                                     make_socket};

static uint64_t frames_in(uint64_t ordinal, uint64_t newest) {
    const uint64_t secret = image_identity(&whole).secret;
    const struct image_file *file = image_segment(&whole, ordinal);
    const struct frame_key key = {secret, ordinal};
    struct frame_header header;
    uint64_t count = 0;
    cr_assert_leq(ordinal, newest);
    for (size_t at = SEGMENT_DATA_AT;
         at + FRAME_HEADER_BYTES <= file->count &&
         frame_read_header(file->bytes + at, &key, &header) == FRAME_WHOLE;
         at += frame_header_frame_bytes(&header))
        count++;
    return count;
}

/* The segment's file is lost to the look, and nothing but it. */
static void must_miss_only(const struct seen *before, const struct seen *seen, uint64_t ordinal,
                           enum walk_kind kind, uint64_t newest) {
    cr_assert_eq(seen->status, PAWL_OK);
    cr_assert_eq(seen->report.found[kind], 1, "%llu: %llu findings, the first of %s: %s",
                 (unsigned long long)ordinal, (unsigned long long)seen->report.found[kind],
                 seen->file, seen->what);
    cr_assert_eq(seen->report.found[kind == WALK_DAMAGE ? WALK_UNREAD : WALK_DAMAGE], 0, "%s: %s",
                 seen->file, seen->what);
    cr_assert_eq(seen->kind, kind);
    cr_assert_eq(seen->ordinal, ordinal);
    cr_assert_eq(seen->visited, before->visited - frames_in(ordinal, newest));
}

Test(verify_findings, tells_what_is_no_regular_file_and_goes_on, .init = set_up_in_memory,
     .fini = tear_down_images) {
    char path[1024];
    take_store(true);
    const struct seen before = look();
    const uint64_t newest = image_newest_used(&whole);
    for (size_t i = 0; i < sizeof specials / sizeof specials[0]; i++) {
        for (uint64_t ordinal = 1; ordinal <= newest; ordinal++) {
            image_put(&whole);
            segment_path(ordinal, path);
            cr_assert_eq(remove(path), 0);
            specials[i](path);
            const struct seen seen = look();
            must_miss_only(&before, &seen, ordinal, WALK_DAMAGE, newest);
            cr_assert(strstr(seen.what, "not a regular file") != NULL, "%s", seen.what);
        }
        image_put(&whole);
        segment_path(888, path);
        specials[i](path);
        const struct seen seen = look();
        cr_assert_eq(seen.report.found[WALK_DAMAGE], 1);
        cr_assert_eq(seen.ordinal, 888);
        cr_assert_eq(seen.visited, before.visited);
    }
}

/* A system that fails for one segment's file: to open it, or to read it from an offset on. */
static const struct os_ops *real_ops;
static struct os_ops failing_ops;
static char failing_name[SEGMENT_NAME_BYTES];
static int failing_open, failing_read;
static uint64_t failing_from;
static struct os_file *failing_file;

static int file_open_failing(struct os *self, struct os_dir *dir, const char *name, unsigned how,
                             struct os_file **ret_file) {
    const bool is_it = strcmp(name, failing_name) == 0;
    if (is_it && failing_open != 0)
        return failing_open;
    const int failed = real_ops->file_open(self, dir, name, how, ret_file);
    if (failed == 0 && is_it)
        failing_file = *ret_file;
    else if (failed == 0 && *ret_file == failing_file)
        failing_file = NULL; /* the same memory, another file */
    return failed;
}

static int file_read_failing(struct os *self, struct os_file *file, void *buffer, size_t bytes,
                             uint64_t offset, size_t *ret_read) {
    if (file == failing_file && failing_read != 0 && offset + bytes > failing_from)
        return failing_read;
    return real_ops->file_read(self, file, buffer, bytes, offset, ret_read);
}

static struct seen look_failing(uint64_t ordinal, int open_error, int read_error, uint64_t from) {
    segment_name(ordinal, failing_name);
    failing_open = open_error;
    failing_read = read_error;
    failing_from = from;
    failing_file = NULL;
    real_ops = os->ops;
    failing_ops = *real_ops;
    failing_ops.file_open = file_open_failing;
    failing_ops.file_read = file_read_failing;
    os->ops = &failing_ops;
    const struct seen seen = look();
    os->ops = real_ops;
    return seen;
}

Test(verify_findings, tells_what_cannot_be_opened_or_read_and_goes_on, .init = set_up_in_memory,
     .fini = tear_down_images) {
    take_store(true);
    const struct seen before = look();
    const uint64_t newest = image_newest_used(&whole);
    for (uint64_t ordinal = 1; ordinal <= newest; ordinal++) {
        const struct seen refused = look_failing(ordinal, EACCES, 0, 0);
        must_miss_only(&before, &refused, ordinal, WALK_UNREAD, newest);
        const struct seen unread = look_failing(ordinal, 0, EIO, 0);
        must_miss_only(&before, &unread, ordinal, WALK_UNREAD, newest);
        cr_assert(strstr(unread.what, strerror(EIO)) != NULL, "%s", unread.what);
    }
}

/* What stands before the place has been shown by then. */
Test(verify_findings, shows_what_can_be_read_of_a_file, .init = set_up_in_memory,
     .fini = tear_down_images) {
    enum { LONG = 512 * 1024, MANY = 1000 };
    struct log *log = must_open_log(LONG);
    for (uint64_t number = 1; number <= MANY; number++)
        (void)must_append(log, number, PAYLOAD);
    must_close(log);
    const struct seen seen = look_failing(1, 0, EIO, LONG / 2);
    cr_assert_eq(seen.report.found[WALK_UNREAD], 1);
    cr_assert_eq(seen.report.found[WALK_DAMAGE], 0);
    cr_assert_gt(seen.offset, LONG / 4);
    cr_assert_leq(seen.offset, LONG / 2);
    cr_assert_gt(seen.visited, MANY / 4);
    cr_assert_lt(seen.visited, MANY);
}

Test(verify_findings, tells_what_cannot_be_read_of_a_store_in_use, .init = set_up_in_memory,
     .fini = tear_down_images) {
    struct log *log = must_open_log(SMALL_SEGMENT);
    for (uint64_t number = 1; number <= FRAMES; number++)
        (void)must_append_durably(log, number, PAYLOAD);
    image_take(&whole);
    const struct seen before = look();
    cr_assert_eq(before.report.found[WALK_DAMAGE], 0);
    const uint64_t newest = image_newest_used(&whole);
    for (uint64_t ordinal = 1; ordinal <= newest; ordinal++) {
        const struct seen seen = look_failing(ordinal, EACCES, 0, 0);
        cr_assert(seen.report.is_in_use);
        must_miss_only(&before, &seen, ordinal, WALK_UNREAD, newest);
    }
    must_close(log);
}

Test(verify_findings, finds_damage_in_what_can_be_read, .init = set_up_in_memory,
     .fini = tear_down_images) {
    take_store(true);
    image_segment(&whole, 2)->bytes[SEGMENT_DATA_AT + SEGMENT_START_FRAME_BYTES + 20] ^= 1;
    image_put(&whole);
    const struct seen seen = look_failing(3, EACCES, 0, 0);
    cr_assert_eq(seen.report.found[WALK_DAMAGE], 1);
    cr_assert_eq(seen.report.found[WALK_UNREAD], 1);
    cr_assert_eq(seen.ordinal, 2);
}

Test(verify_findings, tells_of_a_log_that_is_no_directory, .init = set_up_in_memory,
     .fini = tear_down_images) {
    char path[1024];
    take_store(true);
    join(path, sizeof path, store, "/", "log");
    remove_tree(path);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    (void)fclose(file);
    const struct seen seen = look();
    cr_assert_eq(seen.status, PAWL_OK);
    cr_assert_eq(seen.report.found[WALK_DAMAGE], 1);
    cr_assert_str_eq(seen.file, "log");
}

Test(verify_findings, tells_of_an_identity_that_is_no_file, .init = set_up_in_memory,
     .fini = tear_down_images) {
    char path[1024];
    take_store(true);
    join(path, sizeof path, store, "/", IDENTITY_NAME);
    cr_assert_eq(remove(path), 0);
    make_directory(path);
    const struct seen seen = look();
    cr_assert_eq(seen.status, PAWL_OK);
    cr_assert_eq(seen.report.found[WALK_DAMAGE], 1);
    cr_assert_str_eq(seen.file, IDENTITY_NAME);
}

Test(verify_findings, names_a_path_that_is_a_link, .init = set_up_in_memory,
     .fini = tear_down_images) {
    char path[1024];
    struct verify *verify = NULL;
    pawl_error error = {0};
    take_store(true);
    join(path, sizeof path, root, "/", "link");
    cr_assert_eq(symlink("store", path), 0);
    cr_assert_eq(verify_open(os, path, &verify, &error), PAWL_IO);
    cr_assert(strstr(error.sentence, "is a symbolic link") != NULL, "%s", error.sentence);
}

/* A footer whose checksums hold and that tells of another place. */
static void write_lie(const struct footer *lie, uint64_t ordinal, size_t offset,
                      struct frame_header header) {
    struct image_file *file = image_segment(&changed, ordinal);
    const struct frame_key key = {image_identity(&whole).secret, ordinal};
    uint8_t metadata[FOOTER_METADATA_BYTES];
    struct writer writer = writer_over(metadata, sizeof metadata);
    footer_write(&writer, lie);
    cr_assert_eq(writer_used(&writer), header.metadata_bytes);
    frame_build(&header, metadata, NULL, key.secret, file->bytes + offset);
    frame_place(&header, &key, file->bytes + offset);
}

static unsigned lies;

static void lie_in_footer(size_t file, size_t offset, const struct frame_header *header) {
    static const struct verify_options as_dump = {.is_full = false};
    uint64_t ordinal;
    if ((header->flags & FRAME_FOOTER) == 0)
        return;
    cr_assert(segment_parse_name(whole.files[file].name + 4, &ordinal));
    const uint64_t first_lsn = header->lsn - (offset - SEGMENT_DATA_AT);
    const struct footer wrong[] = {{first_lsn + 8, header->lsn}, {first_lsn, header->lsn - 8}};
    for (size_t i = 0; i < 2; i++) {
        image_copy(&changed, &whole);
        write_lie(&wrong[i], ordinal, offset, *header);
        must_find_one(file, offset);
        const struct seen seen = look_with(&as_dump);
        cr_assert_eq(seen.report.found[WALK_DAMAGE], 1, "a dump tells too");
        cr_assert_eq(seen.offset, offset);
        lies++;
    }
}

Test(verify_findings, tells_a_footer_that_lies_also_when_payloads_are_not_read,
     .init = set_up_in_memory, .fini = tear_down_images) {
    take_store(true);
    for_each_frame(lie_in_footer);
    cr_assert_gt(lies, 4);
}

#include "os_posix_world.h"

#include <errno.h>
#include <sys/stat.h>

#include "look.h"

static const uint64_t sparse_bytes = UINT64_C(1) << 40; /* days to read */

static struct identity sample_identity(void) {
    struct identity identity = {.secret = 0x1122334455667788U, .incarnation = 1};
    memset(identity.uuid, 7, sizeof identity.uuid);
    return identity;
}

static void make_segment(uint64_t ordinal, uint64_t data_bytes) {
    const struct identity identity = sample_identity();
    struct segment_header header = {.ordinal = ordinal, .durable_lsn = 64, .made_us = 1};
    memcpy(header.uuid, identity.uuid, sizeof header.uuid);
    cr_assert_eq(segment_make(os, dir, &header, identity.secret, data_bytes, NULL), PAWL_OK);
}

static void write_at(const char *name, const void *bytes, size_t count, uint64_t offset) {
    struct os_file *file = must_open(name, MAKE);
    cr_assert_eq(os_file_write(os, file, bytes, count, offset), 0);
    (void)os_file_close(os, file);
}

static struct window must_look_open(uint64_t ordinal) {
    struct window window;
    cr_assert_eq(look_open(os, dir, ordinal, OS_OPEN_READ, &window, NULL), PAWL_OK);
    return window;
}

static int count_stranger(void *context, const char *name) {
    unsigned *count = context;
    cr_assert_str_neq(name, "reserve-1");
    ++*count;
    return *count == 3 ? EXDEV : 0;
}

Test(look, lists_segments_in_order_and_tells_of_strangers, .init = set_up, .fini = tear_down) {
    unsigned strangers = 0;
    struct look_list list = {.os = os, .stranger = count_stranger, .context = &strangers};
    char name[SEGMENT_NAME_BYTES];
    for (uint64_t i = 0; i < 50; i++) {
        segment_name(i * 37 % 50 + 1, name);
        write_at(name, "", 0, 0);
    }
    write_at("reserve-1", "", 0, 0);
    write_at("00000001.seg", "", 0, 0);
    write_at("notes", "", 0, 0);
    cr_assert_eq(look_list(&list, dir), 0);
    cr_assert_eq(list.count, 50);
    cr_assert_eq(strangers, 2);
    for (uint64_t i = 0; i < 50; i++) {
        cr_assert_eq(list.files[i].ordinal, i + 1);
        cr_assert_eq(list.files[i].key, i + 1);
    }
    look_list_free(&list);
    cr_assert_eq(look_list(&list, dir), EXDEV, "what the visitor answers ends it");
    look_list_free(&list);
}

Test(look, sorts_by_what_the_frames_are_bound_to) {
    struct look_file files[] = {{.ordinal = 9, .key = 2},
                                {.ordinal = 4, .key = 4},
                                {.ordinal = 3, .key = 2},
                                {.ordinal = 2, .key = 2}};
    static const uint64_t expected[] = {2, 3, 9, 4};
    look_sort(files, sizeof files / sizeof files[0]);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        cr_assert_eq(files[i].ordinal, expected[i]);
}

Test(look, opens_nothing_but_a_regular_file, .init = set_up, .fini = tear_down) {
    struct window window;
    pawl_error error;
    cr_assert_eq(look_open(os, dir, 1, OS_OPEN_READ, &window, &error), PAWL_NOT_FOUND);
    cr_assert_eq(error.status, PAWL_NOT_FOUND);
    cr_assert_eq(mkdir(path_of("0000000001.seg"), 0700), 0);
    cr_assert_eq(mkfifo(path_of("0000000002.seg"), 0600), 0);
    cr_assert_eq(symlink("0000000004.seg", path_of("0000000003.seg")), 0);
    make_segment(4, 0);
    for (uint64_t ordinal = 1; ordinal <= 3; ordinal++) {
        cr_assert_eq(look_open(os, dir, ordinal, OS_OPEN_READ, &window, &error), PAWL_DAMAGED);
        cr_assert_eq(error.offset, 0);
        cr_assert(strstr(error.sentence, "is not a regular file") != NULL, "%s", error.sentence);
    }
    window = must_look_open(4);
    look_close(&window);
}

Test(look, inside_tells_a_header_a_start_and_a_size, .init = set_up, .fini = tear_down) {
    const struct identity identity = sample_identity();
    uint8_t frame[SEGMENT_START_FRAME_BYTES];
    const struct segment_start start = {.predecessor = 4, .end_lsn = 640};
    make_segment(5, 4096);
    struct look_file file = {.ordinal = 5};
    struct window window = must_look_open(5);
    cr_assert_eq(look_inside(&window, &identity, &file, NULL), PAWL_OK);
    look_close(&window);
    cr_assert_eq(file.verdict, RECOVERY_HEADER_OURS);
    cr_assert_eq(file.start_verdict, CHAIN_START_NONE);
    cr_assert_eq(file.bytes, SEGMENT_DATA_AT + 4096);
    cr_assert_eq(look_decide(&file, true), RECOVERY_FILE_SEGMENT);
    cr_assert_eq(segment_start_frame(&start, 5, identity.secret, 64, 1, frame), sizeof frame);
    write_at("0000000005.seg", frame, sizeof frame, SEGMENT_DATA_AT);
    window = must_look_open(5);
    cr_assert_eq(look_inside(&window, &identity, &file, NULL), PAWL_OK);
    cr_assert_eq(file.start_verdict, CHAIN_START_WHOLE);
    cr_assert_eq(file.start.predecessor, 4);
    cr_assert_eq(file.start_header.lsn, 640);
    file.ordinal = 6; /* the same file under another name */
    cr_assert_eq(look_inside(&window, &identity, &file, NULL), PAWL_OK);
    cr_assert_eq(file.key, 5);
    cr_assert_eq(look_decide(&file, false), RECOVERY_FILE_RENAMED);
    look_close(&window);
    const uint8_t zeros[SEGMENT_DATA_AT] = {0};
    write_at("0000000005.seg", zeros, sizeof zeros, 0);
    file.ordinal = 5;
    window = must_look_open(5);
    cr_assert_eq(look_inside(&window, &identity, &file, NULL), PAWL_OK);
    look_close(&window);
    cr_assert_eq(file.verdict, RECOVERY_HEADER_ABSENT);
    cr_assert(file.has_content);
    cr_assert_eq(look_decide(&file, false), RECOVERY_FILE_HEADER);
}

/* A hole that can't have been read in a lifetime, and what stands behind it. */
Test(look, passes_over_a_hole, .init = set_up, .fini = tear_down, .timeout = 120) {
    const struct identity identity = sample_identity();
    const struct frame_key key = {identity.secret, 1};
    struct frame_header header;
    uint8_t frame[SEGMENT_START_FRAME_BYTES];
    const struct segment_start start = {.predecessor = 0, .end_lsn = 640};
    uint64_t end = 5, at = 0;
    struct os_file *file = must_open("0000000001.seg", MAKE);
    if (os_file_truncate(os, file, sparse_bytes) != 0)
        cr_skip_test("the file system has no files so large");
    struct window window = must_look_open(1);
    cr_assert_eq(look_last_byte(&window, SEGMENT_DATA_AT, &end, NULL), PAWL_OK);
    cr_assert_eq(end, 0);
    cr_assert_eq(look_next_header(&window, &key, SEGMENT_DATA_AT, &at, &header, NULL), PAWL_EMPTY);
    look_close(&window);

    const uint64_t place = sparse_bytes / 2 + 24;
    cr_assert_eq(segment_start_frame(&start, 1, identity.secret, 64, 1, frame), sizeof frame);
    cr_assert_eq(os_file_write(os, file, frame, sizeof frame, place), 0);
    cr_assert_eq(os_file_write(os, file, "x", 1, place + 300001), 0);
    (void)os_file_close(os, file);
    window = must_look_open(1);
    cr_assert_eq(look_last_byte(&window, SEGMENT_DATA_AT, &end, NULL), PAWL_OK);
    cr_assert_eq(end, place + 300002);
    cr_assert_eq(look_next_header(&window, &key, SEGMENT_DATA_AT, &at, &header, NULL), PAWL_OK);
    cr_assert_eq(at, place);
    cr_assert_eq(header.lsn, 640);
    cr_assert_eq(look_next_header(&window, &key, at + FRAME_ALIGNMENT, &at, &header, NULL),
                 PAWL_EMPTY);
    look_close(&window);
}

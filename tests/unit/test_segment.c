#include "os_posix_world.h"

#include "bytes.h"
#include "hash.h"
#include "segment.h"

#include <signal.h>
#include <sys/resource.h>

enum { HEADER = 64 };

static const uint64_t secret = 0x0123456789abcdefU;
static const uint8_t uuid[SEGMENT_UUID_BYTES] = {1, 2,  3,  4,  5,  6,  7,  8,
                                                 9, 10, 11, 12, 13, 14, 15, 16};

static struct segment_header sample_header(uint64_t ordinal) {
    struct segment_header header = {
        .flags = SEGMENT_RESERVE,
        .ordinal = ordinal,
        .durable_lsn = 640,
        .made_us = 1700000000000000,
    };
    memcpy(header.uuid, uuid, sizeof uuid);
    return header;
}

/* Names. */

Test(segment_name, is_ten_digits_and_comes_back) {
    static const uint64_t ordinals[] = {1, 9, 10, 4294967296U, SEGMENT_ORDINAL_MAX};
    static const char *const names[] = {"0000000001.seg", "0000000009.seg", "0000000010.seg",
                                        "4294967296.seg", "9999999999.seg"};
    for (size_t i = 0; i < sizeof ordinals / sizeof ordinals[0]; i++) {
        char name[SEGMENT_NAME_BYTES];
        uint64_t ordinal = 0;
        segment_name(ordinals[i], name);
        cr_assert_str_eq(name, names[i]);
        cr_assert(segment_parse_name(name, &ordinal));
        cr_assert_eq(ordinal, ordinals[i]);
    }
}

Test(segment_name, of_any_other_form_is_no_segment) {
    static const char *const others[] = {
        "",
        "1.seg",
        "000000001.seg",
        "00000000001.seg",
        "0000000000.seg",
        "0000000001",
        "0000000001.",
        "0000000001.se",
        "0000000001.segx",
        "0000000001.seg~",
        "0000000001.SEG",
        "0000000001.seg (copy)",
        ".0000000001.seg",
        "+000000001.seg",
        "-000000001.seg",
        " 000000001.seg",
        "00000000a1.seg",
        "0000000001.seg.gz",
        "reserve-1",
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        uint64_t ordinal = 99;
        cr_assert(!segment_parse_name(others[i], &ordinal), "'%s'", others[i]);
        cr_assert_eq(ordinal, 99, "'%s'", others[i]);
    }
}

/* The header. */

static enum segment_verdict verdict_of(const uint8_t *block, size_t count) {
    struct segment_header header;
    return segment_read_header(block, count, uuid, secret, &header);
}

Test(segment_header, comes_back_as_it_was_written) {
    static uint8_t block[SEGMENT_DATA_AT];
    const struct segment_header written = sample_header(7);
    segment_encode_header(&written, secret, block);
    struct segment_header read = {0};
    cr_assert_eq(segment_read_header(block, sizeof block, uuid, secret, &read), SEGMENT_OURS);
    cr_assert_eq(read.flags, SEGMENT_RESERVE);
    cr_assert_eq(read.ordinal, 7);
    cr_assert_eq(read.durable_lsn, 640);
    cr_assert_eq(read.made_us, 1700000000000000);
    cr_assert_arr_eq(read.uuid, uuid, sizeof uuid);
    cr_assert(bytes_are_zero(block + HEADER, sizeof block - HEADER), "the rest of the block");
    cr_assert_eq(verdict_of(block, HEADER), SEGMENT_OURS, "64 bytes are enough");
}

Test(segment_header, with_any_flipped_bit_is_not_ours) {
    static uint8_t block[SEGMENT_DATA_AT];
    const struct segment_header written = sample_header(7);
    segment_encode_header(&written, secret, block);
    for (size_t bit = 0; bit < (size_t)HEADER * 8; bit++) {
        block[bit / 8] = (uint8_t)(block[bit / 8] ^ 1U << bit % 8);
        const bool in_uuid = bit / 8 >= 40 && bit / 8 < 56;
        cr_assert_eq(verdict_of(block, sizeof block), in_uuid ? SEGMENT_FOREIGN : SEGMENT_WRONG,
                     "bit %zu", bit);
        block[bit / 8] = (uint8_t)(block[bit / 8] ^ 1U << bit % 8);
    }
}

Test(segment_header, that_is_not_there_is_absent) {
    static uint8_t block[SEGMENT_DATA_AT];
    cr_assert_eq(verdict_of(block, sizeof block), SEGMENT_ABSENT);
    cr_assert_eq(verdict_of(block, 0), SEGMENT_ABSENT);
    const struct segment_header written = sample_header(7);
    segment_encode_header(&written, secret, block);
    for (size_t count = 0; count < HEADER; count++)
        cr_assert_eq(verdict_of(block, count), SEGMENT_ABSENT, "%zu", count);
    memset(block, 0xff, sizeof block);
    cr_assert_eq(verdict_of(block, sizeof block), SEGMENT_WRONG);
}

Test(segment_header, of_another_store_says_so) {
    static uint8_t block[SEGMENT_DATA_AT];
    struct segment_header other = sample_header(7), read = {0};
    other.uuid[15] ^= 1;
    segment_encode_header(&other, secret + 1, block);
    cr_assert_eq(segment_read_header(block, sizeof block, uuid, secret, &read), SEGMENT_FOREIGN);
    cr_assert_arr_eq(read.uuid, other.uuid, sizeof uuid, "who it belongs to is told");
    cr_assert_eq(read.ordinal, 7);
    other = sample_header(7);
    segment_encode_header(&other, secret + 1, block);
    cr_assert_eq(verdict_of(block, sizeof block), SEGMENT_WRONG, "our uuid, another secret");
}

Test(segment_header, of_a_newer_format_is_told_from_damage) {
    static uint8_t block[SEGMENT_DATA_AT];
    const struct segment_header written = sample_header(7);
    segment_encode_header(&written, secret, block);
    bytes_store_u32(block + 8, SEGMENT_FORMAT_VERSION + 1);
    cr_assert_eq(verdict_of(block, sizeof block), SEGMENT_WRONG);
    bytes_store_u64(block + 56, hash_bytes(block, 56, secret));
    cr_assert_eq(verdict_of(block, sizeof block), SEGMENT_NEWER);
}

/* The start. */

Test(segment_start, is_a_whole_frame_that_says_where_it_belongs) {
    uint8_t bytes[SEGMENT_START_FRAME_BYTES];
    const struct segment_start start = {.predecessor = 6, .end_lsn = 9992};
    cr_assert_eq(segment_start_frame(&start, 7, secret, 800, 5, bytes), SEGMENT_START_FRAME_BYTES);
    const struct frame_key key = {secret, 7}, other = {secret, 8};
    struct frame_header header;
    cr_assert_eq(frame_read_header(bytes, &key, &header), FRAME_WHOLE);
    cr_assert_eq(header.lsn, 9992);
    cr_assert_eq(header.durable_lsn, 800);
    cr_assert_eq(header.time_us, 5);
    cr_assert_eq(header.flags, FRAME_SEGMENT_START);
    cr_assert_eq(header.record_count, 1);
    cr_assert(frame_body_is_whole(&header, bytes, secret));
    struct segment_start read = {0};
    cr_assert(segment_start_decode(bytes + FRAME_HEADER_BYTES, header.metadata_bytes, &read));
    cr_assert_eq(read.predecessor, 6);
    cr_assert_eq(read.end_lsn, 9992);
    struct frame_header untouched;
    cr_assert_eq(frame_read_header(bytes, &other, &untouched), FRAME_WRONG, "in another segment");
}

Test(segment_start, another_record_is_none) {
    uint8_t metadata[64];
    const uint8_t body[SEGMENT_START_BODY_BYTES + 8] = {3};
    struct segment_start start = {.predecessor = 9, .end_lsn = 9};
    struct writer writer = writer_over(metadata, sizeof metadata);
    record_write(&writer, RECORD_FOOTER, 0, body, SEGMENT_START_BODY_BYTES);
    cr_assert(!segment_start_decode(metadata, writer_used(&writer), &start), "another kind");
    writer = writer_over(metadata, sizeof metadata);
    record_write(&writer, RECORD_SEGMENT_START, 0, body, SEGMENT_START_BODY_BYTES - 1);
    cr_assert(!segment_start_decode(metadata, writer_used(&writer), &start), "too short");
    cr_assert_eq(start.predecessor, 9, "untouched");
    writer = writer_over(metadata, sizeof metadata);
    record_write(&writer, RECORD_SEGMENT_START, 0, body, sizeof body);
    for (size_t count = 0; count < writer_used(&writer); count++)
        cr_assert(!segment_start_decode(metadata, count, &start), "%zu bytes of it", count);
    cr_assert(segment_start_decode(metadata, writer_used(&writer), &start), "a later, longer one");
    cr_assert_eq(start.predecessor, 3);
}

/* The file. */

static size_t content_of(const char *name, uint8_t *bytes, size_t room) {
    struct os_file *file = must_open(name, OS_OPEN_READ);
    size_t read = 0;
    cr_assert_eq(os_file_read(os, file, bytes, room, 0, &read), 0);
    (void)os_file_close(os, file);
    return read;
}

static void must_be_blank(const char *name, uint64_t ordinal, size_t data_bytes) {
    static uint8_t bytes[65536];
    struct segment_header header;
    cr_assert_eq(content_of(name, bytes, sizeof bytes), SEGMENT_DATA_AT + data_bytes);
    cr_assert_eq(segment_read_header(bytes, SEGMENT_DATA_AT, uuid, secret, &header), SEGMENT_OURS);
    cr_assert_eq(header.ordinal, ordinal);
    cr_assert(bytes_are_zero(bytes + SEGMENT_DATA_AT, data_bytes));
}

Test(segment, is_made_with_header_and_zeros, .init = set_up, .fini = tear_down) {
    const struct segment_header first = sample_header(1), second = sample_header(2);
    cr_assert_eq(segment_make(os, dir, &first, secret, 12000, NULL), PAWL_OK);
    cr_assert_eq(segment_make(os, dir, &second, secret, 0, NULL), PAWL_OK);
    must_be_blank("0000000001.seg", 1, 12000);
    must_be_blank("0000000002.seg", 2, 0);
}

Test(segment, is_made_again_from_nothing, .init = set_up, .fini = tear_down) {
    uint8_t rubbish[30000];
    memset(rubbish, 0x77, sizeof rubbish);
    struct os_file *file = must_open("0000000003.seg", MAKE);
    cr_assert_eq(os_file_write(os, file, rubbish, sizeof rubbish, 0), 0);
    (void)os_file_close(os, file);
    const struct segment_header header = sample_header(3);
    cr_assert_eq(segment_make(os, dir, &header, secret, 8192, NULL), PAWL_OK);
    must_be_blank("0000000003.seg", 3, 8192);
}

Test(segment, that_cannot_be_made_is_named, .init = set_up, .fini = tear_down) {
    struct os_dir *made = NULL;
    cr_assert_eq(os_dir_open_at(os, dir, "0000000004.seg", OS_OPEN_CREATE, &made), 0);
    os_dir_close(os, made);
    const struct segment_header header = sample_header(4);
    pawl_error error;
    cr_assert_neq(segment_make(os, dir, &header, secret, 0, &error), PAWL_OK);
    cr_assert_str_eq(error.file, "0000000004.seg");
}

static struct os_file *made_segment(uint64_t ordinal, uint64_t data_bytes) {
    char name[SEGMENT_NAME_BYTES];
    const struct segment_header header = sample_header(ordinal);
    cr_assert_eq(segment_make(os, dir, &header, secret, data_bytes, NULL), PAWL_OK);
    segment_name(ordinal, name);
    return must_open(name, READ_WRITE);
}

Test(segment, grows_by_zeros_and_keeps_what_it_has, .init = set_up, .fini = tear_down) {
    static uint8_t bytes[65536];
    struct os_file *file = made_segment(1, 4096);
    cr_assert_eq(os_file_write(os, file, "frames", 6, SEGMENT_DATA_AT), 0);
    cr_assert_eq(segment_extend(os, file, 1, 8192, 20000, NULL), PAWL_OK);
    (void)os_file_close(os, file);
    cr_assert_eq(content_of("0000000001.seg", bytes, sizeof bytes), 20000);
    cr_assert_arr_eq(bytes + SEGMENT_DATA_AT, "frames", 6);
    cr_assert(bytes_are_zero(bytes + SEGMENT_DATA_AT + 6, 20000 - SEGMENT_DATA_AT - 6));
}

/* A limit on the file's size stands for a full disk: nothing is written, and the call fails. */
Test(segment, that_cannot_grow_is_as_long_as_before, .init = set_up, .fini = tear_down) {
    struct os_file *file = made_segment(1, 4096);
    cr_assert(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    struct rlimit before;
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit small = {.rlim_cur = 14000, .rlim_max = before.rlim_max};
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    pawl_error error;
    const pawl_status status = segment_extend(os, file, 1, 8192, 20000, &error);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    cr_assert_eq(status, PAWL_DISK_FULL);
    cr_assert_eq(error.status, PAWL_DISK_FULL);
    cr_assert_str_eq(error.file, "0000000001.seg");
    struct os_stat stat;
    cr_assert_eq(os_file_stat(os, file, &stat), 0);
    cr_assert_eq(stat.bytes, 8192);
    (void)os_file_close(os, file);
}

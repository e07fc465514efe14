#include "footer.h"

#include <criterion/criterion.h>

static const struct frame_key key = {77, 4};

/* A whole footer frame; returns its size. */
static size_t footer_frame(uint8_t *bytes) {
    uint8_t metadata[FOOTER_METADATA_BYTES];
    struct writer writer = writer_over(metadata, sizeof metadata);
    const struct footer footer = {.first_lsn = 64, .lsn = 8000};
    footer_write(&writer, &footer);
    cr_assert(!writer.bad);
    cr_assert_eq(writer_used(&writer), FOOTER_METADATA_BYTES);
    struct frame_header header = {.lsn = 8000,
                                  .durable_lsn = 64,
                                  .metadata_bytes = sizeof metadata,
                                  .record_count = 1,
                                  .flags = FRAME_FOOTER};
    frame_build(&header, metadata, NULL, key.secret, bytes);
    frame_place(&header, &key, bytes);
    return frame_header_frame_bytes(&header);
}

Test(footer, is_found_from_the_end_and_read) {
    uint8_t bytes[256];
    const size_t size = footer_frame(bytes);
    cr_assert_eq(size, frame_bytes(FOOTER_METADATA_BYTES, 0));
    cr_assert_eq(footer_find(bytes + size - FOOTER_TRAILER_BYTES), size);
    struct footer footer = {0};
    cr_assert(footer_read(bytes + FRAME_HEADER_BYTES, FOOTER_METADATA_BYTES, &footer));
    cr_assert_eq(footer.first_lsn, 64);
    cr_assert_eq(footer.lsn, 8000);
}

Test(footer, no_other_ending_is_taken_for_one) {
    uint8_t bytes[256];
    const size_t size = footer_frame(bytes);
    uint8_t *trailer = bytes + size - FOOTER_TRAILER_BYTES;
    for (size_t bit = 4 * 8; bit < (size_t)FOOTER_TRAILER_BYTES * 8; bit++) {
        trailer[bit / 8] = (uint8_t)(trailer[bit / 8] ^ 1U << bit % 8);
        cr_assert_eq(footer_find(trailer), 0, "bit %zu", bit);
        trailer[bit / 8] = (uint8_t)(trailer[bit / 8] ^ 1U << bit % 8);
    }
    cr_assert_eq(footer_find(trailer), size);
    uint8_t other[FOOTER_TRAILER_BYTES];
    memset(other, 0, sizeof other);
    cr_assert_eq(footer_find(other), 0);
    memset(other, FRAME_PADDING_BYTE, sizeof other);
    cr_assert_eq(footer_find(other), 0);
}

Test(footer, another_record_is_none) {
    uint8_t metadata[64];
    const uint8_t body[FOOTER_BODY_BYTES] = {0};
    struct footer footer = {.first_lsn = 1, .lsn = 2};
    struct writer writer = writer_over(metadata, sizeof metadata);
    record_write(&writer, RECORD_SEGMENT_START, 0, body, sizeof body);
    cr_assert(!footer_read(metadata, writer_used(&writer), &footer), "another kind");
    writer = writer_over(metadata, sizeof metadata);
    record_write(&writer, RECORD_FOOTER, 0, body, sizeof body - 1);
    cr_assert(!footer_read(metadata, writer_used(&writer), &footer), "a body that is too short");
    cr_assert(!footer_read(metadata, 0, &footer), "nothing");
    cr_assert_eq(footer.first_lsn, 1, "untouched");
    cr_assert_eq(footer.lsn, 2);
}

/* A later format may say more in it. */
Test(footer, a_longer_body_is_read_as_far_as_it_is_known) {
    uint8_t metadata[128], body[FOOTER_BODY_BYTES + 20] = {5};
    body[8] = 6;
    struct writer writer = writer_over(metadata, sizeof metadata);
    record_write(&writer, RECORD_FOOTER, 0, body, sizeof body);
    struct footer footer = {0};
    cr_assert(footer_read(metadata, writer_used(&writer), &footer));
    cr_assert_eq(footer.first_lsn, 5);
    cr_assert_eq(footer.lsn, 6);
}

Test(footer, that_ends_early_is_none) {
    uint8_t bytes[256];
    (void)footer_frame(bytes);
    struct footer footer;
    for (size_t count = 0; count < FOOTER_METADATA_BYTES; count++)
        cr_assert(!footer_read(bytes + FRAME_HEADER_BYTES, count, &footer), "%zu", count);
}

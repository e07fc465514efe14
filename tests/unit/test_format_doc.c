/* docs/format.md shows the bytes of a small store in hex. They must be what the engine writes. */

#include "os_posix_world.h"

#include "bytes.h"
#include "frame.h"
#include "identity.h"
#include "record.h"
#include "segment.h"

#include <xxhash.h>

#ifndef PAWL_SOURCE_DIR
#define PAWL_SOURCE_DIR "."
#endif

enum { ROOM = 256 };

static const uint64_t secret = 0x0123456789abcdefU;
static const uint64_t made_us = 1700000000000000U;

struct bytes {
    uint8_t at[ROOM];
    size_t count;
};

static struct identity example_identity(void) {
    struct identity identity = {.secret = secret, .incarnation = 1};
    for (size_t i = 0; i < sizeof identity.uuid; i++)
        identity.uuid[i] = (uint8_t)(0xa0 + i);
    return identity;
}

/* One line of hex: an offset, then up to 16 bytes. */
static void parse_line(const char *line, struct bytes *bytes) {
    char *end = NULL;
    cr_assert_eq(strtoul(line, &end, 16), bytes->count, "an offset is wrong: %s", line);
    for (const char *at = end; *at != '\n' && *at != '\0'; at = end) {
        const unsigned long byte = strtoul(at, &end, 16);
        if (end == at)
            break;
        cr_assert_leq(byte, 0xff, "%s", line);
        cr_assert_lt(bytes->count, ROOM);
        bytes->at[bytes->count++] = (uint8_t)byte;
    }
}

/* The block that begins with "```hex NAME". */
static struct bytes documented(const char *name) {
    struct bytes bytes = {.count = 0};
    char line[256], fence[64];
    bool is_inside = false, is_found = false;
    (void)snprintf(fence, sizeof fence, "```hex %s\n", name);
    FILE *file = fopen(PAWL_SOURCE_DIR "/docs/format.md", "r");
    cr_assert_not_null(file, "run it in the root of the repository");
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "```", 3) == 0) {
            is_inside = strcmp(line, fence) == 0;
            is_found = is_found || is_inside;
        } else if (is_inside) {
            parse_line(line, &bytes);
        }
    }
    (void)fclose(file);
    cr_assert(is_found, "no block '%s'", name);
    return bytes;
}

/* On a difference the right lines are printed, to be put into the page. */
static void must_be_documented(const char *name, const uint8_t *expected, size_t count) {
    const struct bytes bytes = documented(name);
    const bool is_same = bytes.count == count && memcmp(bytes.at, expected, count) == 0;
    for (size_t at = 0; at < count && !is_same; at++) {
        if (at % 16 == 0)
            (void)fprintf(stderr, "\n%04zx ", at);
        (void)fprintf(stderr, " %02x", expected[at]);
    }
    cr_assert(is_same, "%s is not what the engine writes", name);
}

Test(format_doc, shows_identity, .init = set_up, .fini = tear_down) {
    const struct identity identity = example_identity();
    uint8_t block[OS_SECTOR_BYTES];
    size_t read = 0;
    struct os_file *file = must_open(IDENTITY_NAME, MAKE);
    cr_assert_eq(identity_write(os, file, &identity, NULL), PAWL_OK);
    cr_assert_eq(os_file_read(os, file, block, sizeof block, 0, &read), 0);
    (void)os_file_close(os, file);
    must_be_documented("identity", block, 64);
    cr_assert(bytes_are_zero(block + 56, sizeof block - 56), "and zeros to the sector's end");
}

Test(format_doc, shows_a_segment_header) {
    static uint8_t block[SEGMENT_DATA_AT];
    const struct identity identity = example_identity();
    struct segment_header header = {.ordinal = 1, .made_us = made_us};
    memcpy(header.uuid, identity.uuid, sizeof header.uuid);
    segment_encode_header(&header, secret, block);
    must_be_documented("segment-header", block, 64);
}

Test(format_doc, shows_a_start_frame) {
    uint8_t frame[SEGMENT_START_FRAME_BYTES];
    const struct segment_start start = {.predecessor = 0, .end_lsn = SEGMENT_FIRST_LSN};
    (void)segment_start_frame(&start, 1, secret, 0, made_us, frame);
    must_be_documented("start-frame", frame, sizeof frame);
}

Test(format_doc, shows_a_frame_of_one_record) {
    uint8_t metadata[16], frame[ROOM];
    struct writer writer = writer_over(metadata, sizeof metadata);
    record_write(&writer, RECORD_FIRST_OF_STATE, 0, "hello", 5);
    const uint64_t lsn = SEGMENT_FIRST_LSN + SEGMENT_START_FRAME_BYTES;
    struct frame_header header = {.lsn = lsn,
                                  .durable_lsn = lsn,
                                  .time_us = made_us + 1000000,
                                  .metadata_bytes = (uint32_t)writer_used(&writer),
                                  .payload_bytes = 11,
                                  .record_count = 1,
                                  .flags = FRAME_NEEDS_SYNC};
    const struct frame_key key = {secret, 1};
    frame_build(&header, metadata, "the payload", secret, frame);
    frame_place(&header, &key, frame);
    must_be_documented("record-frame", frame, frame_header_frame_bytes(&header));
}

/* The page's formulas, by themselves. */

static uint64_t bound_seed(uint64_t seed, uint64_t number) {
    const uint64_t m1 = number + 0x9e3779b97f4a7c15U;
    const uint64_t m2 = (m1 ^ (m1 >> 30)) * 0xbf58476d1ce4e5b9U;
    const uint64_t m3 = (m2 ^ (m2 >> 27)) * 0x94d049bb133111ebU;
    return seed ^ m3 ^ (m3 >> 31);
}

static void must_have_checksums(const char *name, size_t metadata_bytes, size_t payload_bytes) {
    const struct bytes frame = documented(name);
    const uint64_t seed = bound_seed(bound_seed(secret, 1) * 3, bytes_load_u64(frame.at));
    const uint8_t *metadata = frame.at + 64;
    cr_assert_eq(bytes_load_u32(frame.at + 56), (uint32_t)XXH3_64bits_withSeed(frame.at, 56, seed));
    cr_assert_eq(bytes_load_u64(frame.at + 40),
                 XXH3_64bits_withSeed(metadata, metadata_bytes, secret));
    cr_assert_eq(bytes_load_u64(frame.at + 48),
                 XXH3_64bits_withSeed(metadata + metadata_bytes, payload_bytes, secret));
    cr_assert_eq(frame.count, ((64 + metadata_bytes + payload_bytes) / 8 + 1) * 8);
}

Test(format_doc, has_the_formulas_of_the_checksums) {
    must_have_checksums("start-frame", 19, 0);
    must_have_checksums("record-frame", 8, 11);
    const struct bytes identity = documented("identity"), header = documented("segment-header");
    cr_assert_eq(bytes_load_u64(identity.at + 48), XXH3_64bits_withSeed(identity.at, 48, 0));
    cr_assert_eq(bytes_load_u64(header.at + 56), XXH3_64bits_withSeed(header.at, 56, secret));
}

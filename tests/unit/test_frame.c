#include "frame.h"

#include "bytes.h"

#include <criterion/criterion.h>

enum {
    METADATA = 41,
    PAYLOAD = 900,
    ROOM = 2048,
};

static const struct frame_key key = {0x1122334455667788U, 3};

/* A frame of three sectors and no zero byte among metadata and payload. */
struct sample {
    uint8_t bytes[ROOM];
    struct frame_header header;
    size_t size;
};

static struct sample sample_of(uint32_t metadata_bytes, uint32_t payload_bytes) {
    uint8_t metadata[METADATA], payload[PAYLOAD];
    memset(metadata, 'm', sizeof metadata);
    memset(payload, 'p', sizeof payload);
    struct sample sample = {.header = {.lsn = 4096,
                                       .durable_lsn = 4000,
                                       .time_us = 1700000000000000,
                                       .metadata_bytes = metadata_bytes,
                                       .payload_bytes = payload_bytes,
                                       .record_count = 2,
                                       .flags = FRAME_NEEDS_SYNC}};
    frame_build(&sample.header, metadata, payload, key.secret, sample.bytes);
    frame_place(&sample.header, &key, sample.bytes);
    sample.size = frame_header_frame_bytes(&sample.header);
    return sample;
}

static enum frame_verdict verdict_of(const uint8_t *bytes, const struct frame_key *with) {
    struct frame_header untouched, header;
    memset(&untouched, 0x5a, sizeof untouched);
    memset(&header, 0x5a, sizeof header);
    const enum frame_verdict verdict = frame_read_header(bytes, with, &header);
    if (verdict != FRAME_WHOLE)
        cr_assert_arr_eq(&header, &untouched, sizeof header, "filled by %d", (int)verdict);
    return verdict;
}

Test(frame, a_size_is_aligned_and_has_one_to_eight_bytes_of_padding) {
    for (uint64_t metadata = 0; metadata < 40; metadata++) {
        for (uint64_t payload = 0; payload < 40; payload++) {
            const size_t size = frame_bytes(metadata, payload);
            const size_t bare = (size_t)(FRAME_HEADER_BYTES + metadata + payload);
            cr_assert_eq(size & (FRAME_ALIGNMENT - 1), 0);
            cr_assert(size > bare && size <= bare + 8, "%zu for %zu", size, bare);
        }
    }
}

Test(frame, a_size_is_refused_one_byte_beyond_the_limit) {
    const uint64_t most = FRAME_BYTES_MAX - FRAME_HEADER_BYTES - 1;
    cr_assert_eq(frame_bytes(most, 0), FRAME_BYTES_MAX);
    cr_assert_eq(frame_bytes(0, most), FRAME_BYTES_MAX);
    cr_assert_eq(frame_bytes(1, most - 1), FRAME_BYTES_MAX);
    cr_assert_eq(frame_bytes(most + 1, 0), 0);
    cr_assert_eq(frame_bytes(0, most + 1), 0);
    cr_assert_eq(frame_bytes(1, most), 0);
    cr_assert_eq(frame_bytes(FRAME_BYTES_MAX, FRAME_BYTES_MAX), 0);
    cr_assert_eq(frame_bytes(UINT64_MAX, 1), 0, "a sum that would wrap");
    cr_assert_eq(frame_bytes(1, UINT64_MAX), 0);
}

Test(frame, comes_back_as_it_was_built) {
    static const uint32_t sizes[] = {0, 1, 7, 8, METADATA};
    static const uint32_t payloads[] = {0, 1, 511, PAYLOAD};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (size_t j = 0; j < sizeof payloads / sizeof payloads[0]; j++) {
            const struct sample sample = sample_of(sizes[i], payloads[j]);
            struct frame_header header = {0};
            cr_assert_eq(frame_read_header(sample.bytes, &key, &header), FRAME_WHOLE);
            cr_assert_eq(header.lsn, 4096);
            cr_assert_eq(header.durable_lsn, 4000);
            cr_assert_eq(header.time_us, 1700000000000000);
            cr_assert_eq(header.metadata_bytes, sizes[i]);
            cr_assert_eq(header.payload_bytes, payloads[j]);
            cr_assert_eq(header.record_count, 2);
            cr_assert_eq(header.flags, FRAME_NEEDS_SYNC);
            cr_assert_eq(header.metadata_hash, sample.header.metadata_hash);
            cr_assert_eq(header.payload_hash, sample.header.payload_hash);
            cr_assert(frame_body_is_whole(&header, sample.bytes, key.secret));
            for (size_t at = FRAME_HEADER_BYTES + sizes[i] + payloads[j]; at < sample.size; at++)
                cr_assert_eq(sample.bytes[at], FRAME_PADDING_BYTE);
        }
    }
}

Test(frame, any_flipped_bit_of_a_header_is_seen) {
    struct sample sample = sample_of(METADATA, PAYLOAD);
    for (size_t bit = 0; bit < (size_t)FRAME_HEADER_BYTES * 8; bit++) {
        sample.bytes[bit / 8] = (uint8_t)(sample.bytes[bit / 8] ^ 1U << bit % 8);
        cr_assert_eq(verdict_of(sample.bytes, &key), FRAME_WRONG, "bit %zu", bit);
        sample.bytes[bit / 8] = (uint8_t)(sample.bytes[bit / 8] ^ 1U << bit % 8);
    }
    cr_assert_eq(verdict_of(sample.bytes, &key), FRAME_WHOLE);
}

Test(frame, any_flipped_bit_behind_the_header_is_seen) {
    struct sample sample = sample_of(METADATA, PAYLOAD);
    for (size_t bit = (size_t)FRAME_HEADER_BYTES * 8; bit < sample.size * 8; bit++) {
        sample.bytes[bit / 8] = (uint8_t)(sample.bytes[bit / 8] ^ 1U << bit % 8);
        cr_assert(!frame_body_is_whole(&sample.header, sample.bytes, key.secret), "bit %zu", bit);
        const bool in_metadata = bit / 8 < FRAME_HEADER_BYTES + METADATA;
        const bool in_padding = bit / 8 >= FRAME_HEADER_BYTES + METADATA + PAYLOAD;
        const uint8_t *metadata = sample.bytes + FRAME_HEADER_BYTES;
        cr_assert_eq(frame_metadata_is_whole(&sample.header, metadata, key.secret), !in_metadata);
        cr_assert_eq(frame_payload_is_whole(&sample.header, metadata + METADATA, key.secret),
                     in_metadata || in_padding);
        sample.bytes[bit / 8] = (uint8_t)(sample.bytes[bit / 8] ^ 1U << bit % 8);
    }
    cr_assert(frame_body_is_whole(&sample.header, sample.bytes, key.secret));
}

Test(frame, zeros_are_absent_and_one_bit_among_them_is_wrong) {
    uint8_t bytes[FRAME_HEADER_BYTES] = {0};
    cr_assert_eq(verdict_of(bytes, &key), FRAME_ABSENT);
    cr_assert(!frame_looks_like_header(bytes));
    for (size_t bit = 0; bit < sizeof bytes * 8; bit++) {
        bytes[bit / 8] = (uint8_t)(1U << bit % 8);
        cr_assert_eq(verdict_of(bytes, &key), FRAME_WRONG, "bit %zu", bit);
        bytes[bit / 8] = 0;
    }
    memset(bytes, 0xff, sizeof bytes);
    cr_assert_eq(verdict_of(bytes, &key), FRAME_WRONG);
}

Test(frame, is_whole_only_in_its_store_and_segment) {
    const struct sample sample = sample_of(METADATA, PAYLOAD);
    const struct frame_key others[] = {
        {key.secret + 1, key.ordinal},
        {key.secret, key.ordinal + 1},
        {key.secret, key.ordinal - 1},
        {key.ordinal, key.secret},
        {0, 0},
    };
    cr_assert(frame_looks_like_header(sample.bytes));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        cr_assert_eq(verdict_of(sample.bytes, &others[i]), FRAME_WRONG, "%zu", i);
    cr_assert(!frame_body_is_whole(&sample.header, sample.bytes, key.secret + 1));
}

/* A header whose checksum holds and that says what cannot be: only frame_place() makes one. */
static enum frame_verdict verdict_of_placed(const struct frame_header *header) {
    uint8_t bytes[FRAME_HEADER_BYTES];
    frame_place(header, &key, bytes);
    return verdict_of(bytes, &key);
}

Test(frame, what_a_header_may_say_ends_at_its_limits) {
    const struct frame_header good = sample_of(METADATA, PAYLOAD).header;
    struct frame_header header = good;
    header.record_count = FRAME_RECORDS_MAX;
    cr_assert_eq(verdict_of_placed(&header), FRAME_WHOLE);
    header.record_count = FRAME_RECORDS_MAX + 1;
    cr_assert_eq(verdict_of_placed(&header), FRAME_ABSURD);
    header = good;
    header.durable_lsn = header.lsn;
    cr_assert_eq(verdict_of_placed(&header), FRAME_WHOLE);
    header.durable_lsn = header.lsn + 1;
    cr_assert_eq(verdict_of_placed(&header), FRAME_ABSURD, "what is durable lies before");
    header = good;
    header.metadata_bytes = 0;
    header.payload_bytes = FRAME_BYTES_MAX - FRAME_HEADER_BYTES - 1;
    cr_assert_eq(verdict_of_placed(&header), FRAME_WHOLE);
    header.payload_bytes++;
    cr_assert_eq(verdict_of_placed(&header), FRAME_ABSURD);
    header.payload_bytes = UINT32_MAX;
    header.metadata_bytes = UINT32_MAX;
    cr_assert_eq(verdict_of_placed(&header), FRAME_ABSURD);
}

Test(frame, a_place_that_is_not_aligned_is_absurd) {
    struct frame_header header = sample_of(METADATA, PAYLOAD).header;
    for (uint64_t lsn = 4096; lsn <= 4104; lsn++) {
        header.lsn = lsn;
        const bool is_aligned = lsn == 4096 || lsn == 4104;
        cr_assert_eq(verdict_of_placed(&header), is_aligned ? FRAME_WHOLE : FRAME_ABSURD);
    }
}

Test(frame, a_flag_that_nobody_knows_is_absurd) {
    struct frame_header header = sample_of(METADATA, PAYLOAD).header;
    header.flags = FRAME_FLAGS_KNOWN;
    cr_assert_eq(verdict_of_placed(&header), FRAME_WHOLE);
    for (unsigned bit = 0; bit < 16; bit++) {
        header.flags = (uint16_t)(1U << bit);
        const bool is_known = (header.flags & FRAME_FLAGS_KNOWN) != 0;
        cr_assert_eq(verdict_of_placed(&header), is_known ? FRAME_WHOLE : FRAME_ABSURD, "%u", bit);
    }
}

/* What an interrupted write leaves: the file ends, or zeros go on where they were before. */
static bool cut_is_torn(const struct sample *sample, size_t cut, uint64_t offset, bool file_ends) {
    uint8_t bytes[ROOM] = {0};
    memcpy(bytes, sample->bytes, cut);
    const size_t count = file_ends ? cut : sample->size;
    const bool has_header = count >= FRAME_HEADER_BYTES && verdict_of(bytes, &key) == FRAME_WHOLE;
    const size_t size = has_header ? sample->size : FRAME_HEADER_BYTES;
    if (has_header && count == sample->size)
        cr_assert(!frame_body_is_whole(&sample->header, bytes, key.secret), "cut at %zu", cut);
    return frame_is_torn(bytes, count, size, offset);
}

Test(frame, a_cut_at_any_byte_is_seen) {
    static const uint32_t payloads[] = {0, 1, 6, 7, 8, 500, PAYLOAD};
    for (size_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++) {
        const struct sample sample = sample_of(METADATA, payloads[i]);
        for (size_t cut = 0; cut < sample.size; cut++) {
            for (uint64_t offset = 4096; offset < 4096 + 512; offset += 120) {
                cr_assert(cut_is_torn(&sample, cut, offset, true), "%zu, the file ends", cut);
                cr_assert(cut_is_torn(&sample, cut, offset, false), "%zu, zeros", cut);
            }
        }
    }
}

/* Power may keep any of a frame's sectors and lose others. */
Test(frame, any_lost_sector_is_seen) {
    const struct sample sample = sample_of(METADATA, PAYLOAD);
    for (size_t offset = 4096; offset < 4096 + 512; offset += 8) {
        for (size_t sector = offset / 512; sector * 512 < offset + sample.size; sector++) {
            uint8_t bytes[ROOM];
            memcpy(bytes, sample.bytes, ROOM);
            for (size_t at = 0; at < sample.size; at++) {
                if ((offset + at) / 512 == sector)
                    bytes[at] = 0;
            }
            const bool has_header = verdict_of(bytes, &key) == FRAME_WHOLE;
            const size_t size = has_header ? sample.size : FRAME_HEADER_BYTES;
            cr_assert(frame_is_torn(bytes, sample.size, size, offset), "sector %zu of %zu", sector,
                      offset);
        }
    }
}

Test(frame, one_wrong_byte_is_no_interrupted_write) {
    struct sample sample = sample_of(METADATA, PAYLOAD);
    cr_assert(!frame_is_torn(sample.bytes, sample.size, sample.size, 4096), "the whole frame");
    for (size_t at = 0; at < sample.size; at++) {
        sample.bytes[at] = (uint8_t)(sample.bytes[at] ^ 0x40);
        const size_t size = at < FRAME_HEADER_BYTES ? FRAME_HEADER_BYTES : sample.size;
        cr_assert(!frame_is_torn(sample.bytes, sample.size, size, 4096), "byte %zu", at);
        sample.bytes[at] = (uint8_t)(sample.bytes[at] ^ 0x40);
    }
}

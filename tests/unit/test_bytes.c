#include "bytes.h"

#include <criterion/criterion.h>

Test(bytes, a_number_is_little_endian_at_any_address) {
    uint8_t room[24];
    for (size_t at = 0; at < 8; at++) {
        memset(room, 0xee, sizeof room);
        bytes_store_u16(room + at, 0x0201);
        cr_assert_eq(room[at], 1);
        cr_assert_eq(room[at + 1], 2);
        cr_assert_eq(room[at + 2], 0xee, "no byte too many");
        cr_assert_eq(bytes_load_u16(room + at), 0x0201);
        bytes_store_u32(room + at, 0x84838281U);
        cr_assert_eq(room[at], 0x81);
        cr_assert_eq(room[at + 3], 0x84);
        cr_assert_eq(room[at + 4], 0xee, "no byte too many");
        cr_assert_eq(bytes_load_u32(room + at), 0x84838281U);
        bytes_store_u64(room + at, 0xf8f7f6f5f4f3f2f1U);
        cr_assert_eq(room[at], 0xf1);
        cr_assert_eq(room[at + 7], 0xf8);
        cr_assert_eq(room[at + 8], 0xee, "no byte too many");
        cr_assert_eq(bytes_load_u64(room + at), 0xf8f7f6f5f4f3f2f1U);
    }
}

Test(bytes, one_bit_anywhere_is_not_zero) {
    enum { ROOM = 48 };
    uint8_t room[ROOM];
    for (size_t from = 0; from < 16; from++) {
        for (size_t count = 0; from + count <= ROOM; count++) {
            memset(room, 0xff, ROOM);
            memset(room + from, 0, count);
            cr_assert(bytes_are_zero(room + from, count), "%zu from %zu", count, from);
            for (size_t at = from; at < from + count; at++) {
                room[at] = (uint8_t)(1U << at % 8);
                cr_assert(!bytes_are_zero(room + from, count), "%zu of %zu from %zu", at, count,
                          from);
                room[at] = 0;
            }
        }
    }
}

Test(bytes, a_reader_gives_what_is_there_and_then_turns_bad) {
    const uint8_t bytes[] = {7, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 9, 10};
    struct reader reader = reader_over(bytes, sizeof bytes);
    cr_assert_eq(reader_u8(&reader), 7);
    cr_assert_eq(reader_u32(&reader), 1);
    cr_assert_eq(reader_u64(&reader), 2);
    cr_assert_eq(reader_left(&reader), 2);
    cr_assert(reader_take(&reader, 2) == bytes + 13);
    cr_assert(!reader.bad, "the end itself is not beyond it");
    cr_assert_not_null(reader_take(&reader, 0));
    cr_assert_eq(reader_u8(&reader), 0);
    cr_assert(reader.bad);
}

Test(bytes, a_bad_reader_stays_bad_and_still) {
    const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7};
    struct reader reader = reader_over(bytes, sizeof bytes);
    cr_assert_eq(reader_u64(&reader), 0, "one byte is missing");
    cr_assert(reader.bad);
    cr_assert_eq(reader_left(&reader), 7, "nothing was taken");
    cr_assert_eq(reader_u8(&reader), 0);
    cr_assert_eq(reader_u32(&reader), 0);
    cr_assert_eq(reader_varint(&reader), 0);
    cr_assert_null(reader_take(&reader, 0));
    cr_assert(reader.bad);
}

Test(bytes, a_size_that_would_wrap_is_refused) {
    const uint8_t bytes[4] = {0};
    struct reader reader = reader_over(bytes, sizeof bytes);
    cr_assert_null(reader_take(&reader, SIZE_MAX));
    cr_assert(reader.bad);
    uint8_t room[4];
    struct writer writer = writer_over(room, sizeof room);
    cr_assert_null(writer_claim(&writer, SIZE_MAX));
    cr_assert(writer.bad);
}

Test(bytes, a_writer_fills_its_room_and_no_more) {
    uint8_t room[15];
    memset(room, 0xee, sizeof room);
    struct writer writer = writer_over(room, 14);
    writer_u8(&writer, 7);
    writer_u32(&writer, 1);
    writer_u64(&writer, 2);
    writer_bytes(&writer, NULL, 0);
    cr_assert_eq(writer_used(&writer), 13);
    cr_assert(!writer.bad);
    writer_bytes(&writer, "ab", 2);
    cr_assert(writer.bad);
    cr_assert_eq(room[13], 0xee, "what does not fit is not begun");
    writer_u8(&writer, 9);
    cr_assert_eq(writer_used(&writer), 13, "a bad writer does nothing");
    cr_assert_eq(room[13], 0xee);
    cr_assert_eq(room[14], 0xee);
}

static size_t varint_bytes(uint32_t value, uint8_t bytes[8]) {
    struct writer writer = writer_over(bytes, 8);
    writer_varint(&writer, value);
    cr_assert(!writer.bad);
    return writer_used(&writer);
}

Test(bytes, a_varint_comes_back_at_every_length) {
    for (unsigned bit = 0; bit < 32; bit++) {
        const uint32_t around[] = {(1U << bit) - 1, 1U << bit, (1U << bit) + 1};
        for (size_t i = 0; i < 3; i++) {
            uint8_t bytes[8];
            const size_t size = varint_bytes(around[i], bytes);
            size_t expected = 1;
            while (expected < 5 && around[i] >> 7 * expected != 0)
                expected++;
            cr_assert_eq(size, expected, "%u", around[i]);
            struct reader reader = reader_over(bytes, size);
            cr_assert_eq(reader_varint(&reader), around[i]);
            cr_assert(!reader.bad);
            cr_assert_eq(reader_left(&reader), 0);
        }
    }
    uint8_t bytes[8];
    cr_assert_eq(varint_bytes(UINT32_MAX, bytes), 5);
}

Test(bytes, a_varint_that_ends_early_is_bad) {
    uint8_t bytes[8];
    const size_t size = varint_bytes(UINT32_MAX, bytes);
    for (size_t count = 0; count < size; count++) {
        struct reader reader = reader_over(bytes, count);
        cr_assert_eq(reader_varint(&reader), 0);
        cr_assert(reader.bad, "%zu of %zu", count, size);
    }
}

struct spelling {
    const char *name;
    uint8_t bytes[8];
    size_t count;
};

Test(bytes, a_varint_has_one_spelling) {
    static const struct spelling wrong[] = {
        {"0 in two", {0x80, 0x00}, 2},
        {"1 in two", {0x81, 0x00}, 2},
        {"0 in five", {0x80, 0x80, 0x80, 0x80, 0x00}, 5},
        {"127 in three", {0xff, 0x80, 0x00}, 3},
        {"the 33rd bit", {0x80, 0x80, 0x80, 0x80, 0x10}, 5},
        {"all of five", {0xff, 0xff, 0xff, 0xff, 0x7f}, 5},
        {"six", {0xff, 0xff, 0xff, 0xff, 0x8f, 0x00}, 6},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct reader reader = reader_over(wrong[i].bytes, wrong[i].count);
        cr_assert_eq(reader_varint(&reader), 0, "%s", wrong[i].name);
        cr_assert(reader.bad, "%s", wrong[i].name);
    }
    static const uint8_t greatest[] = {0xff, 0xff, 0xff, 0xff, 0x0f};
    struct reader reader = reader_over(greatest, sizeof greatest);
    cr_assert_eq(reader_varint(&reader), UINT32_MAX);
    cr_assert(!reader.bad);
}

/* Whatever bytes are read as a number are those by which it is written. */
Test(bytes, a_varint_that_is_read_is_the_one_that_is_written) {
    for (uint32_t word = 0; word < 1U << 16; word++) {
        uint8_t bytes[2], again[8];
        bytes_store_u16(bytes, (uint16_t)word);
        struct reader reader = reader_over(bytes, sizeof bytes);
        const uint32_t value = reader_varint(&reader);
        if (reader.bad)
            continue;
        const size_t used = sizeof bytes - reader_left(&reader);
        cr_assert_eq(varint_bytes(value, again), used);
        cr_assert_arr_eq(again, bytes, used);
    }
}

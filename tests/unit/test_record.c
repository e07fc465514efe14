#include "record.h"

#include <criterion/criterion.h>

enum { ROOM = 20000 };

static const uint32_t sizes[] = {0, 1, 127, 128, 129, 16383, 16384};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

Test(record, comes_back_at_every_length_of_its_length) {
    static uint8_t body[ROOM], room[ROOM];
    memset(body, 'b', sizeof body);
    for (size_t i = 0; i < SIZES; i++) {
        struct writer writer = writer_over(room, sizeof room);
        record_write(&writer, 255, RECORD_SKIPPABLE, body, sizes[i]);
        cr_assert(!writer.bad);
        cr_assert_eq(writer_used(&writer), record_bytes(sizes[i]), "%u", sizes[i]);
        struct reader reader = reader_over(room, writer_used(&writer));
        struct record record;
        cr_assert_eq(record_next(&reader, &record), PAWL_OK);
        cr_assert_eq(record.kind, 255);
        cr_assert_eq(record.flags, RECORD_SKIPPABLE);
        cr_assert_eq(record.bytes, sizes[i]);
        cr_assert_arr_eq(record.body, body, sizes[i]);
        cr_assert_eq(record_next(&reader, &record), PAWL_EMPTY, "and nothing behind it");
    }
}

Test(record, its_size_is_known_without_writing_it) {
    cr_assert_eq(record_bytes(0), 3);
    cr_assert_eq(record_bytes(127), 3 + 127);
    cr_assert_eq(record_bytes(128), 4 + 128);
    cr_assert_eq(record_bytes((1U << 14) - 1), 4 + (1U << 14) - 1);
    cr_assert_eq(record_bytes(1U << 14), 5 + (1U << 14));
    cr_assert_eq(record_bytes(1U << 21), 6 + (1U << 21));
    cr_assert_eq(record_bytes(1U << 28), 7 + (1U << 28));
    cr_assert_eq(record_bytes(UINT32_MAX), (size_t)7 + UINT32_MAX);
}

Test(record, many_come_back_in_their_order) {
    uint8_t room[1024];
    struct writer writer = writer_over(room, sizeof room);
    for (uint8_t kind = 1; kind <= 100; kind++)
        record_write(&writer, kind, 0, &kind, kind & 1);
    cr_assert(!writer.bad);
    struct reader reader = reader_over(room, writer_used(&writer));
    struct record record;
    for (uint8_t kind = 1; kind <= 100; kind++) {
        cr_assert_eq(record_next(&reader, &record), PAWL_OK);
        cr_assert_eq(record.kind, kind);
        cr_assert_eq(record.bytes, kind & 1);
    }
    cr_assert_eq(record_next(&reader, &record), PAWL_EMPTY);
}

Test(record, that_ends_early_is_damage_and_gives_nothing) {
    static uint8_t body[300], room[400];
    for (size_t i = 0; i < 4; i++) {
        struct writer writer = writer_over(room, sizeof room);
        record_write(&writer, RECORD_FIRST_OF_STATE, 0, body, sizes[i]);
        for (size_t count = 1; count < writer_used(&writer); count++) {
            struct reader reader = reader_over(room, count);
            struct record record = {.kind = 99};
            cr_assert_eq(record_next(&reader, &record), PAWL_DAMAGED, "%zu of %u", count, sizes[i]);
            cr_assert_eq(record.kind, 99, "untouched");
        }
    }
    struct reader nothing = reader_over(room, 0);
    struct record record;
    cr_assert_eq(record_next(&nothing, &record), PAWL_EMPTY);
}

static pawl_status status_of(const void *bytes, size_t count) {
    struct reader reader = reader_over(bytes, count);
    struct record record;
    return record_next(&reader, &record);
}

Test(record, of_no_kind_or_with_an_unknown_flag_is_damage) {
    cr_assert_eq(status_of("\x01\x00\x00", 3), PAWL_OK);
    cr_assert_eq(status_of("\x00\x00\x00", 3), PAWL_DAMAGED, "kind 0");
    for (unsigned flags = 0; flags < 256; flags++) {
        const uint8_t bytes[] = {1, (uint8_t)flags, 0};
        cr_assert_eq(status_of(bytes, sizeof bytes),
                     (flags & ~(unsigned)RECORD_FLAGS_KNOWN) == 0 ? PAWL_OK : PAWL_DAMAGED, "%u",
                     flags);
    }
    cr_assert_eq(status_of("\x01\x00\x80\x00", 4), PAWL_DAMAGED, "a length spelt too long");
    cr_assert_eq(status_of("\x01\x00\xff\xff\xff\xff\x0f", 7), PAWL_DAMAGED, "4 GiB of body");
}

Test(record, that_does_not_fit_turns_the_writer_bad) {
    uint8_t body[10] = {0}, room[16];
    struct writer writer = writer_over(room, record_bytes(sizeof body));
    record_write(&writer, 1, 0, body, sizeof body);
    cr_assert(!writer.bad, "it fits exactly");
    for (size_t count = 0; count < record_bytes(sizeof body); count++) {
        memset(room, 0xee, sizeof room);
        writer = writer_over(room, count);
        record_write(&writer, 1, 0, body, sizeof body);
        cr_assert(writer.bad, "%zu", count);
        cr_assert_eq(room[count], 0xee, "nothing beyond its room");
    }
}

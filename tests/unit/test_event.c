#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event.h"
#include "prng.h"

#ifndef PAWL_SOURCE_DIR
#define PAWL_SOURCE_DIR "."
#endif

enum { ROOM = 64 * 1024, LIST_ROOM = 4096 };

static const uint8_t sample[300] = {'s', 'a', 'm', 'p', 'l', 'e'};

static uint64_t draw_number(struct prng *prng) {
    return prng_next(prng) >> prng_below(prng, 64);
}

/* A field with something in it; lists are laid out in `memory`. */
static void fill(struct prng *prng, struct event *event, const struct event_field *field,
                 uint8_t *memory) {
    void *value = (uint8_t *)event + field->at;
    switch (field->type) {
    case EVENT_TYPE_NUMBER:
    case EVENT_TYPE_TIME:
    case EVENT_TYPE_SPAN: *(uint64_t *)value = draw_number(prng) | 1; break;
    case EVENT_TYPE_TEXT:
    case EVENT_TYPE_BYTES:
        *(struct event_bytes *)value =
            (struct event_bytes){sample, (size_t)prng_below(prng, sizeof sample)};
        break;
    case EVENT_TYPE_LIST: {
        struct event_list list = {.writer = writer_over(memory, LIST_ROOM)};
        uint64_t row[EVENT_ROW_MAX], first = 0;
        for (uint64_t rows = 1 + prng_below(prng, 20); rows > 0; rows--) {
            for (unsigned i = 0; i < EVENT_ROW_MAX; i++)
                row[i] = draw_number(prng);
            row[0] = first += prng_below(prng, 3000);
            event_list_add(&list, row, field->width);
        }
        cr_assert(!list.writer.bad);
        *(struct event_items *)value = event_list_items(&list);
        break;
    }
    }
}

static void must_be_same(const struct event_field *field, const struct event *one,
                         const struct event *other) {
    const void *a = (const uint8_t *)one + field->at, *b = (const uint8_t *)other + field->at;
    if (field->type == EVENT_TYPE_LIST) {
        const struct event_items *x = a, *y = b;
        cr_assert_eq(x->count, y->count);
        cr_assert_eq(x->size, y->size);
        cr_assert(x->size == 0 || memcmp(x->data, y->data, x->size) == 0);
    } else if (field->type == EVENT_TYPE_TEXT || field->type == EVENT_TYPE_BYTES) {
        const struct event_bytes *x = a, *y = b;
        cr_assert_eq(x->data == NULL, y->data == NULL, "%s: absent is not empty", field->name);
        cr_assert_eq(x->size, y->size);
        cr_assert(x->size == 0 || memcmp(x->data, y->data, x->size) == 0);
    } else {
        cr_assert_eq(*(const uint64_t *)a, *(const uint64_t *)b, "%s", field->name);
    }
}

static struct record record_of(const uint8_t *bytes, size_t count) {
    struct reader reader = reader_over(bytes, count);
    struct record record = {0};
    cr_assert_eq(record_next(&reader, &record), PAWL_OK);
    cr_assert_eq(reader_left(&reader), 0);
    return record;
}

/* Writes a drawn event of that kind; returns the record's size. */
static size_t write_drawn(struct prng *prng, unsigned kind, uint32_t mask, struct event *ret_event,
                          uint8_t *lists, uint8_t *bytes) {
    const struct event_layout *layout = event_layout(kind);
    *ret_event = (struct event){.kind = (enum event_kind)kind};
    for (unsigned i = 0; i < layout->field_count; i++) {
        if ((mask >> i & 1) != 0)
            fill(prng, ret_event, &layout->fields[i], lists + i * LIST_ROOM);
    }
    struct writer writer = writer_over(bytes, ROOM);
    event_write(&writer, ret_event);
    cr_assert(!writer.bad);
    cr_assert_eq(writer_used(&writer), event_record_bytes(ret_event));
    return writer_used(&writer);
}

Test(event, of_every_kind_comes_back_with_any_of_its_fields) {
    static uint8_t lists[32 * LIST_ROOM], bytes[ROOM];
    struct prng prng = prng_stream(1, 1);
    for (unsigned kind = 0; kind < 256; kind++) {
        const struct event_layout *layout = event_layout(kind);
        for (unsigned i = 0; layout != NULL && i < 300; i++) {
            struct event event, again;
            const uint32_t mask = i == 0 ? 0 : i == 1 ? UINT32_MAX : (uint32_t)prng_next(&prng);
            const size_t size = write_drawn(&prng, kind, mask, &event, lists, bytes);
            const struct record record = record_of(bytes, size);
            cr_assert_eq(event_read(&record, &again), PAWL_OK, "%s", layout->name);
            cr_assert_eq(again.kind, kind);
            for (unsigned f = 0; f < layout->field_count; f++)
                must_be_same(&layout->fields[f], &event, &again);
        }
    }
}

Test(event, that_is_cut_short_or_goes_on_is_damage) {
    static uint8_t lists[32 * LIST_ROOM], bytes[ROOM];
    struct prng prng = prng_stream(2, 1);
    for (unsigned kind = 0; kind < 256; kind++) {
        struct event event, again;
        if (event_layout(kind) == NULL)
            continue;
        const size_t size = write_drawn(&prng, kind, UINT32_MAX, &event, lists, bytes);
        struct record record = record_of(bytes, size);
        const uint32_t whole = record.bytes;
        for (record.bytes = 0; record.bytes < whole; record.bytes++)
            cr_assert_eq(event_read(&record, &again), PAWL_DAMAGED, "%u of %u", record.bytes,
                         whole);
        bytes[size] = 0;
        record.bytes = whole + 1;
        cr_assert_eq(event_read(&record, &again), PAWL_DAMAGED);
    }
}

Test(event, of_an_unknown_kind_is_passed_over_only_where_it_may_be) {
    const uint8_t body[] = {0};
    struct record record = {.kind = 255, .bytes = 1, .body = body};
    struct event event;
    cr_assert_null(event_layout(255));
    cr_assert_eq(event_read(&record, &event), PAWL_VERSION);
    record.flags = RECORD_SKIPPABLE;
    cr_assert_eq(event_read(&record, &event), PAWL_NOT_FOUND);
}

Test(event, with_a_field_that_is_not_known_is_of_a_newer_library) {
    const uint8_t body[] = {1 << 1, 7};
    const struct record record = {.kind = EVENT_FORMAT_SET, .bytes = 2, .body = body};
    struct event event;
    cr_assert_eq(event_layout(EVENT_FORMAT_SET)->field_count, 1);
    cr_assert_eq(event_read(&record, &event), PAWL_VERSION);
}

Test(event, has_one_spelling) {
    struct event event;
    const uint8_t zero[] = {1, 0}, longer[] = {1, 0x87, 0};
    struct record record = {.kind = EVENT_FORMAT_SET, .bytes = sizeof zero, .body = zero};
    cr_assert_eq(event_read(&record, &event), PAWL_DAMAGED, "a number that is there is not 0");
    record.bytes = sizeof longer;
    record.body = longer;
    cr_assert_eq(event_read(&record, &event), PAWL_DAMAGED, "the shortest varint");
}

/* A cancel: its queue, and ranges as they are given. */
static pawl_status read_cancel(const uint8_t *rows, uint8_t size, uint8_t count) {
    uint8_t body[64] = {3, 1, count, size};
    struct event event;
    memcpy(body + 4, rows, size);
    const struct record record = {.kind = EVENT_CANCEL, .bytes = 4U + size, .body = body};
    return event_read(&record, &event);
}

Test(event, whose_rows_are_not_what_it_says_is_damage) {
    const uint8_t rows[] = {1, 2, 3, 4};
    const uint8_t wraps[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1, 1, 1};
    cr_assert_eq(read_cancel(rows, 4, 2), PAWL_OK);
    cr_assert_eq(read_cancel(rows, 4, 1), PAWL_DAMAGED, "something stands behind them");
    cr_assert_eq(read_cancel(rows, 4, 3), PAWL_DAMAGED, "one is missing");
    cr_assert_eq(read_cancel(rows, 3, 2), PAWL_DAMAGED, "one is cut");
    cr_assert_eq(read_cancel(rows, 0, 0), PAWL_DAMAGED, "a list that is there is not empty");
    cr_assert_eq(read_cancel(wraps, sizeof wraps, 2), PAWL_DAMAGED, "the first number wraps");
}

Test(event, rows_give_back_what_was_added_and_do_not_descend) {
    uint8_t memory[256];
    struct event_list list = {.writer = writer_over(memory, sizeof memory)};
    const uint64_t rows[][2] = {{5, 1}, {5, 0}, {300, UINT64_MAX}, {UINT64_MAX, 3}};
    for (size_t i = 0; i < 4; i++)
        event_list_add(&list, rows[i], 2);
    cr_assert(!list.writer.bad);
    const struct event_items items = event_list_items(&list);
    struct event_rows reading = event_rows_of(&items);
    uint64_t row[EVENT_ROW_MAX];
    for (size_t i = 0; i < 4; i++) {
        cr_assert(event_rows_next(&reading, row, 2));
        cr_assert_eq(row[0], rows[i][0]);
        cr_assert_eq(row[1], rows[i][1]);
    }
    cr_assert(!event_rows_next(&reading, row, 2));
    event_list_add(&list, rows[0], 2);
    cr_assert(list.writer.bad, "5 after the greatest of all");
}

Test(event, headers_are_names_and_values_in_turn) {
    uint8_t memory[128];
    struct writer writer = writer_over(memory, sizeof memory);
    const struct event_bytes name = {sample, 6}, empty = {sample, 0};
    event_headers_add(&writer, name, empty);
    event_headers_add(&writer, empty, name);
    struct reader reader = reader_over(memory, writer_used(&writer));
    struct event_bytes found_name, found_value;
    cr_assert(event_headers_next(&reader, &found_name, &found_value));
    cr_assert_eq(found_name.size, 6);
    cr_assert_eq(found_value.size, 0);
    cr_assert(event_headers_next(&reader, &found_name, &found_value));
    cr_assert_eq(found_name.size, 0);
    cr_assert_arr_eq(found_value.data, sample, 6);
    cr_assert(!event_headers_next(&reader, &found_name, &found_value));
    reader = reader_over(memory, writer_used(&writer) - 1);
    cr_assert(event_headers_next(&reader, &found_name, &found_value));
    cr_assert(!event_headers_next(&reader, &found_name, &found_value), "the second is cut");
}

/* The line of docs/format.md for a kind. */
static void describe(unsigned kind, const struct event_layout *layout, char line[1024]) {
    static const char *const letters[] = {"n", "t", "s", "x", "b", "r"};
    int used = snprintf(line, 1024, "| %u | `%s` |", kind, layout->name);
    for (unsigned i = 0; i < layout->field_count; i++) {
        const struct event_field *field = &layout->fields[i];
        used += snprintf(line + used, 1024 - (size_t)used, "%s %s %s", i == 0 ? "" : ",",
                         field->name, letters[field->type]);
        if (field->type == EVENT_TYPE_LIST)
            used += snprintf(line + used, 1024 - (size_t)used, "%u", field->width);
    }
    (void)snprintf(line + used, 1024 - (size_t)used, " |\n");
}

Test(event, of_every_kind_is_in_the_page_about_the_format_as_it_is) {
    char line[1024], expected[1024];
    unsigned kind = 0;
    FILE *file = fopen(PAWL_SOURCE_DIR "/docs/format.md", "r");
    cr_assert_not_null(file, "run it in the root of the repository");
    while (fgets(line, sizeof line, file) != NULL) {
        while (kind < 256 && event_layout(kind) == NULL)
            kind++;
        char start[32];
        (void)snprintf(start, sizeof start, "| %u | `", kind);
        if (kind == 256 || strncmp(line, start, strlen(start)) != 0)
            continue;
        describe(kind, event_layout(kind), expected);
        cr_assert_str_eq(line, expected);
        kind++;
    }
    (void)fclose(file);
    while (kind < 256 && event_layout(kind) == NULL)
        kind++;
    cr_assert_eq(kind, 256, "kind %u is not in the page", kind);
}

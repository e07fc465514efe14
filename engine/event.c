#include "event.h"

#include "check.h"

#include <stddef.h>

/* ---- The table ---- */

enum {
#define X(what, width) WIDTH_##what = (width),
    EVENT_LIST_MAP(X)
#undef X
};

#define X(what, width) STATIC_CHECK((width) <= EVENT_ROW_MAX, #what " has room in a row");
EVENT_LIST_MAP(X)
#undef X

/* What a field's type becomes: the member that holds it, and what the table says of it. */
#define MEMBER_NUMBER(name) name
#define MEMBER_TIME(name)   name##_us
#define MEMBER_SPAN(name)   name##_us
#define MEMBER_TEXT(name)   name
#define MEMBER_BYTES(name)  name
#define MEMBER_LIST(what)   MEMBER_NUMBER
#define TYPE_NUMBER         EVENT_TYPE_NUMBER, 0
#define TYPE_TIME           EVENT_TYPE_TIME, 0
#define TYPE_SPAN           EVENT_TYPE_SPAN, 0
#define TYPE_TEXT           EVENT_TYPE_TEXT, 0
#define TYPE_BYTES          EVENT_TYPE_BYTES, 0
#define TYPE_LIST(what)     EVENT_TYPE_LIST, WIDTH_##what

#define FIELD(lower, type, name)                                                                   \
    {#name, TYPE_##type, (uint16_t)offsetof(struct event, lower.MEMBER_##type(name))},

#define X(upper, kind, lower, printed)                                                             \
    static const struct event_field lower##_fields[] = {EVENT_##upper##_FIELDS(FIELD, lower)};     \
    STATIC_CHECK(sizeof lower##_fields / sizeof lower##_fields[0] <= 32, "the mask has 32 bits");
EVENT_MAP(X)
#undef X

static const struct event_layout layouts[256] = {
#define X(upper, kind, lower, printed)                                                             \
    [(kind)] = {(printed), lower##_fields, sizeof lower##_fields / sizeof lower##_fields[0]},
    EVENT_MAP(X)
#undef X
};

const struct event_layout *event_layout(unsigned kind) {
    return kind < sizeof layouts / sizeof layouts[0] && layouts[kind].name != NULL ? &layouts[kind]
                                                                                   : NULL;
}

static const void *field_of(const struct event *event, const struct event_field *field) {
    return (const uint8_t *)event + field->at;
}

/* ---- Writing ---- */

static bool field_is_absent(const struct event_field *field, const void *value) {
    switch (field->type) {
    case EVENT_TYPE_NUMBER:
    case EVENT_TYPE_TIME:
    case EVENT_TYPE_SPAN: return *(const uint64_t *)value == 0;
    case EVENT_TYPE_TEXT:
    case EVENT_TYPE_BYTES: return ((const struct event_bytes *)value)->data == NULL;
    case EVENT_TYPE_LIST: return ((const struct event_items *)value)->count == 0;
    }
    return true;
}

static size_t field_bytes(const struct event_field *field, const void *value) {
    switch (field->type) {
    case EVENT_TYPE_NUMBER:
    case EVENT_TYPE_TIME:
    case EVENT_TYPE_SPAN: return varint64_bytes(*(const uint64_t *)value);
    case EVENT_TYPE_TEXT:
    case EVENT_TYPE_BYTES: {
        const size_t size = ((const struct event_bytes *)value)->size;
        return varint64_bytes(size) + size;
    }
    case EVENT_TYPE_LIST: {
        const struct event_items *items = value;
        return varint64_bytes(items->count) + varint64_bytes(items->size) + items->size;
    }
    }
    return 0;
}

static void field_write(struct writer *writer, const struct event_field *field, const void *value) {
    switch (field->type) {
    case EVENT_TYPE_NUMBER:
    case EVENT_TYPE_TIME:
    case EVENT_TYPE_SPAN: writer_varint64(writer, *(const uint64_t *)value); break;
    case EVENT_TYPE_TEXT:
    case EVENT_TYPE_BYTES: {
        const struct event_bytes *bytes = value;
        writer_varint64(writer, bytes->size);
        writer_bytes(writer, bytes->data, bytes->size);
        break;
    }
    case EVENT_TYPE_LIST: {
        const struct event_items *items = value;
        writer_varint64(writer, items->count);
        writer_varint64(writer, items->size);
        writer_bytes(writer, items->data, items->size);
        break;
    }
    }
}

/* The mask of the fields that are there, and the size of the body. */
static uint32_t event_measure(const struct event *event, size_t *ret_body_bytes) {
    const struct event_layout *layout = &layouts[event->kind];
    uint32_t mask = 0;
    size_t bytes = 0;
    for (unsigned i = 0; i < layout->field_count; i++) {
        const struct event_field *field = &layout->fields[i];
        const void *value = field_of(event, field);
        if (field_is_absent(field, value))
            continue;
        mask |= 1U << i;
        bytes += field_bytes(field, value);
    }
    *ret_body_bytes = varint64_bytes(mask) + bytes;
    return mask;
}

size_t event_record_bytes(const struct event *event) {
    size_t body_bytes;
    (void)event_measure(event, &body_bytes);
    return record_bytes((uint32_t)body_bytes);
}

void event_write(struct writer *writer, const struct event *event) {
    const struct event_layout *layout = &layouts[event->kind];
    size_t body_bytes;
    const uint32_t mask = event_measure(event, &body_bytes);
    if (body_bytes > UINT32_MAX) {
        writer->bad = true;
        return;
    }
    record_begin(writer, (uint8_t)event->kind, 0, (uint32_t)body_bytes);
    writer_varint64(writer, mask);
    for (unsigned i = 0; i < layout->field_count; i++) {
        if ((mask & 1U << i) != 0)
            field_write(writer, &layout->fields[i], field_of(event, &layout->fields[i]));
    }
}

void event_list_add(struct event_list *list, const uint64_t *row, unsigned width) {
    if (row[0] < list->last)
        list->writer.bad = true;
    writer_varint64(&list->writer, row[0] - list->last);
    for (unsigned i = 1; i < width; i++)
        writer_varint64(&list->writer, row[i]);
    list->last = row[0];
    list->count++;
}

struct event_items event_list_items(const struct event_list *list) {
    return (struct event_items){list->writer.start, writer_used(&list->writer), list->count};
}

/* ---- Reading ---- */

struct event_rows event_rows_of(const struct event_items *items) {
    return (struct event_rows){reader_over(items->data, items->size), 0, items->count};
}

bool event_rows_next(struct event_rows *rows, uint64_t *ret_row, unsigned width) {
    if (rows->left == 0)
        return false;
    rows->left--;
    const uint64_t step = reader_varint64(&rows->reader);
    if (step > UINT64_MAX - rows->last)
        rows->reader.bad = true;
    rows->last += step;
    ret_row[0] = rows->last;
    for (unsigned i = 1; i < width; i++)
        ret_row[i] = reader_varint64(&rows->reader);
    return !rows->reader.bad;
}

/* All rows are there, and nothing behind them. */
static bool items_are_sound(const struct event_items *items, unsigned width) {
    uint64_t row[EVENT_ROW_MAX];
    struct event_rows rows = event_rows_of(items);
    while (event_rows_next(&rows, row, width))
        continue;
    return !rows.reader.bad && rows.left == 0 && reader_left(&rows.reader) == 0;
}

static void bytes_read(struct reader *reader, struct event_bytes *ret_bytes) {
    const uint64_t size = reader_varint64(reader);
    if (size > reader_left(reader)) {
        reader->bad = true;
        return;
    }
    *ret_bytes = (struct event_bytes){reader_take(reader, (size_t)size), (size_t)size};
}

/* False when the mask says that it is there, and it is not, or not whole. */
static bool field_read(struct reader *reader, const struct event_field *field, void *value) {
    switch (field->type) {
    case EVENT_TYPE_NUMBER:
    case EVENT_TYPE_TIME:
    case EVENT_TYPE_SPAN: *(uint64_t *)value = reader_varint64(reader); break;
    case EVENT_TYPE_TEXT:
    case EVENT_TYPE_BYTES: bytes_read(reader, value); break;
    case EVENT_TYPE_LIST: {
        struct event_items *items = value;
        struct event_bytes rows = {0};
        const uint64_t count = reader_varint64(reader);
        bytes_read(reader, &rows);
        *items = (struct event_items){rows.data, rows.size, (uint32_t)count};
        return !reader->bad && count <= rows.size && items_are_sound(items, field->width) &&
               !field_is_absent(field, value);
    }
    }
    return !reader->bad && !field_is_absent(field, value);
}

pawl_status event_read(const struct record *record, struct event *ret_event) {
    const struct event_layout *layout = event_layout(record->kind);
    if (layout == NULL)
        return (record->flags & RECORD_SKIPPABLE) != 0 ? PAWL_NOT_FOUND : PAWL_VERSION;
    struct reader reader = reader_over(record->body, record->bytes);
    const uint64_t mask = reader_varint64(&reader);
    if (reader.bad)
        return PAWL_DAMAGED;
    if (mask >> layout->field_count != 0)
        return PAWL_VERSION;
    struct event event = {.kind = (enum event_kind)record->kind};
    for (unsigned i = 0; i < layout->field_count; i++) {
        const struct event_field *field = &layout->fields[i];
        if ((mask & 1U << i) != 0 && !field_read(&reader, field, (uint8_t *)&event + field->at))
            return PAWL_DAMAGED;
    }
    if (reader_left(&reader) != 0)
        return PAWL_DAMAGED;
    *ret_event = event;
    return PAWL_OK;
}

bool event_headers_next(struct reader *reader, struct event_bytes *ret_name,
                        struct event_bytes *ret_value) {
    struct event_bytes name = {0}, value = {0};
    if (reader->bad || reader_left(reader) == 0)
        return false;
    bytes_read(reader, &name);
    bytes_read(reader, &value);
    if (reader->bad)
        return false;
    *ret_name = name;
    *ret_value = value;
    return true;
}

void event_headers_add(struct writer *writer, struct event_bytes name, struct event_bytes value) {
    writer_varint64(writer, name.size);
    writer_bytes(writer, name.data, name.size);
    writer_varint64(writer, value.size);
    writer_bytes(writer, value.data, value.size);
}

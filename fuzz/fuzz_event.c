/* Any bytes as the body of an event of the kind that the first byte says: what is read is written
 * alike, and its rows end within it. */
#include "event.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void walk_rows(const struct event *event, const struct event_field *field) {
    uint64_t row[EVENT_ROW_MAX];
    struct event_items items;
    memcpy(&items, (const uint8_t *)event + field->at, sizeof items);
    struct event_rows rows = event_rows_of(&items);
    uint32_t count = 0;
    while (event_rows_next(&rows, row, field->width))
        count++;
    if (count != items.count)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    struct event event;
    if (count == 0 || event_layout(bytes[0]) == NULL || count > UINT32_MAX)
        return 0;
    const struct record record = {
        .kind = bytes[0], .bytes = (uint32_t)(count - 1), .body = bytes + 1};
    if (event_read(&record, &event) != PAWL_OK)
        return 0;
    const struct event_layout *layout = event_layout(record.kind);
    for (unsigned i = 0; i < layout->field_count; i++) {
        if (layout->fields[i].type == EVENT_TYPE_LIST)
            walk_rows(&event, &layout->fields[i]);
    }
    const size_t size = event_record_bytes(&event);
    uint8_t *copy = malloc(size);
    if (copy == NULL)
        return 0;
    struct writer writer = writer_over(copy, size);
    event_write(&writer, &event);
    if (writer.bad || writer_used(&writer) != size || size < count - 1 ||
        (count > 1 && memcmp(copy + (size - (count - 1)), bytes + 1, count - 1) != 0))
        abort();
    free(copy);
    return 0;
}

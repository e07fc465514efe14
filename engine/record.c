#include "record.h"

size_t record_bytes(uint32_t body_bytes) {
    return 2 + varint64_bytes(body_bytes) + body_bytes;
}

void record_begin(struct writer *writer, uint8_t kind, uint8_t flags, uint32_t bytes) {
    writer_u8(writer, kind);
    writer_u8(writer, flags);
    writer_varint(writer, bytes);
}

void record_write(struct writer *writer, uint8_t kind, uint8_t flags, const void *body,
                  uint32_t bytes) {
    record_begin(writer, kind, flags, bytes);
    writer_bytes(writer, body, bytes);
}

pawl_status record_next(struct reader *reader, struct record *ret_record) {
    if (reader_left(reader) == 0)
        return PAWL_EMPTY;
    struct record record;
    record.kind = reader_u8(reader);
    record.flags = reader_u8(reader);
    record.bytes = reader_varint(reader);
    record.body = reader_take(reader, record.bytes);
    if (reader->bad || record.kind == 0 || (record.flags & ~RECORD_FLAGS_KNOWN) != 0)
        return PAWL_DAMAGED;
    *ret_record = record;
    return PAWL_OK;
}

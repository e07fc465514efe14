#include "record.h"

size_t record_bytes(uint32_t body_bytes) {
    size_t varint = 1;
    for (uint32_t rest = body_bytes >> 7; rest > 0; rest >>= 7)
        varint++;
    return 2 + varint + body_bytes;
}

void record_write(struct writer *writer, uint8_t kind, uint8_t flags, const void *body,
                  uint32_t bytes) {
    writer_u8(writer, kind);
    writer_u8(writer, flags);
    writer_varint(writer, bytes);
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

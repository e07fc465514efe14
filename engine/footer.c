#include "footer.h"

#include "check.h"

#define FOOTER_MAGIC 0x746f6f46U /* "Foot" */

enum {
    AT_FIRST_LSN = 0,
    AT_LSN = 8,
    AT_LENGTH = 21,
    AT_MAGIC = 25,
};

STATIC_CHECK(AT_MAGIC + 4 == FOOTER_BODY_BYTES, "the magic ends the body");
STATIC_CHECK((FRAME_HEADER_BYTES + FOOTER_METADATA_BYTES) % FRAME_ALIGNMENT == 0,
             "a footer's padding is a whole 8 bytes");

void footer_write(struct writer *writer, const struct footer *footer) {
    uint8_t body[FOOTER_BODY_BYTES] = {0};
    bytes_store_u64(body + AT_FIRST_LSN, footer->first_lsn);
    bytes_store_u64(body + AT_LSN, footer->lsn);
    bytes_store_u32(body + AT_LENGTH, (uint32_t)frame_bytes(FOOTER_METADATA_BYTES, 0));
    bytes_store_u32(body + AT_MAGIC, FOOTER_MAGIC);
    record_write(writer, RECORD_FOOTER, 0, body, sizeof body);
}

size_t footer_find(const uint8_t trailer[FOOTER_TRAILER_BYTES]) {
    for (int i = 8; i < FOOTER_TRAILER_BYTES; i++) {
        if (trailer[i] != FRAME_PADDING_BYTE)
            return 0;
    }
    return bytes_load_u32(trailer + 4) == FOOTER_MAGIC ? bytes_load_u32(trailer) : 0;
}

bool footer_read(const void *metadata, size_t bytes, struct footer *ret_footer) {
    struct reader reader = reader_over(metadata, bytes);
    struct record record;
    if (record_next(&reader, &record) != PAWL_OK || record.kind != RECORD_FOOTER ||
        record.bytes < FOOTER_BODY_BYTES)
        return false;
    ret_footer->first_lsn = bytes_load_u64(record.body + AT_FIRST_LSN);
    ret_footer->lsn = bytes_load_u64(record.body + AT_LSN);
    return true;
}

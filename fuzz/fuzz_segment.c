/* Any bytes as a segment's header, as a start's metadata and as a footer's end. */
#include "footer.h"
#include "segment.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    static const uint8_t uuid[SEGMENT_UUID_BYTES] = {1};
    struct segment_header header;
    struct segment_start start;
    struct footer footer;
    (void)segment_read_header(bytes, count, uuid, 4711, &header);
    (void)segment_start_decode(bytes, count, &start);
    (void)footer_read(bytes, count, &footer);
    if (count >= FOOTER_TRAILER_BYTES)
        (void)footer_find(bytes + count - FOOTER_TRAILER_BYTES);
    return 0;
}

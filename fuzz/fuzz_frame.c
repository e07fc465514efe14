/* Any bytes as a frame: only WHOLE lets a length be used, and WHOLE means what it says. */
#include "frame.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    static const struct frame_key key = {4711, 1};
    struct frame_header header;
    if (count < FRAME_HEADER_BYTES)
        return 0;
    if (frame_read_header(bytes, &key, &header) == FRAME_WHOLE) {
        const size_t size = frame_header_frame_bytes(&header);
        if (size == 0 || size > FRAME_BYTES_MAX)
            abort();
        if (size <= count)
            (void)frame_body_is_whole(&header, bytes, key.secret);
    }
    (void)frame_is_torn(bytes, count, FRAME_HEADER_BYTES, count % 4096);

    /* What is laid out from the same bytes is whole, and torn at none of its bytes. */
    struct frame_header built = {.lsn = 64, .metadata_bytes = (uint32_t)(count / 2)};
    built.payload_bytes = (uint32_t)(count - count / 2);
    const size_t size = frame_header_frame_bytes(&built);
    uint8_t *frame = malloc(size);
    if (frame == NULL)
        return 0;
    frame_build(&built, bytes, bytes + count / 2, key.secret, frame);
    frame_place(&built, &key, frame);
    if (frame_read_header(frame, &key, &header) != FRAME_WHOLE ||
        !frame_body_is_whole(&header, frame, key.secret))
        abort();
    free(frame);
    return 0;
}

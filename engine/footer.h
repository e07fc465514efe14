/* footer: the last frame of a sealed segment, found from the segment's end. Pure.
 *
 * A segment's end is known from its successor's start; the footer's last bytes but the padding say
 * how long it is, so that an opening reads it without the frames before it. It is a frame like any
 * other: a segment that was cut short has none, and nothing depends on one.
 */
#ifndef PAWL_ENGINE_FOOTER_H
#define PAWL_ENGINE_FOOTER_H

#include "bytes.h"
#include "frame.h"
#include "record.h"

enum {
    FOOTER_BODY_BYTES = 29, /* with the record's 3, the metadata ends aligned: the padding is 8 */
    FOOTER_METADATA_BYTES = 32,
    FOOTER_TRAILER_BYTES = 16, /* length, magic, padding: how the frame ends */
};

struct footer {
    uint64_t first_lsn; /* of the segment */
    uint64_t lsn;       /* the footer's own */
};

/* Writes the metadata of a footer frame. */
void footer_write(struct writer *writer, const struct footer *footer);

/* From the last FOOTER_TRAILER_BYTES of a segment: how many bytes before the end its footer begins;
 * 0 when it ends otherwise. What it finds must still be read as a frame. */
size_t footer_find(const uint8_t trailer[FOOTER_TRAILER_BYTES]);

/* From a whole frame's metadata. False when it is no footer. */
bool footer_read(const void *metadata, size_t bytes, struct footer *ret_footer);

#endif

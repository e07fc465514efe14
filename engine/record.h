/* record: the envelope of one logical event within a frame's metadata. Pure.
 *
 *     kind 1 | flags 1 | length varint | body
 *
 * The log knows its own kinds, below RECORD_FIRST_OF_STATE; what the others mean is decided above.
 * A kind that a reader does not know is passed over when it is marked skippable, and refused
 * (PAWL_VERSION) when not.
 */
#ifndef PAWL_ENGINE_RECORD_H
#define PAWL_ENGINE_RECORD_H

#include "bytes.h"
#include "status.h"

enum record_kind {
    RECORD_SEGMENT_START = 1, /* predecessor's ordinal and end; see segment.h */
    RECORD_FOOTER = 2,        /* see footer.h */
    RECORD_FIRST_OF_STATE = 16,
};

enum record_flags {
    RECORD_SKIPPABLE = 1 << 0,
    RECORD_FLAGS_KNOWN = (1 << 1) - 1,
};

struct record {
    uint8_t kind;
    uint8_t flags;
    uint32_t bytes;
    const uint8_t *body; /* in the reader's buffer */
};

/* The size of a record with such a body. */
size_t record_bytes(uint32_t body_bytes);

/* Writes one record; the writer turns bad when it does not fit. */
void record_write(struct writer *writer, uint8_t kind, uint8_t flags, const void *body,
                  uint32_t bytes);

/* The same up to the body, which the caller writes. */
void record_begin(struct writer *writer, uint8_t kind, uint8_t flags, uint32_t bytes);

/* The next record of a metadata block. PAWL_EMPTY at its end, PAWL_DAMAGED when the bytes are no
 * record (they stood under a checksum, so this is a writer's bug). */
pawl_status record_next(struct reader *reader, struct record *ret_record);

#endif

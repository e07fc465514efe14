/* frame: what one commit appends, as bytes. Pure: no I/O, no memory, no clock.
 *
 *     header 64 | metadata (the records) | payload | padding 1 to 8, never zero
 *
 * The header stands under its own checksum, so that no length is used before it is known to be
 * right; the checksum is bound to the store, the segment's ordinal and the LSN, so that no frame is
 * whole anywhere but where it was written. Metadata and payload have a checksum each: who only
 * replays never touches the payload. The last byte of a frame is never zero, so a write that was
 * cut short is seen at whatever byte it was cut.
 *
 * Invariants
 * F1  A frame's size is a multiple of 8 and at most FRAME_BYTES_MAX.
 *
 * F2  The next frame of the log has this one's LSN plus its size: LSNs are dense, a hole is
 *     visible.
 *
 * F3  `durable_lsn` was durable before the frame was written, so a whole header proves that every
 *     byte of the log below it has been on stable storage.
 */
#ifndef PAWL_ENGINE_FRAME_H
#define PAWL_ENGINE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    FRAME_HEADER_BYTES = 64,
    FRAME_ALIGNMENT = 8,
    FRAME_PADDING_BYTE = 0xa5,
    FRAME_RECORDS_MAX = 65536,
    FRAME_BYTES_MAX = 72 * 1024 * 1024,
};

/* So that no sum of a position and a size wraps. */
#define FRAME_LSN_MAX (UINT64_C(1) << 62)

enum frame_flags {
    FRAME_NEEDS_SYNC = 1 << 0,    /* its author waits until it is durable */
    FRAME_SEGMENT_START = 1 << 1, /* the first frame of a segment */
    FRAME_FOOTER = 1 << 2,        /* the last frame of a sealed segment */
    FRAME_MARK = 1 << 3,          /* carries nothing but its durable LSN */
    FRAME_CLOSE = 1 << 4,         /* a mark: the last handle was closed behind it */
    FRAME_FLAGS_KNOWN = (1 << 5) - 1,
};

struct frame_header {
    uint64_t lsn;         /* this frame's own place */
    uint64_t durable_lsn; /* known to be durable when it was written */
    uint64_t time_us;     /* store time */
    uint32_t metadata_bytes;
    uint32_t payload_bytes;
    uint32_t record_count;
    uint16_t flags;
    uint64_t metadata_hash;
    uint64_t payload_hash;
};

/* What a frame's checksums are bound to. */
struct frame_key {
    uint64_t secret;  /* the store's */
    uint64_t ordinal; /* the segment's */
};

/* The size of a frame with these parts, padding included; 0 when it is over FRAME_BYTES_MAX. */
size_t frame_bytes(uint64_t metadata_bytes, uint64_t payload_bytes);

static inline size_t frame_header_frame_bytes(const struct frame_header *header) {
    return frame_bytes(header->metadata_bytes, header->payload_bytes);
}

/* Lays a frame out in `buffer` (frame_bytes() long) but for its place: copies metadata and payload,
 * hashes them, sets the padding. Needs no lock. Fills the header's sizes and hashes. */
void frame_build(struct frame_header *header, const void *metadata, const void *payload,
                 uint64_t secret, uint8_t *buffer);

/* Puts the header, whose lsn, durable_lsn and time_us are now known, before what frame_build() laid
 * out. The frame is then whole. */
void frame_place(const struct frame_header *header, const struct frame_key *key, uint8_t *buffer);

enum frame_verdict {
    FRAME_WHOLE,  /* right as far as was asked */
    FRAME_ABSENT, /* 64 zero bytes: nothing was ever written */
    FRAME_WRONG,  /* the checksum or the magic does not hold */
    FRAME_ABSURD, /* the checksum holds and the content cannot be: a bug or an attack */
};

/* Reads a header from 64 bytes. Fills *ret_header only when FRAME_WHOLE. Does not ask where the
 * frame stands: the caller compares lsn with the place it read from. */
enum frame_verdict frame_read_header(const uint8_t bytes[FRAME_HEADER_BYTES],
                                     const struct frame_key *key, struct frame_header *ret_header);

/* Cheap look before frame_read_header(): false when these 64 bytes surely are no header. */
bool frame_looks_like_header(const uint8_t bytes[FRAME_HEADER_BYTES]);

bool frame_metadata_is_whole(const struct frame_header *header, const void *metadata,
                             uint64_t secret);
bool frame_payload_is_whole(const struct frame_header *header, const void *payload,
                            uint64_t secret);

/* Checks everything behind the header of a frame that is wholly in `buffer`: metadata, payload,
 * padding. */
bool frame_body_is_whole(const struct frame_header *header, const uint8_t *buffer, uint64_t secret);

/* Can an interrupted write explain that the frame at `offset` of its file is not whole? Yes if its
 * bytes end early (the file does, or `bytes` end in unwritten zeros), or if in some sector of 512
 * all of its bytes are zero, as they were before. `bytes` are the `count` bytes from the frame's
 * start that the file holds; `frame_size` is the size by its header, or FRAME_HEADER_BYTES when the
 * header itself is not right. */
bool frame_is_torn(const uint8_t *bytes, size_t count, size_t frame_size, uint64_t offset);

#endif

#include "frame.h"

#include "bytes.h"
#include "check.h"
#include "hash.h"

#include <string.h>

/* Byte offsets within the header; docs/format.md has the same table. */
enum {
    AT_LSN = 0,
    AT_DURABLE_LSN = 8,
    AT_TIME_US = 16,
    AT_METADATA_BYTES = 24,
    AT_PAYLOAD_BYTES = 28,
    AT_RECORD_COUNT = 32,
    AT_FLAGS = 36,
    AT_RESERVED = 38,
    AT_METADATA_HASH = 40,
    AT_PAYLOAD_HASH = 48,
    AT_HEADER_HASH = 56,
    AT_MAGIC = 60,
};

/* Last in the header and without a zero byte, so that a header cut short is seen to be. */
#define FRAME_MAGIC 0x4c776150U /* "PawL" */

STATIC_CHECK(AT_MAGIC + 4 == FRAME_HEADER_BYTES, "the magic ends the header");
STATIC_CHECK(FRAME_HEADER_BYTES % FRAME_ALIGNMENT == 0, "metadata begins aligned");

size_t frame_bytes(uint64_t metadata_bytes, uint64_t payload_bytes) {
    if (metadata_bytes > FRAME_BYTES_MAX || payload_bytes > FRAME_BYTES_MAX)
        return 0;
    const uint64_t bare = FRAME_HEADER_BYTES + metadata_bytes + payload_bytes;
    const uint64_t padded = (bare / FRAME_ALIGNMENT + 1) * FRAME_ALIGNMENT;
    return padded > FRAME_BYTES_MAX ? 0 : (size_t)padded;
}

static uint32_t header_hash(const uint8_t *bytes, const struct frame_key *key, uint64_t lsn) {
    const uint64_t seed = hash_bind(hash_bind(key->secret, key->ordinal) * 3, lsn);
    return (uint32_t)hash_bytes(bytes, AT_HEADER_HASH, seed);
}

void frame_build(struct frame_header *header, const void *metadata, const void *payload,
                 uint64_t secret, uint8_t *buffer) {
    uint8_t *at = buffer + FRAME_HEADER_BYTES;
    if (header->metadata_bytes > 0)
        memcpy(at, metadata, header->metadata_bytes);
    header->metadata_hash = hash_bytes(at, header->metadata_bytes, secret);
    at += header->metadata_bytes;
    if (header->payload_bytes > 0)
        memcpy(at, payload, header->payload_bytes);
    header->payload_hash = hash_bytes(at, header->payload_bytes, secret);
    at += header->payload_bytes;
    const size_t size = frame_header_frame_bytes(header);
    memset(at, FRAME_PADDING_BYTE, size - (size_t)(at - buffer));
}

void frame_place(const struct frame_header *header, const struct frame_key *key, uint8_t *buffer) {
    bytes_store_u64(buffer + AT_LSN, header->lsn);
    bytes_store_u64(buffer + AT_DURABLE_LSN, header->durable_lsn);
    bytes_store_u64(buffer + AT_TIME_US, header->time_us);
    bytes_store_u32(buffer + AT_METADATA_BYTES, header->metadata_bytes);
    bytes_store_u32(buffer + AT_PAYLOAD_BYTES, header->payload_bytes);
    bytes_store_u32(buffer + AT_RECORD_COUNT, header->record_count);
    bytes_store_u16(buffer + AT_FLAGS, header->flags);
    bytes_store_u16(buffer + AT_RESERVED, 0);
    bytes_store_u64(buffer + AT_METADATA_HASH, header->metadata_hash);
    bytes_store_u64(buffer + AT_PAYLOAD_HASH, header->payload_hash);
    bytes_store_u32(buffer + AT_HEADER_HASH, header_hash(buffer, key, header->lsn));
    bytes_store_u32(buffer + AT_MAGIC, FRAME_MAGIC);
}

bool frame_looks_like_header(const uint8_t bytes[FRAME_HEADER_BYTES]) {
    return bytes_load_u32(bytes + AT_MAGIC) == FRAME_MAGIC;
}

static bool header_can_be(const struct frame_header *header) {
    return frame_header_frame_bytes(header) != 0 && header->record_count <= FRAME_RECORDS_MAX &&
           (header->flags & ~FRAME_FLAGS_KNOWN) == 0 && header->durable_lsn <= header->lsn &&
           header->lsn % FRAME_ALIGNMENT == 0 && header->lsn < FRAME_LSN_MAX;
}

enum frame_verdict frame_read_header(const uint8_t bytes[FRAME_HEADER_BYTES],
                                     const struct frame_key *key, struct frame_header *ret_header) {
    if (!frame_looks_like_header(bytes))
        return bytes_are_zero(bytes, FRAME_HEADER_BYTES) ? FRAME_ABSENT : FRAME_WRONG;
    const struct frame_header header = {
        .lsn = bytes_load_u64(bytes + AT_LSN),
        .durable_lsn = bytes_load_u64(bytes + AT_DURABLE_LSN),
        .time_us = bytes_load_u64(bytes + AT_TIME_US),
        .metadata_bytes = bytes_load_u32(bytes + AT_METADATA_BYTES),
        .payload_bytes = bytes_load_u32(bytes + AT_PAYLOAD_BYTES),
        .record_count = bytes_load_u32(bytes + AT_RECORD_COUNT),
        .flags = bytes_load_u16(bytes + AT_FLAGS),
        .metadata_hash = bytes_load_u64(bytes + AT_METADATA_HASH),
        .payload_hash = bytes_load_u64(bytes + AT_PAYLOAD_HASH),
    };
    if (bytes_load_u32(bytes + AT_HEADER_HASH) != header_hash(bytes, key, header.lsn))
        return FRAME_WRONG;
    if (!header_can_be(&header) || bytes_load_u16(bytes + AT_RESERVED) != 0)
        return FRAME_ABSURD;
    *ret_header = header;
    return FRAME_WHOLE;
}

bool frame_metadata_is_whole(const struct frame_header *header, const void *metadata,
                             uint64_t secret) {
    return hash_bytes(metadata, header->metadata_bytes, secret) == header->metadata_hash;
}

bool frame_payload_is_whole(const struct frame_header *header, const void *payload,
                            uint64_t secret) {
    return hash_bytes(payload, header->payload_bytes, secret) == header->payload_hash;
}

bool frame_body_is_whole(const struct frame_header *header, const uint8_t *buffer,
                         uint64_t secret) {
    const uint8_t *metadata = buffer + FRAME_HEADER_BYTES;
    const uint8_t *payload = metadata + header->metadata_bytes;
    if (!frame_metadata_is_whole(header, metadata, secret) ||
        !frame_payload_is_whole(header, payload, secret))
        return false;
    const uint8_t *end = buffer + frame_header_frame_bytes(header);
    for (const uint8_t *at = payload + header->payload_bytes; at < end; at++) {
        if (*at != FRAME_PADDING_BYTE)
            return false;
    }
    return true;
}

bool frame_is_torn(const uint8_t *bytes, size_t count, size_t frame_size, uint64_t offset) {
    if (count < frame_size)
        return true;
    /* A prefix was written: the header ends with the magic and the frame with padding, and no byte
     * of either is zero. */
    if (bytes[frame_size - 1] == 0)
        return true;
    for (size_t at = 0; at < frame_size;) {
        const size_t in_sector = (size_t)((offset + at) % 512);
        size_t part = 512 - in_sector;
        if (part > frame_size - at)
            part = frame_size - at;
        if (bytes_are_zero(bytes + at, part))
            return true;
        at += part;
    }
    return false;
}

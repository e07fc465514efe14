/* bytes: little-endian loads and stores, and cursors that cannot leave their buffer.
 *
 * A cursor that was asked for more than there is turns bad and stays so: reads give zero, writes do
 * nothing. Callers check once, at the end.
 * Threads: pure functions over the caller's memory.
 */
#ifndef PAWL_ENGINE_BYTES_H
#define PAWL_ENGINE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t bytes_load_u16(const void *from) {
    const uint8_t *p = from;
    return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t bytes_load_u32(const void *from) {
    const uint8_t *p = from;
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t bytes_load_u64(const void *from) {
    const uint8_t *p = from;
    return (uint64_t)bytes_load_u32(p) | (uint64_t)bytes_load_u32(p + 4) << 32;
}

static inline void bytes_store_u16(void *to, uint16_t value) {
    uint8_t *p = to;
    p[0] = (uint8_t)value;
    p[1] = (uint8_t)(value >> 8);
}

static inline void bytes_store_u32(void *to, uint32_t value) {
    uint8_t *p = to;
    p[0] = (uint8_t)value;
    p[1] = (uint8_t)(value >> 8);
    p[2] = (uint8_t)(value >> 16);
    p[3] = (uint8_t)(value >> 24);
}

static inline void bytes_store_u64(void *to, uint64_t value) {
    uint8_t *p = to;
    bytes_store_u32(p, (uint32_t)value);
    bytes_store_u32(p + 4, (uint32_t)(value >> 32));
}

static inline bool bytes_are_zero(const void *from, size_t count) {
    const uint8_t *p = from;
    for (; count > 0 && ((uintptr_t)p & 7) != 0; p++, count--) {
        if (*p != 0)
            return false;
    }
    for (; count >= 8; p += 8, count -= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        if (word != 0)
            return false;
    }
    for (; count > 0; p++, count--) {
        if (*p != 0)
            return false;
    }
    return true;
}

struct reader {
    const uint8_t *at, *end;
    bool bad;
};

static inline struct reader reader_over(const void *bytes, size_t count) {
    const uint8_t *p = bytes;
    return (struct reader){.at = p, .end = p + count, .bad = false};
}

static inline size_t reader_left(const struct reader *reader) {
    return (size_t)(reader->end - reader->at);
}

/* The next `count` bytes in place, or NULL. */
static inline const uint8_t *reader_take(struct reader *reader, size_t count) {
    if (reader->bad || reader_left(reader) < count) {
        reader->bad = true;
        return NULL;
    }
    const uint8_t *p = reader->at;
    reader->at += count;
    return p;
}

static inline uint8_t reader_u8(struct reader *reader) {
    const uint8_t *p = reader_take(reader, 1);
    return p == NULL ? 0 : *p;
}

static inline uint32_t reader_u32(struct reader *reader) {
    const uint8_t *p = reader_take(reader, 4);
    return p == NULL ? 0 : bytes_load_u32(p);
}

static inline uint64_t reader_u64(struct reader *reader) {
    const uint8_t *p = reader_take(reader, 8);
    return p == NULL ? 0 : bytes_load_u64(p);
}

/* LEB128, at most 32 bits; an overlong form is bad, so every number has one spelling. */

/* The same with 64 bits: at most 10 bytes. */
static inline uint64_t reader_varint64(struct reader *reader) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        const uint8_t byte = reader_u8(reader);
        const uint64_t bits = byte & 0x7fU;
        if (shift == 63 && bits > 1)
            break;
        value |= bits << shift;
        if ((byte & 0x80) == 0) {
            if (byte == 0 && shift > 0)
                break;
            return reader->bad ? 0 : value;
        }
    }
    reader->bad = true;
    return 0;
}

/* The same, of a number that must fit 32 bits. */
static inline uint32_t reader_varint(struct reader *reader) {
    const uint64_t value = reader_varint64(reader);
    if (value <= UINT32_MAX)
        return (uint32_t)value;
    reader->bad = true;
    return 0;
}

struct writer {
    uint8_t *start, *at, *end;
    bool bad;
};

static inline struct writer writer_over(void *bytes, size_t count) {
    uint8_t *p = bytes;
    return (struct writer){.start = p, .at = p, .end = p + count, .bad = false};
}

static inline size_t writer_used(const struct writer *writer) {
    return (size_t)(writer->at - writer->start);
}

static inline uint8_t *writer_claim(struct writer *writer, size_t count) {
    if (writer->bad || (size_t)(writer->end - writer->at) < count) {
        writer->bad = true;
        return NULL;
    }
    uint8_t *p = writer->at;
    writer->at += count;
    return p;
}

static inline void writer_bytes(struct writer *writer, const void *from, size_t count) {
    uint8_t *p = writer_claim(writer, count);
    if (p != NULL && count > 0)
        memcpy(p, from, count);
}

static inline void writer_u8(struct writer *writer, uint8_t value) {
    uint8_t *p = writer_claim(writer, 1);
    if (p != NULL)
        *p = value;
}

static inline void writer_u32(struct writer *writer, uint32_t value) {
    uint8_t *p = writer_claim(writer, 4);
    if (p != NULL)
        bytes_store_u32(p, value);
}

static inline void writer_u64(struct writer *writer, uint64_t value) {
    uint8_t *p = writer_claim(writer, 8);
    if (p != NULL)
        bytes_store_u64(p, value);
}

static inline void writer_varint64(struct writer *writer, uint64_t value) {
    while (value >= 0x80) {
        writer_u8(writer, (uint8_t)(value | 0x80));
        value >>= 7;
    }
    writer_u8(writer, (uint8_t)value);
}

/* How many bytes that takes. */
static inline size_t varint64_bytes(uint64_t value) {
    size_t bytes = 1;
    for (uint64_t rest = value >> 7; rest > 0; rest >>= 7)
        bytes++;
    return bytes;
}

static inline void writer_varint(struct writer *writer, uint32_t value) {
    writer_varint64(writer, value);
}

#endif

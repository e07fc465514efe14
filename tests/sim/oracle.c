#include "oracle.h"

#include "bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void oracle_init(struct oracle *oracle) {
    memset(oracle, 0, sizeof *oracle);
}

void oracle_deinit(struct oracle *oracle) {
    for (size_t i = oracle->borrowed; i < oracle->count; i++)
        free(oracle->frames[i].payload);
    for (struct oracle_reading *reading = oracle->readings, *next; reading != NULL;
         reading = next) {
        next = reading->next;
        free(reading->seen);
        free(reading);
    }
    free(oracle->frames);
    memset(oracle, 0, sizeof *oracle);
}

static void *need(void *memory) {
    if (memory == NULL)
        abort();
    return memory;
}

void oracle_complain(struct oracle *oracle, const char *format, ...) {
    if (!oracle_is_content(oracle))
        return;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(oracle->complaint, sizeof oracle->complaint, format, arguments);
    va_end(arguments);
}

/* One in four is mostly zeros, so that whole sectors of a frame are. */
static uint8_t *payload_make(uint32_t number, uint32_t bytes) {
    uint8_t *payload = need(malloc(bytes));
    uint64_t state = number * UINT64_C(0x9e3779b97f4a7c15) + bytes;
    const bool is_sparse = number % 4 == 0;
    for (uint32_t i = 0; i < bytes; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407U;
        payload[i] = is_sparse && i >= 16 ? 0 : (uint8_t)(state >> 33);
    }
    bytes_store_u32(payload, number);
    bytes_store_u32(payload + 4, bytes);
    return payload;
}

void oracle_borrow(struct oracle *oracle, const struct oracle *from) {
    oracle_deinit(oracle);
    oracle->frames = need(malloc(from->capacity * sizeof *from->frames));
    memcpy(oracle->frames, from->frames, from->count * sizeof *from->frames);
    oracle->count = oracle->borrowed = from->count;
    oracle->capacity = from->capacity;
    oracle->confirmed_lsn = from->confirmed_lsn;
}

uint32_t oracle_try(struct oracle *oracle, uint32_t payload_bytes, const uint8_t **ret_payload) {
    if (oracle->count == oracle->capacity) {
        oracle->capacity = oracle->capacity == 0 ? 256 : oracle->capacity * 2;
        oracle->frames = need(realloc(oracle->frames, oracle->capacity * sizeof *oracle->frames));
    }
    const uint32_t number = (uint32_t)oracle->count++;
    oracle->frames[number] = (struct oracle_frame){
        .state = ORACLE_TRIED,
        .payload_bytes = payload_bytes,
        .payload = payload_make(number, payload_bytes),
    };
    *ret_payload = oracle->frames[number].payload;
    return number;
}

void oracle_appended(struct oracle *oracle, uint32_t number, uint64_t lsn, uint64_t end_lsn) {
    struct oracle_frame *frame = &oracle->frames[number];
    /* Another may have read it before its author was told. */
    if (frame->state == ORACLE_IN_LOG && (frame->lsn != lsn || frame->end_lsn != end_lsn))
        oracle_complain(oracle, "frame %u is at %llu for its author, at %llu for a reader", number,
                        (unsigned long long)lsn, (unsigned long long)frame->lsn);
    frame->state = ORACLE_IN_LOG;
    frame->lsn = lsn;
    frame->end_lsn = end_lsn;
}

void oracle_refused(struct oracle *oracle, uint32_t number) {
    if (oracle->frames[number].state == ORACLE_IN_LOG)
        oracle_complain(oracle, "frame %u was refused, and a reader has seen it", number);
    oracle->frames[number].state = ORACLE_REFUSED;
}

void oracle_confirmed(struct oracle *oracle, uint64_t lsn) {
    if (lsn > oracle->confirmed_lsn)
        oracle->confirmed_lsn = lsn;
}

void oracle_recovered(struct oracle *oracle, uint64_t tail) {
    if (tail < oracle->confirmed_lsn)
        oracle_complain(oracle, "recovered up to %llu, but %llu was confirmed",
                        (unsigned long long)tail, (unsigned long long)oracle->confirmed_lsn);
    for (size_t i = 0; i < oracle->count; i++) {
        struct oracle_frame *frame = &oracle->frames[i];
        if (frame->state != ORACLE_IN_LOG || frame->end_lsn <= tail)
            continue;
        if (!oracle->may_lose)
            oracle_complain(oracle, "frame %zu at %llu is gone, and no power was cut", i,
                            (unsigned long long)frame->lsn);
        frame->state = ORACLE_LOST;
    }
    /* Recovery has synced what it found. */
    oracle_confirmed(oracle, tail);
    oracle->may_lose = false;
}

struct oracle_reading *oracle_read_begin(struct oracle *oracle) {
    struct oracle_reading *reading = need(calloc(1, sizeof *reading));
    reading->next = oracle->readings;
    oracle->readings = reading;
    return reading;
}

/* Marks a frame as seen by this reading; true when it was already. */
static bool reading_see(struct oracle_reading *reading, uint32_t number, size_t count) {
    if (number >= reading->capacity) {
        reading->seen = need(realloc(reading->seen, count));
        memset(reading->seen + reading->capacity, 0, count - reading->capacity);
        reading->capacity = count;
    }
    const bool was_seen = reading->seen[number] != 0;
    reading->seen[number] = 1;
    return was_seen;
}

void oracle_read(struct oracle *oracle, struct oracle_reading *reading, uint64_t lsn,
                 uint64_t end_lsn, const uint8_t *payload, uint32_t bytes) {
    const uint32_t number =
        bytes >= ORACLE_PAYLOAD_BYTES_MIN ? bytes_load_u32(payload) : UINT32_MAX;
    if (number >= oracle->count || oracle->frames[number].payload_bytes != bytes ||
        memcmp(oracle->frames[number].payload, payload, bytes) != 0) {
        oracle_complain(oracle, "nobody has appended what stands at %llu", (unsigned long long)lsn);
        return;
    }
    struct oracle_frame *frame = &oracle->frames[number];
    if (frame->state == ORACLE_REFUSED || frame->state == ORACLE_LOST)
        oracle_complain(oracle, "frame %u was %s, and stands at %llu", number,
                        frame->state == ORACLE_LOST ? "lost" : "refused", (unsigned long long)lsn);
    if (frame->state == ORACLE_IN_LOG && frame->lsn != lsn)
        oracle_complain(oracle, "frame %u is at %llu, and stands at %llu too", number,
                        (unsigned long long)frame->lsn, (unsigned long long)lsn);
    if (reading_see(reading, number, oracle->count))
        oracle_complain(oracle, "frame %u is there twice", number);
    frame->state = ORACLE_IN_LOG;
    frame->lsn = lsn;
    frame->end_lsn = end_lsn;
}

void oracle_read_end(struct oracle *oracle, const struct oracle_reading *reading, uint64_t from_lsn,
                     uint64_t end_lsn) {
    for (size_t i = 0; i < oracle->count; i++) {
        const struct oracle_frame *frame = &oracle->frames[i];
        const bool is_seen = i < reading->capacity && reading->seen[i] != 0;
        if (frame->state == ORACLE_IN_LOG && frame->lsn >= from_lsn && frame->end_lsn <= end_lsn &&
            !is_seen)
            oracle_complain(oracle, "frame %zu at %llu is missing", i,
                            (unsigned long long)frame->lsn);
    }
}

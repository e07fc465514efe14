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
    free(oracle->frames);
    memset(oracle, 0, sizeof *oracle);
}

void oracle_complain(struct oracle *oracle, const char *format, ...) {
    if (!oracle_is_content(oracle))
        return;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(oracle->complaint, sizeof oracle->complaint, format, arguments);
    va_end(arguments);
}

uint32_t oracle_try(struct oracle *oracle, uint32_t payload_bytes) {
    if (oracle->count == oracle->capacity) {
        oracle->capacity = oracle->capacity == 0 ? 256 : oracle->capacity * 2;
        oracle->frames = realloc(oracle->frames, oracle->capacity * sizeof *oracle->frames);
        if (oracle->frames == NULL)
            abort();
    }
    oracle->frames[oracle->count] =
        (struct oracle_frame){.state = ORACLE_TRIED, .payload_bytes = payload_bytes};
    return (uint32_t)oracle->count++;
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

/* One in four is mostly zeros, so that whole sectors of a frame are. */
void oracle_payload(uint32_t number, uint32_t bytes, uint8_t *payload) {
    uint64_t state = number * UINT64_C(0x9e3779b97f4a7c15) + bytes;
    const bool is_sparse = number % 4 == 0;
    for (uint32_t i = 0; i < bytes; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407U;
        payload[i] = is_sparse && i >= 16 ? 0 : (uint8_t)(state >> 33);
    }
    bytes_store_u32(payload, number);
    bytes_store_u32(payload + 4, bytes);
}

void oracle_read_begin(struct oracle *oracle) {
    oracle->readings++;
}

static bool oracle_is_right(uint32_t number, const uint8_t *payload, uint32_t bytes) {
    uint8_t *expected = malloc(bytes);
    if (expected == NULL)
        abort();
    oracle_payload(number, bytes, expected);
    const bool is_right = memcmp(expected, payload, bytes) == 0;
    free(expected);
    return is_right;
}

void oracle_read(struct oracle *oracle, uint64_t lsn, uint64_t end_lsn, const uint8_t *payload,
                 uint32_t bytes) {
    const uint32_t number =
        bytes >= ORACLE_PAYLOAD_BYTES_MIN ? bytes_load_u32(payload) : UINT32_MAX;
    if (number >= oracle->count || oracle->frames[number].payload_bytes != bytes ||
        !oracle_is_right(number, payload, bytes)) {
        oracle_complain(oracle, "nobody has appended what stands at %llu", (unsigned long long)lsn);
        return;
    }
    struct oracle_frame *frame = &oracle->frames[number];
    static const char *const never[] = {NULL, NULL, "was refused", "was lost"};
    if (never[frame->state] != NULL)
        oracle_complain(oracle, "frame %u %s, and stands at %llu", number, never[frame->state],
                        (unsigned long long)lsn);
    if (frame->state == ORACLE_IN_LOG && frame->lsn != lsn)
        oracle_complain(oracle, "frame %u is at %llu, and stands at %llu too", number,
                        (unsigned long long)frame->lsn, (unsigned long long)lsn);
    if (frame->seen == oracle->readings)
        oracle_complain(oracle, "frame %u is there twice", number);
    frame->seen = oracle->readings;
    frame->state = ORACLE_IN_LOG;
    frame->lsn = lsn;
    frame->end_lsn = end_lsn;
}

void oracle_read_end(struct oracle *oracle, uint64_t from_lsn, uint64_t end_lsn) {
    for (size_t i = 0; i < oracle->count; i++) {
        const struct oracle_frame *frame = &oracle->frames[i];
        if (frame->state == ORACLE_IN_LOG && frame->lsn >= from_lsn && frame->end_lsn <= end_lsn &&
            frame->seen != oracle->readings)
            oracle_complain(oracle, "frame %zu at %llu is missing", i,
                            (unsigned long long)frame->lsn);
    }
}

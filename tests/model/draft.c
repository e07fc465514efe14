#include "draft.h"

#include <stdlib.h>

void draft_begin(struct draft *draft, uint64_t lsn, uint64_t time_us) {
    draft->writer = writer_over(draft->bytes, sizeof draft->bytes);
    draft->lsn = lsn;
    draft->time_us = time_us;
}

struct event_list draft_list(struct draft *draft, unsigned which) {
    return (struct event_list){.writer = writer_over(draft->lists[which], DRAFT_LIST_BYTES)};
}

void draft_add(struct draft *draft, const struct event *event) {
    event_write(&draft->writer, event);
}

bool draft_has_room(const struct draft *draft) {
    return writer_used(&draft->writer) < DRAFT_BYTES - 3 * DRAFT_LIST_BYTES;
}

struct state_frame draft_frame(const struct draft *draft) {
    const size_t bytes = writer_used(&draft->writer);
    return (struct state_frame){.lsn = draft->lsn,
                                .end_lsn = draft->lsn + 64 + bytes,
                                .time_us = draft->time_us,
                                .metadata = draft->bytes,
                                .metadata_bytes = bytes};
}

void history_add(struct history *history, const struct state_frame *frame) {
    if (history->count == history->capacity) {
        history->capacity = history->capacity == 0 ? 64 : history->capacity * 2;
        history->frames = realloc(history->frames, history->capacity * sizeof *history->frames);
    }
    uint8_t *bytes = malloc(frame->metadata_bytes + 1);
    if (bytes == NULL || history->frames == NULL)
        abort();
    if (frame->metadata_bytes > 0)
        memcpy(bytes, frame->metadata, frame->metadata_bytes);
    struct state_frame *kept = &history->frames[history->count++];
    *kept = *frame;
    kept->metadata = bytes;
}

void history_clear(struct history *history) {
    for (size_t i = 0; i < history->count; i++) {
        union {
            const void *given;
            void *ours;
        } bytes = {history->frames[i].metadata};
        free(bytes.ours);
    }
    free(history->frames);
    *history = (struct history){0};
}

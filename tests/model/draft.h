/* draft: a frame's metadata in the making, and those of a run, kept. */
#ifndef PAWL_TESTS_MODEL_DRAFT_H
#define PAWL_TESTS_MODEL_DRAFT_H

#include "event.h"
#include "state.h"

enum { DRAFT_BYTES = 1 << 17, DRAFT_LIST_BYTES = 1 << 14 };

struct draft {
    struct writer writer;
    uint64_t lsn, time_us;
    uint8_t bytes[DRAFT_BYTES];
    uint8_t lists[2][DRAFT_LIST_BYTES];
};

void draft_begin(struct draft *draft, uint64_t lsn, uint64_t time_us);

/* A list of the event in hand; there are two. It is good until the next one is begun there. */
struct event_list draft_list(struct draft *draft, unsigned which);
void draft_add(struct draft *draft, const struct event *event);
bool draft_has_room(const struct draft *draft);
struct state_frame draft_frame(const struct draft *draft);

struct history {
    struct state_frame *frames;
    size_t count, capacity;
};

void history_add(struct history *history, const struct state_frame *frame);
void history_clear(struct history *history);

#endif

/* generator_pick: what an operation of the generator is to be about. */
#ifndef PAWL_TESTS_MODEL_GENERATOR_PICK_H
#define PAWL_TESTS_MODEL_GENERATOR_PICK_H

#include "generator.h"

enum { PICK_MAX = 24 };

struct picks {
    uint64_t seqs[PICK_MAX];
    unsigned count;
};

uint64_t pick_below(struct generator *generator, uint64_t limit);
bool pick_chance(struct generator *generator, unsigned percent);

/* NULL, or false: there is none. */
struct model_queue *pick_queue(struct generator *generator);
bool pick_at(struct generator *generator, struct model_at *ret_at);

/* Up to `max` of the group's that are in one of the lives of the mask, in order. */
bool pick_live(struct generator *generator, const struct model_at *at, unsigned lives, unsigned max,
               struct picks *ret_picks);

/* A session's slot plus 1 and its LSN; 0 and 0: none, detached. */
uint32_t pick_session(struct generator *generator, uint64_t *ret_lsn);

/* A time from now on, in microseconds, mostly soon. */
uint64_t pick_span(struct generator *generator);
uint64_t ms_up(uint64_t us);
uint64_t delay_ms_up(uint64_t us);

void pick_add(struct picks *picks, uint64_t seq);
struct event_bytes text_of(const char *text);

/* The operations, by what they are about. */
#define X(name, weight) bool generate_##name(struct generator *generator);
GENERATOR_OPERATIONS(X)
#undef X

/* For a queue that is there, as part of another operation. */
void generate_messages(struct generator *generator, struct model_queue *queue, unsigned count,
                       uint64_t gap);
bool generate_group_of(struct generator *generator, struct model_queue *queue);

#endif

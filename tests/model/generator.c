#include "generator_pick.h"

#include <stdlib.h>

const char *generator_operation_name(unsigned operation) {
    static const char *const names[] = {
#define X(name, weight) #name,
        GENERATOR_OPERATIONS(X)
#undef X
    };
    return names[operation];
}

/* ---- Picking ---- */

uint64_t pick_below(struct generator *generator, uint64_t limit) {
    return prng_below(&generator->prng, limit);
}

bool pick_chance(struct generator *generator, unsigned percent) {
    return prng_chance(&generator->prng, percent * 1000);
}

struct model_queue *pick_queue(struct generator *generator) {
    const unsigned from = (unsigned)pick_below(generator, MODEL_QUEUES);
    for (unsigned i = 0; i < MODEL_QUEUES; i++) {
        struct model_queue *queue = &generator->model.queues[(from + i) % MODEL_QUEUES];
        if (queue->number != 0)
            return queue;
    }
    return NULL;
}

bool pick_at(struct generator *generator, struct model_at *ret_at) {
    struct model_queue *queue = pick_queue(generator);
    const unsigned from = (unsigned)pick_below(generator, MODEL_GROUPS);
    for (unsigned i = 0; queue != NULL && i < MODEL_GROUPS; i++) {
        struct model_group *group = &queue->groups[(from + i) % MODEL_GROUPS];
        if (group->number == 0)
            continue;
        *ret_at = (struct model_at){&generator->model, queue, group};
        return true;
    }
    return false;
}

/* Keeps them in order, each once. */
void pick_add(struct picks *picks, uint64_t seq) {
    unsigned at = picks->count;
    for (unsigned i = 0; i < picks->count; i++) {
        if (picks->seqs[i] == seq)
            return;
    }
    if (picks->count == PICK_MAX)
        return;
    for (picks->count++; at > 0 && picks->seqs[at - 1] > seq; at--)
        picks->seqs[at] = picks->seqs[at - 1];
    picks->seqs[at] = seq;
}

bool pick_live(struct generator *generator, const struct model_at *at, unsigned lives, unsigned max,
               struct picks *ret_picks) {
    const struct model_group *group = at->group;
    const unsigned want = 1 + (unsigned)pick_below(generator, max);
    /* Half of the time among a few, so that some messages have long lives. */
    const unsigned few = pick_chance(generator, 50) ? 4 : UINT32_MAX;
    ret_picks->count = 0;
    for (unsigned tries = 0; tries < 2 * want + 8 && ret_picks->count < want; tries++) {
        if (group->live_count == 0)
            break;
        const uint64_t seq =
            group->live[pick_below(generator, group->live_count < few ? group->live_count : few)];
        if ((lives & 1U << group->messages[seq].life) != 0)
            pick_add(ret_picks, seq);
    }
    return ret_picks->count > 0;
}

uint32_t pick_session(struct generator *generator, uint64_t *ret_lsn) {
    const unsigned from = (unsigned)pick_below(generator, SHARED_SLOTS);
    *ret_lsn = 0;
    for (unsigned i = 0; i < SHARED_SLOTS && !pick_chance(generator, 1); i++) {
        const unsigned slot = (from + i) % SHARED_SLOTS;
        if (generator->model.sessions[slot] == 0)
            continue;
        *ret_lsn = generator->model.sessions[slot];
        return slot + 1;
    }
    return 0;
}

uint64_t pick_span(struct generator *generator) {
    static const uint64_t limits[] = {2000, 1000000, 60000000, UINT64_C(86400000000),
                                      UINT64_C(20000000000000)};
    const uint64_t limit = limits[pick_below(generator, sizeof limits / sizeof limits[0])];
    return 1 + pick_below(generator, limit);
}

uint64_t ms_up(uint64_t us) {
    return (us + 999) / 1000;
}

uint64_t delay_ms_up(uint64_t us) {
    return ms_up(us) < UINT32_MAX ? ms_up(us) : UINT32_MAX;
}

struct event_bytes text_of(const char *text) {
    const size_t size = strlen(text);
    return (struct event_bytes){size == 0 ? NULL : (const uint8_t *)text, size};
}

/* ---- Frames ---- */

static bool (*const operations[])(struct generator *) = {
#define X(name, weight) generate_##name,
    GENERATOR_OPERATIONS(X)
#undef X
};

static const unsigned weights[] = {
#define X(name, weight) weight,
    GENERATOR_OPERATIONS(X)
#undef X
};

static unsigned pick_operation(struct generator *generator) {
    unsigned sum = 0, at = 0;
    for (unsigned i = 0; i < GENERATOR_OPERATION_COUNT; i++)
        sum += weights[i];
    unsigned rest = (unsigned)pick_below(generator, sum);
    for (; rest >= weights[at]; at++)
        rest -= weights[at];
    return at;
}

void generator_init(struct generator *generator, uint64_t seed, enum canary canary) {
    generator->prng = prng_stream(seed, 1);
    generator->next_lsn = 64;
    generator->canary = canary;
    memset(generator->done, 0, sizeof generator->done);
    model_init(&generator->model);
    generator->model.time_us = UINT64_C(1700000000000000);
}

void generator_deinit(struct generator *generator) {
    model_deinit(&generator->model);
}

struct state_frame generator_next(struct generator *generator) {
    struct model *model = &generator->model;
    model->touched_count = 0;
    model->time_us += pick_span(generator) / 4;
    draft_begin(&generator->draft, generator->next_lsn, model->time_us);
    unsigned left = pick_chance(generator, 30) ? 1 + (unsigned)pick_below(generator, 8) : 1;
    while (left > 0 && draft_has_room(&generator->draft)) {
        const unsigned operation = pick_operation(generator);
        if (!operations[operation](generator))
            continue;
        generator->done[operation]++;
        left--;
    }
    if (generator->draft.writer.bad)
        abort();
    const struct state_frame frame = draft_frame(&generator->draft);
    generator->next_lsn = frame.end_lsn;
    return frame;
}

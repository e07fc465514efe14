#include "truth.h"

#include <stdlib.h>

void truth_init(struct truth *truth, uint64_t seed, enum canary canary, struct oracle *oracle) {
    *truth = (struct truth){
        .generator = calloc(1, sizeof *truth->generator),
        .canary = canary,
        .seed = seed,
        .oracle = oracle,
    };
    if (truth->generator == NULL)
        abort();
    generator_init(truth->generator, seed, canary);
}

void truth_deinit(struct truth *truth) {
    generator_deinit(truth->generator);
    free(truth->generator);
    free(truth->steps);
}

static struct state_frame truth_draw(struct truth *truth, uint64_t seed, uint64_t lsn) {
    truth->generator->prng = prng_stream(seed, 3);
    truth->generator->next_lsn = lsn;
    return generator_next(truth->generator);
}

struct state_frame truth_try(struct truth *truth, uint64_t seed, uint64_t lsn) {
    truth->frame = truth_draw(truth, seed, lsn);
    truth->tried = (struct truth_step){.seed = seed, .lsn = lsn};
    truth->is_trying = true;
    return truth->frame;
}

void truth_take(struct truth *truth, uint64_t lsn, uint64_t end_lsn) {
    if (lsn != truth->tried.lsn)
        oracle_complain(truth->oracle, "a frame for %llu was appended at %llu",
                        (unsigned long long)truth->tried.lsn, (unsigned long long)lsn);
    if (truth->count == truth->capacity) {
        truth->capacity = truth->capacity == 0 ? 64 : truth->capacity * 2;
        truth->steps = realloc(truth->steps, truth->capacity * sizeof *truth->steps);
        if (truth->steps == NULL)
            abort();
    }
    truth->tried.end_lsn = end_lsn;
    truth->steps[truth->count++] = truth->tried;
    truth->is_trying = false;
}

/* The model as of the last step. */
static void truth_rebuild(struct truth *truth) {
    generator_deinit(truth->generator);
    generator_init(truth->generator, truth->seed, truth->canary);
    for (size_t i = 0; i < truth->count; i++)
        (void)truth_draw(truth, truth->steps[i].seed, truth->steps[i].lsn);
}

void truth_refuse(struct truth *truth) {
    truth->is_trying = false;
    truth_rebuild(truth);
}

void truth_cut(struct truth *truth, uint64_t tail) {
    const size_t had = truth->count;
    while (truth->count > 0 && truth->steps[truth->count - 1].end_lsn > tail)
        truth->count--;
    if (truth->count < had && !truth->oracle->may_lose)
        oracle_complain(truth->oracle, "%zu frames are gone, and no power was cut",
                        had - truth->count);
    const bool is_tried_gone = truth->is_trying && truth->tried.lsn >= tail;
    if (truth->count < had || is_tried_gone)
        truth_refuse(truth);
    oracle_recovered(truth->oracle, tail);
}

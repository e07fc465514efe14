#include "run.h"

#include "compare.h"
#include "memory.h"
#include "nonsense.h"

#include <stdio.h>
#include <stdlib.h>

enum { COMPARED_EACH = 64, FAILED_EACH = 60, ABANDONED_EACH = 40, CAUGHT_UP_EACH = 300 };

struct run {
    struct memory memory;
    struct state state, sleeper; /* the sleeper catches up now and then */
    size_t slept_from;
    struct generator generator;
    struct draft nonsense;
    struct history history;
    struct prng prng;
    struct dump before, after;
    struct run_report *report;
};

static bool run_complain(struct run *run, const char *what) {
    char text[COMPLAINT_BYTES];
    (void)snprintf(text, sizeof text, "step %llu: %s: %.180s",
                   (unsigned long long)run->report->steps, what, run->report->complaint);
    memcpy(run->report->complaint, text, sizeof text);
    return false;
}

static void state_begin(struct run *run, struct state *state) {
    state_init(state, &run->memory.os, 64);
    state->time_us = 0;
}

/* Nothing may be wanted of the allocator while a frame is applied. */
static void apply(struct run *run, struct state *state, const struct state_frame *frame) {
    run->memory.left = 0;
    state_apply(state, frame);
    run->memory.left = MEMORY_UNLIMITED;
}

static bool reserve_and_apply(struct run *run, struct state *state,
                              const struct state_frame *frame) {
    pawl_error error = {0};
    if (state_reserve(state, frame, &error) != PAWL_OK) {
        (void)snprintf(run->report->complaint, COMPLAINT_BYTES, "%.200s", error.sentence);
        return run_complain(run, "refused");
    }
    apply(run, state, frame);
    return true;
}

static bool is_unchanged(struct run *run, const char *what) {
    dump_state(&run->after, &run->state);
    return dump_is_same(&run->before, &run->after) || run_complain(run, what);
}

/* Memory that ends somewhere on the way. */
static bool reserve_failing(struct run *run, const struct state_frame *frame) {
    dump_state(&run->before, &run->state);
    run->memory.left = prng_below(&run->prng, 6);
    const pawl_status status = state_reserve(&run->state, frame, NULL);
    run->memory.left = MEMORY_UNLIMITED;
    if (status == PAWL_OK)
        state_abandon(&run->state);
    else if (status != PAWL_NO_MEMORY)
        return run_complain(run, "refused for another reason than memory");
    return is_unchanged(run, "a reservation that failed has changed something");
}

/* Reserved and not applied: this frame, an older one, and one that may make no sense. */
static bool reserve_in_vain(struct run *run, const struct state_frame *frame) {
    dump_state(&run->before, &run->state);
    const struct state_frame nonsense = nonsense_frame(&run->prng, &run->nonsense, &run->state);
    const struct state_frame *frames[] = {
        frame, &nonsense,
        run->history.count == 0 ? frame
                                : &run->history.frames[prng_below(&run->prng, run->history.count)]};
    for (unsigned i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        if (state_reserve(&run->state, frames[i], NULL) == PAWL_OK)
            state_abandon(&run->state);
    }
    return is_unchanged(run, "what was abandoned has changed something");
}

static bool catch_up(struct run *run) {
    for (; run->slept_from < run->history.count; run->slept_from++) {
        if (!reserve_and_apply(run, &run->sleeper, &run->history.frames[run->slept_from]))
            return false;
    }
    dump_state(&run->before, &run->sleeper);
    return is_unchanged(run, "one that slept and caught up differs");
}

static bool replay(struct run *run) {
    struct state state;
    bool is_well = true;
    state_begin(run, &state);
    for (size_t i = 0; i < run->history.count && is_well; i++)
        is_well = reserve_and_apply(run, &state, &run->history.frames[i]);
    dump_state(&run->before, &state);
    state_deinit(&state);
    return is_well && is_unchanged(run, "a replay from the first frame on differs");
}

static bool look(struct run *run, bool at_all) {
    char *complaint = run->report->complaint;
    if (!compare_touched(&run->generator.model, &run->state, complaint))
        return run_complain(run, "after the frame");
    if (!at_all)
        return true;
    if (!compare_all(&run->generator.model, &run->state, complaint))
        return run_complain(run, "on the whole");
    return audit_state(&run->state, complaint) || run_complain(run, "audit");
}

static bool step(struct run *run) {
    struct run_report *report = run->report;
    const struct state_frame frame = generator_next(&run->generator);
    report->steps++;
    if (prng_below(&run->prng, FAILED_EACH) == 0 && !reserve_failing(run, &frame))
        return false;
    if (prng_below(&run->prng, ABANDONED_EACH) == 0 && !reserve_in_vain(run, &frame))
        return false;
    if (!reserve_and_apply(run, &run->state, &frame))
        return false;
    history_add(&run->history, &frame);
    if (run->state.applied_lsn != frame.end_lsn)
        return run_complain(run, "the frame's end was not noted");
    return look(run, report->steps % COMPARED_EACH == 0) &&
           (prng_below(&run->prng, CAUGHT_UP_EACH) != 0 || catch_up(run));
}

static struct run *run_begin(uint64_t seed, enum canary canary, struct run_report *report) {
    struct run *run = calloc(1, sizeof *run);
    if (run == NULL)
        abort();
    *report = (struct run_report){0};
    run->report = report;
    run->prng = prng_stream(seed, 2);
    memory_init(&run->memory);
    state_begin(run, &run->state);
    state_begin(run, &run->sleeper);
    generator_init(&run->generator, seed, canary);
    return run;
}

static void run_end(struct run *run) {
    struct run_report *report = run->report;
    for (unsigned i = 0; i < GENERATOR_OPERATION_COUNT; i++) {
        report->done[i] = run->generator.done[i];
        report->events += run->generator.done[i];
    }
    report->nonsense = run->state.nonsense;
    state_deinit(&run->state);
    state_deinit(&run->sleeper);
    if (run->memory.bytes != 0 && report->complaint[0] == '\0')
        (void)run_complain(run, "memory is left");
    generator_deinit(&run->generator);
    history_clear(&run->history);
    dump_free(&run->before);
    dump_free(&run->after);
    free(run);
}

void run_model(uint64_t seed, uint64_t steps, enum canary canary, struct run_report *report) {
    struct run *run = run_begin(seed, canary, report);
    bool is_well = true;
    while (is_well && report->steps < steps)
        is_well = step(run);
    if (is_well)
        (void)(look(run, true) && catch_up(run) && replay(run));
    run_end(run);
}

/* ---- A wrong writer ---- */

/* One of the right ones in between, whole or damaged. It belongs to another store, soon. */
static struct state_frame wrong_frame(struct run *run) {
    if (!prng_chance(&run->prng, 25000))
        return nonsense_frame(&run->prng, &run->nonsense, &run->state);
    struct state_frame frame = generator_next(&run->generator);
    frame.lsn = run->state.applied_lsn;
    frame.end_lsn = frame.lsn + frame.metadata_bytes;
    if (prng_chance(&run->prng, 60000))
        nonsense_damage(&run->prng, run->generator.draft.bytes, frame.metadata_bytes);
    return frame;
}

static bool wrong_step(struct run *run) {
    struct run_report *report = run->report;
    const struct state_frame frame = wrong_frame(run);
    const bool is_looked_at = prng_below(&run->prng, 16) == 0;
    report->steps++;
    if (is_looked_at)
        dump_state(&run->before, &run->state);
    if (prng_chance(&run->prng, 5000))
        run->memory.left = prng_below(&run->prng, 8);
    const pawl_status status = state_reserve(&run->state, &frame, NULL);
    run->memory.left = MEMORY_UNLIMITED;
    if (status != PAWL_OK) {
        report->refused++;
        return !is_looked_at || is_unchanged(run, "a frame that was refused has changed something");
    }
    apply(run, &run->state, &frame);
    history_add(&run->history, &frame);
    return audit_state(&run->state, report->complaint) || run_complain(run, "audit");
}

void run_nonsense(uint64_t seed, uint64_t steps, struct run_report *report) {
    struct run *run = run_begin(seed, CANARY_NONE, report);
    bool is_well = true;
    while (is_well && report->steps < steps)
        is_well = wrong_step(run);
    if (is_well)
        (void)(catch_up(run) && replay(run));
    run_end(run);
}

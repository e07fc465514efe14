/* run: one seed: a state and the model, side by side, from nothing on. */
#ifndef PAWL_TESTS_MODEL_RUN_H
#define PAWL_TESTS_MODEL_RUN_H

#include "dump.h"
#include "generator.h"

struct run_report {
    uint64_t steps, events, refused, nonsense;
    uint64_t done[GENERATOR_OPERATION_COUNT];
    char complaint[COMPLAINT_BYTES]; /* empty: all is well */
};

/* So many frames of a right writer. */
void run_model(uint64_t seed, uint64_t steps, enum canary canary, struct run_report *report);

/* And of a wrong one: nothing may break. */
void run_nonsense(uint64_t seed, uint64_t steps, struct run_report *report);

#endif

/* truth: the model beside a log that can lose its end.
 *
 * The frames that are in the log, as the generator drew them, and the model as of the last of them.
 * A frame is drawn, then tried; the log takes it, refuses it, or nobody knows, because whoever
 * tried it has died. A recovery can take the last ones back. The model goes forward only, so to go
 * back it is made anew from the draws.
 */
#ifndef PAWL_TESTS_MODEL_TRUTH_H
#define PAWL_TESTS_MODEL_TRUTH_H

#include "generator.h"
#include "oracle.h"

struct truth_step {
    uint64_t seed; /* of the draw */
    uint64_t lsn, end_lsn;
};

struct truth {
    struct generator *generator; /* its model has all steps, and the one that is tried */
    struct truth_step *steps;
    size_t count, capacity;
    bool is_trying;
    struct truth_step tried;
    struct state_frame frame; /* that is tried; its bytes are the generator's */
    enum canary canary;
    uint64_t seed;
    struct oracle *oracle; /* what was confirmed, and what is wrong */
};

void truth_init(struct truth *truth, uint64_t seed, enum canary canary, struct oracle *oracle);
void truth_deinit(struct truth *truth);

/* Draws a frame that would stand at `lsn`. Nothing is being tried. */
struct state_frame truth_try(struct truth *truth, uint64_t seed, uint64_t lsn);

/* What was tried is in the log, or it is not and never will be. */
void truth_take(struct truth *truth, uint64_t lsn, uint64_t end_lsn);
void truth_refuse(struct truth *truth);

/* Somebody who was alone recovered the log, and it ends at `tail`. */
void truth_cut(struct truth *truth, uint64_t tail);

#endif

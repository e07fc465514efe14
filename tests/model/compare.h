/* compare: whether a state is what the model says. */
#ifndef PAWL_TESTS_MODEL_COMPARE_H
#define PAWL_TESTS_MODEL_COMPARE_H

#include "dump.h"
#include "model.h"

/* Every count, and the messages that were touched. False: `ret_complaint` says what differs. */
bool compare_touched(const struct model *model, const struct state *state, char *ret_complaint);

/* Every message, setting and offset; the model counts anew. */
bool compare_all(const struct model *model, const struct state *state, char *ret_complaint);

#endif

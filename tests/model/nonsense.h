/* nonsense: frames of a wrong writer. */
#ifndef PAWL_TESTS_MODEL_NONSENSE_H
#define PAWL_TESTS_MODEL_NONSENSE_H

#include "draft.h"
#include "prng.h"

/* Events of every kind about anything, drawn near to what is there, or far from it. */
struct state_frame nonsense_frame(struct prng *prng, struct draft *draft,
                                  const struct state *state);

/* Turns some bits of a frame's metadata, in `bytes`, which holds a copy of it. */
void nonsense_damage(struct prng *prng, uint8_t *bytes, size_t size);

#endif

/* swarm: which faults a seed has, and how often. Each kind is off in most seeds, so that others get
 * far (Groce et al., "Swarm Testing", 2012). */
#ifndef PAWL_TESTS_SIM_SWARM_H
#define PAWL_TESTS_SIM_SWARM_H

#include "prng.h"
#include "world.h"

/* Sets everything but the seed. */
void swarm_choose(struct world_options *options, struct prng *prng);

/* A sentence when no fault explains the news; else NULL. */
const char *swarm_complaint(enum world_news news);

#endif

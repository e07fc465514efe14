/* fleet: what one seed does to a store's meaning, and whether every replica means the same.
 *
 * Several processes over one simulated disk follow one log and append to it what the generator
 * draws; they are killed, stopped, and lose power. Whoever holds the append lock has a state that
 * equals the model's, whatever it slept through; and so has everybody who replays the log after a
 * crash: with all that was confirmed, and with everything else up to some frame.
 */
#ifndef PAWL_TESTS_MODEL_FLEET_H
#define PAWL_TESTS_MODEL_FLEET_H

#include "generator.h"
#include "world.h"

struct fleet_report {
    char complaint[1024]; /* "" when all was well */
    uint64_t calls, frames, lost, openings, recoveries, compared;
    uint64_t adopted, given_up; /* of those whose writer died: found in the log, and not */
    uint64_t faults[FAULT_COUNT];
    uint64_t hash;
};

/* Runs one seed; with `trace`, prints the last calls there when something was wrong. */
void fleet_run(uint64_t seed, enum canary canary, FILE *trace, struct fleet_report *ret_report);

#endif

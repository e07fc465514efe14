/* workload: what one seed does to the log, and whether the oracle is content.
 *
 * Some processes, some with two threads, append, wait, read, mark, keep up, close and open again,
 * over one disk; the seed chooses sizes, levels, faults and their chances, kills processes, stops
 * them and cuts the power. Then the faults stop: every process must come to its end, and one that
 * opens the store alone must find in it what the oracle knows.
 */
#ifndef PAWL_TESTS_SIM_WORKLOAD_H
#define PAWL_TESTS_SIM_WORKLOAD_H

#include "recovery.h"
#include "world.h"

struct workload_report {
    char complaint[1024]; /* "" when all was well */
    uint64_t calls, frames, confirmed, openings, recoveries;
    uint64_t faults[FAULT_COUNT];
    uint64_t rows[RECOVERY_ROW_COUNT];
    uint64_t hash;
};

enum workload_trick {
    WORKLOAD_HONEST,
    WORKLOAD_CANARY, /* one bit of something confirmed is turned before the last reading */
};

/* Runs one seed; with `trace`, prints the last calls there when something was wrong. */
void workload_run(uint64_t seed, enum workload_trick trick, FILE *trace,
                  struct workload_report *ret_report);

#endif

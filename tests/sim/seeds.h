/* seeds: a program that runs seeds, as one command line.
 *
 *     PROGRAM --seeds N [--from S]   that many seeds, on both processors; the last line counts
 *     PROGRAM --seed S               one, with its last calls when it fails
 *     PROGRAM --canary               planted faults that must be found
 */
#ifndef PAWL_TESTS_SIM_SEEDS_H
#define PAWL_TESTS_SIM_SEEDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct seeds_program {
    const char *name;
    size_t totals_bytes; /* of what is counted; all zero at first */

    /* Runs one seed and adds to *totals. False: it failed, and that has been printed; with `trace`,
     * the last calls were printed there. */
    bool (*run)(uint64_t seed, FILE *trace, void *totals);
    void (*join)(void *totals, const void *other);
    void (*print)(const void *totals, double seconds);

    /* Plants fault number `canary` and prints what was found. False: nothing was. */
    bool (*run_canary)(unsigned canary);
    unsigned canaries;
};

/* Gives the exit status. */
int seeds_main(const struct seeds_program *program, int count, char **arguments);

#endif

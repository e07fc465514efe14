/* sweep: every fault of a kind, one after the other, on a tiny store. */
#ifndef PAWL_TESTS_SIM_SWEEP_H
#define PAWL_TESTS_SIM_SWEEP_H

#include <stdint.h>

struct sweep_report {
    uint64_t every; /* of the many alike, only each so-manieth is tried; 1: all */
    uint64_t alike; /* there were so far */
    uint64_t tried;
    uint64_t failed; /* the first few are printed */
};

/* Every call of the seam, failing once and from then on, under every operation. */
void sweep_errors(struct sweep_report *report);

/* Every bit of every header, a sample of the bodies' bits, every length of the last segment, every
 * file deleted, doubled, renamed, swapped, and replaced by its older self. Counts the recovery
 * table's rows; when all are tried, one that is never met counts as failed. */
void sweep_damage(struct sweep_report *report);

/* Every call at which a process that appends may die, while another has the store open and a sync
 * or the writing back has failed under it; then every call that may fail under who goes on. */
void sweep_heirs(struct sweep_report *report);

/* Every call at which the power may be cut while a log is opened that a cut has left with an end in
 * the midst of its segments, and frames are appended over what lay behind it; then another cut in
 * the opening after it. */
void sweep_recovery(struct sweep_report *report);

#endif

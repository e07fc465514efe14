#include "commit.h"

#include <criterion/criterion.h>

/* What a waiter must do, said by whom it concerns instead of in the machine's order. */
static enum commit_move expected_of(const struct commit_facts *facts) {
    const bool is_durable = facts->wanted_lsn <= facts->durable_lsn;
    const bool may_wait = !facts->is_failed && !facts->is_interrupted && !facts->is_past_deadline;
    if (is_durable)
        return COMMIT_DONE;
    if (may_wait && facts->has_leader)
        return facts->leader_is_dead ? COMMIT_TAKE_OVER : COMMIT_WAIT;
    if (may_wait)
        return COMMIT_LEAD;
    if (facts->is_failed)
        return COMMIT_FAILED;
    return facts->is_interrupted ? COMMIT_INTERRUPTED : COMMIT_LATE;
}

Test(commit, moves_as_expected_for_every_combination_of_facts) {
    unsigned seen[COMMIT_MOVE_COUNT] = {0};
    static const uint64_t durable[] = {0, 99, 100, 101};
    for (unsigned bits = 0; bits < 32; bits++) {
        for (size_t i = 0; i < sizeof durable / sizeof durable[0]; i++) {
            const struct commit_facts facts = {
                .wanted_lsn = 100,
                .durable_lsn = durable[i],
                .is_failed = (bits & 1) != 0,
                .has_leader = (bits & 2) != 0,
                .leader_is_dead = (bits & 4) != 0,
                .is_past_deadline = (bits & 8) != 0,
                .is_interrupted = (bits & 16) != 0,
            };
            const enum commit_move move = commit_next(&facts);
            cr_assert_eq(move, expected_of(&facts), "facts %u, durable %u", bits,
                         (unsigned)durable[i]);
            seen[move]++;
        }
    }
    for (int move = 0; move < COMMIT_MOVE_COUNT; move++)
        cr_assert_gt(seen[move], 0, "move %d", move);
}

/* The answers that are owed whatever else is true. */
Test(commit, what_is_durable_is_done_even_on_a_latched_store) {
    const struct commit_facts facts = {.wanted_lsn = 64,
                                       .durable_lsn = 64,
                                       .is_failed = true,
                                       .is_past_deadline = true,
                                       .is_interrupted = true};
    cr_assert_eq(commit_next(&facts), COMMIT_DONE);
}

Test(commit, nobody_leads_a_latched_store) {
    const struct commit_facts facts = {.wanted_lsn = 64, .is_failed = true};
    cr_assert_eq(commit_next(&facts), COMMIT_FAILED);
}

Test(commit, gathers_only_while_frames_are_missing_and_time_is_left) {
    cr_assert(!commit_should_gather(0, 0, 0), "nobody is expected");
    cr_assert(commit_should_gather(0, 1, 0));
    cr_assert(!commit_should_gather(1, 1, 0), "all are there");
    cr_assert(!commit_should_gather(2, 1, 0), "more than all");
    cr_assert(commit_should_gather(15, 16, 99999));
    cr_assert(!commit_should_gather(15, 16, 100000), "a tenth of a millisecond is the most");
    cr_assert(!commit_should_gather(0, UINT64_MAX, UINT64_MAX));
}

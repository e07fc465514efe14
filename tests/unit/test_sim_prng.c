#include <criterion/criterion.h>

#include "prng.h"

Test(sim_prng, a_seed_gives_the_same_numbers_again) {
    struct prng one = prng_stream(7, 1), other = prng_stream(7, 1);
    for (int i = 0; i < 1000; i++)
        cr_assert_eq(prng_next(&one), prng_next(&other));
}

Test(sim_prng, seeds_and_streams_differ) {
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct prng one = prng_stream(seed, 1), two = prng_stream(seed, 2);
        struct prng next = prng_stream(seed + 1, 1);
        const uint64_t first = prng_next(&one);
        cr_assert_neq(first, prng_next(&two));
        cr_assert_neq(first, prng_next(&next));
    }
}

Test(sim_prng, below_stays_below_and_reaches_all) {
    struct prng prng = prng_stream(3, 1);
    unsigned met[7] = {0};
    for (int i = 0; i < 7000; i++)
        met[prng_below(&prng, 7)]++;
    for (int i = 0; i < 7; i++)
        cr_assert(met[i] > 800 && met[i] < 1200);
    cr_assert_eq(prng_below(&prng, 0), 0);
    for (int i = 0; i < 1000; i++) {
        const uint64_t drawn = prng_between(&prng, 10, 12);
        cr_assert(drawn >= 10 && drawn <= 12);
    }
}

Test(sim_prng, chances_are_met_as_often_as_said) {
    struct prng prng = prng_stream(4, 1);
    unsigned met = 0;
    for (int i = 0; i < 100000; i++)
        met += prng_chance(&prng, 1000);
    cr_assert(met > 800 && met < 1200);
    for (int i = 0; i < 1000; i++)
        cr_assert(prng_chance(&prng, 100000));
}

/* So that a kind of fault that is off does not shift those that are on. */
Test(sim_prng, no_chance_draws_nothing) {
    struct prng prng = prng_stream(5, 1);
    const uint64_t before = prng.state;
    cr_assert_not(prng_chance(&prng, 0));
    cr_assert_eq(prng.state, before);
}

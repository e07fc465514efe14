#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "prng.h"
#include "seqset.h"

enum { PAGE = SEQSET_PAGE_NUMBERS, SPAN = 17 * PAGE + 100 };

static struct memory memory;
static struct seqset set;

static void set_up(void) {
    memory_init(&memory);
    set = (struct seqset){.os = &memory.os};
}

static void tear_down(void) {
    seqset_deinit(&set);
    cr_assert_eq(memory.bytes, 0, "nothing is left");
}

static void must_reserve(uint64_t first, uint64_t count) {
    cr_assert_eq(seqset_reserve(&set, first, count, NULL), PAWL_OK);
}

static uint64_t add(uint64_t first, uint64_t count) {
    must_reserve(first, count);
    return seqset_add(&set, first, count);
}

Test(seqset, holds_what_was_added_over_the_edges_of_pages, .init = set_up, .fini = tear_down) {
    cr_assert_eq(seqset_next(&set, 0), SEQSET_NONE);
    cr_assert_eq(seqset_next_absent(&set, 77), 77);
    cr_assert_eq(add(PAGE - 1, 3), 3);
    cr_assert_eq(add(PAGE, 1), 0, "it is there");
    cr_assert(!seqset_has(&set, PAGE - 2));
    cr_assert(seqset_has(&set, PAGE - 1) && seqset_has(&set, PAGE) && seqset_has(&set, PAGE + 1));
    cr_assert_eq(seqset_next(&set, 1), PAGE - 1);
    cr_assert_eq(seqset_next_absent(&set, PAGE - 1), PAGE + 2);
    cr_assert_eq(seqset_count_below(&set, PAGE + 1), 2);
    cr_assert_eq(seqset_remove(&set, PAGE, 1), 1);
    cr_assert_eq(seqset_next_absent(&set, PAGE - 1), PAGE);
    cr_assert_eq(set.count, 2);
}

Test(seqset, keeps_a_long_range_without_a_bit_for_each, .init = set_up, .fini = tear_down) {
    cr_assert_eq(add(10, UINT64_C(1000) * PAGE), UINT64_C(1000) * PAGE);
    cr_assert_lt(memory.bytes, 100000);
    cr_assert_eq(seqset_next_absent(&set, 10), 10 + UINT64_C(1000) * PAGE);
    const uint64_t inside = 500 * PAGE + 7;
    must_reserve(inside, 1);
    cr_assert_eq(seqset_remove(&set, inside, 1), 1);
    cr_assert_eq(seqset_next_absent(&set, 10), inside);
    cr_assert(seqset_has(&set, inside + 1) && seqset_has(&set, inside - 1));
}

Test(seqset, needs_nothing_for_what_was_reserved_whatever_comes_first, .init = set_up,
     .fini = tear_down) {
    must_reserve(5, 1);             /* to be removed again at the end */
    must_reserve(0, PAGE);          /* to be filled */
    must_reserve(3 * PAGE + 1, 10); /* in a page that is not there yet */
    memory.left = 0;
    cr_assert_eq(seqset_add(&set, 0, PAGE), PAGE);
    cr_assert_eq(seqset_add(&set, 3 * PAGE + 1, 10), 10);
    cr_assert_eq(seqset_remove(&set, 5, 1), 1);
    cr_assert_eq(seqset_next_absent(&set, 0), 5);
    memory.left = MEMORY_UNLIMITED;
}

Test(seqset, is_as_it_was_when_there_is_no_memory, .init = set_up, .fini = tear_down) {
    cr_assert_eq(add(1, 5), 5);
    for (uint64_t left = 0; left < 6; left++) {
        memory.left = left;
        (void)seqset_reserve(&set, 3, 3 * PAGE, NULL); /* it may do or not */
        memory.left = MEMORY_UNLIMITED;
        cr_assert_eq(set.count, 5);
        cr_assert_eq(seqset_next_absent(&set, 1), 6);
        cr_assert_eq(seqset_next(&set, 6), SEQSET_NONE);
    }
    memory.left = 0;
    cr_assert_eq(seqset_reserve(&set, 50 * PAGE, 1, NULL), PAWL_NO_MEMORY);
    memory.left = MEMORY_UNLIMITED;
}

Test(seqset, forgets_whole_pages_below, .init = set_up, .fini = tear_down) {
    cr_assert_eq(add(1, 3 * PAGE), 3 * PAGE);
    seqset_trim(&set, 2 * PAGE - 1);
    cr_assert(!seqset_has(&set, PAGE - 1));
    cr_assert(seqset_has(&set, PAGE), "its page is not wholly below");
    cr_assert_eq(set.count, 2 * PAGE + 1);
    seqset_trim(&set, UINT64_MAX);
    cr_assert_eq(set.count, 0);
    cr_assert_eq(seqset_next(&set, 0), SEQSET_NONE);
}

/* What the set should be, a byte for each number. */
static uint8_t plain[SPAN];

static void must_be_plain_at(uint64_t at) {
    uint64_t next = at, absent = at;
    while (next < SPAN && plain[next] == 0)
        next++;
    while (absent < SPAN && plain[absent] != 0)
        absent++;
    cr_assert_eq(seqset_has(&set, at), plain[at] != 0);
    cr_assert_eq(seqset_next(&set, at), next < SPAN ? next : SEQSET_NONE);
    cr_assert_eq(seqset_next_absent(&set, at), absent);
}

Test(seqset, is_what_a_plain_list_would_be, .init = set_up, .fini = tear_down) {
    struct prng prng = prng_stream(3, 1);
    for (int i = 0; i < 60000; i++) {
        const uint64_t first = prng_below(&prng, SPAN - 1);
        uint64_t count = 1 + prng_below(&prng, prng_below(&prng, 40) == 0 ? 3 * PAGE : 4);
        if (first + count > SPAN)
            count = SPAN - first;
        const bool is_in = prng_below(&prng, 3) != 0;
        uint64_t changed = 0;
        for (uint64_t at = first; at < first + count; at++) {
            changed += (plain[at] != 0) != is_in;
            plain[at] = is_in;
        }
        must_reserve(first, count);
        cr_assert_eq(is_in ? seqset_add(&set, first, count) : seqset_remove(&set, first, count),
                     changed);
        must_be_plain_at(prng_below(&prng, SPAN));
    }
    uint64_t count = 0;
    for (uint64_t at = 0; at < SPAN; at++) {
        if (at % 97 == 0)
            cr_assert_eq(seqset_count_below(&set, at), count);
        count += plain[at];
    }
    cr_assert_eq(set.count, count);
}

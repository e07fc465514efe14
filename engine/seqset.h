/* seqset: an exact set of sequence numbers, in bits.
 *
 * Sorted pages of 4,096 numbers each; one that was filled at once has no bits of its own. So a
 * number costs a bit, and a long range next to nothing.
 *
 * Adding and removing can't fail: what they need is reserved before. That is why this is no
 * library's bitmap: those allocate whenever they see fit.
 *
 * Invariants
 * Q1  Pages ascend. A page's count is that of its numbers; one that is full or empty may be without
 *     bits.
 *
 * Threads: the caller's.
 */
#ifndef PAWL_ENGINE_SEQSET_H
#define PAWL_ENGINE_SEQSET_H

#include "os.h"
#include "status.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SEQSET_PAGE_NUMBERS = 4096,
    SEQSET_PAGE_WORDS = SEQSET_PAGE_NUMBERS / 64,
};

#define SEQSET_NONE UINT64_MAX

struct seqset_page {
    uint64_t index; /* number / SEQSET_PAGE_NUMBERS */
    uint64_t *bits; /* NULL: all of them, or none if the count is 0 */
    uint32_t count;
};

/* Zeroed but for `os` it is empty. */
struct seqset {
    struct os *os;
    struct seqset_page *pages;
    size_t page_count, capacity;
    uint64_t count;
};

void seqset_deinit(struct seqset *set);

/* Makes sure that adding or removing exactly these `count` numbers from `first` on needs no memory,
 * whatever else is added or removed before; only trimming takes it back. PAWL_NO_MEMORY: the set
 * is as it was. */
pawl_status seqset_reserve(struct seqset *set, uint64_t first, uint64_t count, pawl_error *error);

/* Returns how many were not in it, and are now. Reserved before. */
uint64_t seqset_add(struct seqset *set, uint64_t first, uint64_t count);

/* Returns how many were in it. Reserved before. */
uint64_t seqset_remove(struct seqset *set, uint64_t first, uint64_t count);

bool seqset_has(const struct seqset *set, uint64_t number);

/* The first number from `from` on that is in it, or SEQSET_NONE. */
uint64_t seqset_next(const struct seqset *set, uint64_t from);

/* The first number from `from` on that is not in it. */
uint64_t seqset_next_absent(const struct seqset *set, uint64_t from);

/* How many numbers below `below` are in it. */
uint64_t seqset_count_below(const struct seqset *set, uint64_t below);

/* Forgets the pages that lie wholly below `below`; the numbers in them are no longer in the set. */
void seqset_trim(struct seqset *set, uint64_t below);

#endif

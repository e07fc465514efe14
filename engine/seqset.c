#include "seqset.h"

#include "check.h"

#include <string.h>

enum { PAGES_FIRST = 4 };

STATIC_CHECK(SEQSET_PAGE_NUMBERS % 64 == 0, "a page is made of whole words");

static size_t page_bytes(void) {
    return SEQSET_PAGE_WORDS * sizeof(uint64_t);
}

void seqset_deinit(struct seqset *set) {
    for (size_t i = 0; i < set->page_count; i++)
        os_release(set->os, set->pages[i].bits, page_bytes());
    os_release(set->os, set->pages, set->capacity * sizeof *set->pages);
    *set = (struct seqset){.os = set->os};
}

/* The place of page `index`, or where it would have to be. */
static size_t page_find(const struct seqset *set, uint64_t index) {
    size_t low = 0, high = set->page_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (set->pages[middle].index < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct seqset_page *page_get(const struct seqset *set, uint64_t index) {
    const size_t at = page_find(set, index);
    return at < set->page_count && set->pages[at].index == index ? &set->pages[at] : NULL;
}

static bool page_has(const struct seqset_page *page, unsigned at) {
    return page->bits == NULL ? page->count != 0 : (page->bits[at / 64] >> at % 64 & 1) != 0;
}

/* ---- Reserving ---- */

static pawl_status pages_grow(struct seqset *set, pawl_error *error) {
    const size_t capacity = set->capacity == 0 ? PAGES_FIRST : set->capacity * 2;
    struct seqset_page *pages = os_allocate(set->os, capacity * sizeof *pages);
    if (pages == NULL)
        return error_set(error, PAWL_NO_MEMORY, "no memory for a set of messages");
    if (set->page_count > 0)
        memcpy(pages, set->pages, set->page_count * sizeof *pages);
    os_release(set->os, set->pages, set->capacity * sizeof *pages);
    set->pages = pages;
    set->capacity = capacity;
    return PAWL_OK;
}

/* The page is there, and has bits of its own unless `is_whole`: a page that is filled or emptied at
 * once needs none. */
static pawl_status page_reserve(struct seqset *set, uint64_t index, bool is_whole,
                                pawl_error *error) {
    const size_t at = page_find(set, index);
    const bool is_there = at < set->page_count && set->pages[at].index == index;
    if (!is_there && set->page_count == set->capacity)
        TRY(pages_grow(set, error));
    uint64_t *bits = NULL;
    if (!is_whole && (!is_there || set->pages[at].bits == NULL)) {
        bits = os_allocate(set->os, page_bytes());
        if (bits == NULL)
            return error_set(error, PAWL_NO_MEMORY, "no memory for a set of messages");
    }
    if (!is_there) {
        memmove(&set->pages[at + 1], &set->pages[at], (set->page_count - at) * sizeof *set->pages);
        set->pages[at] = (struct seqset_page){.index = index};
        set->page_count++;
    }
    if (bits != NULL) {
        memset(bits, set->pages[at].count == 0 ? 0 : 0xff, page_bytes());
        set->pages[at].bits = bits;
    }
    return PAWL_OK;
}

pawl_status seqset_reserve(struct seqset *set, uint64_t first, uint64_t count, pawl_error *error) {
    while (count > 0) {
        const unsigned at = (unsigned)(first % SEQSET_PAGE_NUMBERS);
        const uint64_t here =
            count < SEQSET_PAGE_NUMBERS - at ? count : (uint64_t)(SEQSET_PAGE_NUMBERS - at);
        TRY(page_reserve(set, first / SEQSET_PAGE_NUMBERS, here == SEQSET_PAGE_NUMBERS, error));
        first += here;
        count -= here;
    }
    return PAWL_OK;
}

/* ---- Changing ---- */

/* Bits that are there stay: another change may have reserved them. */
static uint32_t page_fill(struct seqset_page *page, bool is_in) {
    const uint32_t before = page->count;
    if (page->bits != NULL)
        memset(page->bits, is_in ? 0xff : 0, page_bytes());
    page->count = is_in ? SEQSET_PAGE_NUMBERS : 0;
    return is_in ? page->count - before : before;
}

/* Returns how many of them changed. */
static uint32_t page_change(struct seqset_page *page, unsigned from, unsigned to, bool is_in) {
    uint32_t changed = 0;
    if (page->bits == NULL)
        return 0; /* not reserved */
    for (unsigned at = from; at < to; at++) {
        uint64_t *word = &page->bits[at / 64];
        const uint64_t bit = UINT64_C(1) << at % 64;
        if (((*word & bit) != 0) == is_in)
            continue;
        *word ^= bit;
        changed++;
    }
    page->count = is_in ? page->count + changed : page->count - changed;
    return changed;
}

static uint64_t seqset_change(const struct seqset *set, uint64_t first, uint64_t count,
                              bool is_in) {
    uint64_t changed = 0;
    while (count > 0) {
        const unsigned at = (unsigned)(first % SEQSET_PAGE_NUMBERS);
        const uint64_t here =
            count < SEQSET_PAGE_NUMBERS - at ? count : (uint64_t)(SEQSET_PAGE_NUMBERS - at);
        struct seqset_page *page = page_get(set, first / SEQSET_PAGE_NUMBERS);
        if (page != NULL)
            changed += here == SEQSET_PAGE_NUMBERS
                           ? page_fill(page, is_in)
                           : page_change(page, at, at + (unsigned)here, is_in);
        first += here;
        count -= here;
    }
    return changed;
}

uint64_t seqset_add(struct seqset *set, uint64_t first, uint64_t count) {
    const uint64_t added = seqset_change(set, first, count, true);
    set->count += added;
    return added;
}

uint64_t seqset_remove(struct seqset *set, uint64_t first, uint64_t count) {
    const uint64_t removed = seqset_change(set, first, count, false);
    set->count -= removed;
    return removed;
}

void seqset_trim(struct seqset *set, uint64_t below) {
    const size_t gone = page_find(set, below / SEQSET_PAGE_NUMBERS);
    for (size_t i = 0; i < gone; i++) {
        set->count -= set->pages[i].count;
        os_release(set->os, set->pages[i].bits, page_bytes());
    }
    if (gone > 0)
        memmove(set->pages, &set->pages[gone], (set->page_count - gone) * sizeof *set->pages);
    set->page_count -= gone;
}

/* ---- Asking ---- */

bool seqset_has(const struct seqset *set, uint64_t number) {
    const struct seqset_page *page = page_get(set, number / SEQSET_PAGE_NUMBERS);
    return page != NULL && page_has(page, (unsigned)(number % SEQSET_PAGE_NUMBERS));
}

/* The first place from `at` on that is in the page, or not in it; SEQSET_PAGE_NUMBERS: none. */
static unsigned page_next(const struct seqset_page *page, unsigned at, bool is_in) {
    if (page->bits == NULL)
        return (page->count != 0) == is_in ? at : SEQSET_PAGE_NUMBERS;
    while (at < SEQSET_PAGE_NUMBERS) {
        const uint64_t word = is_in ? page->bits[at / 64] : ~page->bits[at / 64];
        const uint64_t rest = word >> at % 64;
        if (rest != 0)
            return at + (unsigned)__builtin_ctzll(rest);
        at = (at / 64 + 1) * 64;
    }
    return SEQSET_PAGE_NUMBERS;
}

uint64_t seqset_next(const struct seqset *set, uint64_t from) {
    unsigned at = (unsigned)(from % SEQSET_PAGE_NUMBERS);
    for (size_t i = page_find(set, from / SEQSET_PAGE_NUMBERS); i < set->page_count; i++) {
        const struct seqset_page *page = &set->pages[i];
        if (page->index != from / SEQSET_PAGE_NUMBERS)
            at = 0;
        const unsigned found = page_next(page, at, true);
        if (found < SEQSET_PAGE_NUMBERS)
            return page->index * SEQSET_PAGE_NUMBERS + found;
    }
    return SEQSET_NONE;
}

uint64_t seqset_next_absent(const struct seqset *set, uint64_t from) {
    for (size_t i = page_find(set, from / SEQSET_PAGE_NUMBERS); i < set->page_count; i++) {
        const struct seqset_page *page = &set->pages[i];
        if (page->index != from / SEQSET_PAGE_NUMBERS)
            return from;
        const unsigned found = page_next(page, (unsigned)(from % SEQSET_PAGE_NUMBERS), false);
        if (found < SEQSET_PAGE_NUMBERS)
            return page->index * SEQSET_PAGE_NUMBERS + found;
        from = (page->index + 1) * SEQSET_PAGE_NUMBERS;
    }
    return from;
}

static uint32_t page_count_below(const struct seqset_page *page, unsigned below) {
    if (page->bits == NULL)
        return page->count == 0 ? 0 : below;
    uint32_t count = 0;
    for (unsigned word = 0; word < below / 64; word++)
        count += (uint32_t)__builtin_popcountll(page->bits[word]);
    if (below % 64 != 0)
        count += (uint32_t)__builtin_popcountll(page->bits[below / 64] &
                                                ((UINT64_C(1) << below % 64) - 1));
    return count;
}

uint64_t seqset_count_below(const struct seqset *set, uint64_t below) {
    uint64_t count = 0;
    for (size_t i = 0; i < set->page_count; i++) {
        const struct seqset_page *page = &set->pages[i];
        if (page->index == below / SEQSET_PAGE_NUMBERS)
            count += page_count_below(page, (unsigned)(below % SEQSET_PAGE_NUMBERS));
        if (page->index >= below / SEQSET_PAGE_NUMBERS)
            break;
        count += page->count;
    }
    return count;
}

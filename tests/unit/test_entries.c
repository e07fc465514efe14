#include <criterion/criterion.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "entries.h"
#include "prng.h"

/* ---- An os that has nothing but memory, which it counts and may refuse ---- */

struct memory {
    struct os os;
    size_t held_bytes;
    uint32_t blocks;
    uint32_t left; /* how many more allocations succeed */
};

static void *allocate(struct os *os, size_t bytes) {
    struct memory *memory = (struct memory *)os;
    if (memory->left == 0)
        return NULL;
    memory->left--;
    memory->held_bytes += bytes;
    memory->blocks++;
    return calloc(1, bytes);
}

static void release(struct os *os, void *block, size_t bytes) {
    struct memory *memory = (struct memory *)os;
    if (block == NULL)
        return;
    memory->held_bytes -= bytes;
    memory->blocks--;
    free(block);
}

static const struct os_ops memory_ops = {.allocate = allocate, .release = release};

static void begin(struct memory *memory, struct entries *entries) {
    *memory = (struct memory){.os.ops = &memory_ops, .left = UINT32_MAX};
    *entries = (struct entries){.os = &memory->os};
}

static void end(struct memory *memory, struct entries *entries) {
    entries_deinit(entries);
    cr_assert_eq(memory->held_bytes, 0);
    cr_assert_eq(memory->blocks, 0);
    cr_assert_eq(entries->count, 0);
    cr_assert_eq(entries->os, &memory->os);
}

static struct entry *must_add(struct entries *entries, uint64_t seq) {
    cr_assert_eq(entries_reserve(entries, 1, NULL), PAWL_OK);
    return entries_add(entries, seq);
}

/* Adding needs no memory here: it was reserved. */
static struct entry *add_placed(struct entries *entries, uint64_t seq, enum entry_state state,
                                uint64_t rank) {
    struct entry *entry = entries_add(entries, seq);
    entry->state = state & 15;
    entry->priority = rank & 7;
    entry->when_ms = rank & 0xffff;
    entries_place(entries, entry);
    return entry;
}

static uint64_t seq_of(const struct entry *entry) {
    return entry == NULL ? UINT64_MAX : entry->seq;
}

/* ---- By seq ---- */

Test(entries, an_empty_one_has_nothing_and_costs_nothing) {
    struct memory memory;
    struct entries entries;
    begin(&memory, &entries);
    cr_assert_null(entries_find(&entries, 0));
    cr_assert_null(entries_find(&entries, 1));
    cr_assert_null(entries_first_ready(&entries));
    cr_assert_null(entries_first_timer(&entries));
    cr_assert_eq(entries_reserve(&entries, 0, NULL), PAWL_OK);
    cr_assert_null(entries_find(&entries, 0));
    end(&memory, &entries);
    end(&memory, &entries);
}

Test(entries, a_new_one_is_zero_and_in_neither_order) {
    struct memory memory;
    struct entries entries;
    begin(&memory, &entries);
    for (int round = 0; round < 3; round++) {
        struct entry *entry = must_add(&entries, ENTRY_SEQ_MAX - 1);
        cr_assert_eq(entry->seq, ENTRY_SEQ_MAX - 1);
        cr_assert(entry->priority == 0 && entry->state == 0 && entry->flags == 0);
        cr_assert(entry->when_ms == 0 && entry->slot == 0 && entry->releases == 0);
        cr_assert(entry->fence == 0 && entry->failure_lsn == 0 && entry->delay_ms == 0);
        cr_assert(entry->deliveries == 0 && entry->attempts == 0);
        cr_assert_null(entries_first_ready(&entries));
        cr_assert_null(entries_first_timer(&entries));
        cr_assert_eq(entries_find(&entries, ENTRY_SEQ_MAX - 1), entry);
        cr_assert_null(entries_find(&entries, UINT64_MAX), "a seq is compared whole");

        /* Removed, it leaves nothing to the next that has its place. */
        const uint64_t seq = entry->seq;
        memset(entry, 0xff, offsetof(struct entry, heap_at));
        entry->seq = seq & (ENTRY_SEQ_MAX - 1);
        entry->state = ENTRY_READY;
        entries_place(&entries, entry);
        cr_assert_eq(entries_first_ready(&entries), entry);
        entries_remove(&entries, entry);
        cr_assert_null(entries_find(&entries, ENTRY_SEQ_MAX - 1));
        cr_assert_null(entries_first_ready(&entries));
    }
    end(&memory, &entries);
}

Test(entries, the_place_among_the_orders_follows_the_state) {
    struct memory memory;
    struct entries entries;
    begin(&memory, &entries);
    struct entry *entry = must_add(&entries, 7);
    for (unsigned from = ENTRY_READY; from <= ENTRY_DEAD; from++) {
        for (unsigned to = ENTRY_READY; to <= ENTRY_DEAD; to++) {
            entry->state = from & 15;
            entries_place(&entries, entry);
            entry->state = to & 15;
            entries_place(&entries, entry);
            const bool is_timer = to == ENTRY_LEASED || to == ENTRY_WAITING || to == ENTRY_DELAYED;
            cr_assert_eq(entries_first_ready(&entries), to == ENTRY_READY ? entry : NULL);
            cr_assert_eq(entries_first_timer(&entries), is_timer ? entry : NULL);
        }
    }
    end(&memory, &entries);
}

enum { COLLIDING = 10 };

/* The only slot in use of a table that has just one entry. */
static uint32_t home_of(struct entries *entries, uint64_t seq) {
    struct entry *entry = must_add(entries, seq);
    uint32_t home = 0;
    while (entries->slots[home] == 0)
        home++;
    entries_remove(entries, entry);
    return home;
}

/* Fewer homes than entries, around the end of the table: long runs, which overlap and wrap. */
static void draw_colliding(struct entries *entries, struct prng *prng, uint64_t *seqs) {
    const uint32_t homes = (uint32_t)prng_between(prng, 1, 4);
    for (unsigned i = 0; i < COLLIDING;) {
        const uint64_t seq = prng_next(prng) % ENTRY_SEQ_MAX;
        const uint32_t home = home_of(entries, seq);
        bool fits = (home + 2) % entries->slot_count < homes;
        for (unsigned j = 0; j < i; j++)
            fits = fits && seqs[j] != seq;
        if (fits)
            seqs[i++] = seq;
    }
}

Test(entries, those_of_one_hash_are_all_found_whichever_goes_first) {
    struct memory memory;
    struct entries entries;
    begin(&memory, &entries);
    struct prng prng = prng_stream(1, 1);
    cr_assert_eq(entries_reserve(&entries, COLLIDING, NULL), PAWL_OK);
    const uint32_t slot_count = entries.slot_count;
    for (unsigned round = 0; round < 1500; round++) {
        uint64_t seqs[COLLIDING];
        draw_colliding(&entries, &prng, seqs);
        for (unsigned i = 0; i < COLLIDING; i++)
            (void)entries_add(&entries, seqs[i]);
        for (unsigned left = COLLIDING; left > 0; left--) {
            const size_t at = (size_t)prng_below(&prng, left);
            const uint64_t gone = seqs[at];
            entries_remove(&entries, entries_find(&entries, gone));
            seqs[at] = seqs[left - 1];
            cr_assert_null(entries_find(&entries, gone));
            for (unsigned i = 0; i < left - 1; i++)
                cr_assert_eq(seq_of(entries_find(&entries, seqs[i])), seqs[i], "round %u", round);
        }
        cr_assert_eq(entries.count, 0);
    }
    cr_assert_eq(entries.slot_count, slot_count, "or they would not have collided");
    end(&memory, &entries);
}

struct census {
    uint32_t visits;
    uint64_t seq_sum;
};

static void count_in(void *context, struct entry *entry) {
    struct census *census = context;
    census->visits++;
    census->seq_sum += entry->seq;
}

Test(entries, growing_keeps_all_and_moves_none) {
    enum { COUNT = 5000 };
    static struct entry *added[COUNT];
    struct memory memory;
    struct entries entries;
    begin(&memory, &entries);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        const uint64_t seq = 1 + i * UINT64_C(977);
        cr_assert_eq(entries_reserve(&entries, 1, NULL), PAWL_OK);
        added[i] = add_placed(&entries, seq, i % 2 == 0 ? ENTRY_READY : ENTRY_LEASED, 1);
        added[i]->fence = seq * 3;
        sum += seq;
        cr_assert_eq(seq_of(entries_first_ready(&entries)), 1);
        cr_assert_eq(seq_of(entries_first_timer(&entries)), i == 0 ? UINT64_MAX : 978);
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        cr_assert_eq(entries_find(&entries, 1 + i * UINT64_C(977)), added[i]);
        cr_assert_eq(added[i]->fence, added[i]->seq * 3);
        cr_assert_null(entries_find(&entries, 2 + i * UINT64_C(977)));
    }
    struct census census = {0};
    entries_each(&entries, count_in, &census);
    cr_assert_eq(census.visits, COUNT);
    cr_assert_eq(census.seq_sum, sum);
    end(&memory, &entries);
}

static void make_ready(void *context, struct entry *entry) {
    struct entries *entries = context;
    entry->state = ENTRY_READY;
    entries_place(entries, entry);
}

Test(entries, a_visit_may_place_what_it_meets) {
    struct memory memory;
    struct entries entries;
    begin(&memory, &entries);
    struct prng prng = prng_stream(1, 2);
    cr_assert_eq(entries_reserve(&entries, 1000, NULL), PAWL_OK);
    for (uint64_t seq = 1; seq <= 1000; seq++)
        (void)add_placed(&entries, seq, (enum entry_state)prng_below(&prng, 5), prng_next(&prng));
    entries_each(&entries, make_ready, &entries);
    cr_assert_null(entries_first_timer(&entries));
    unsigned priority = 7;
    for (uint32_t left = 1000; left > 0; left--) {
        struct entry *entry = entries_first_ready(&entries);
        cr_assert_not_null(entry);
        cr_assert_leq(entry->priority, priority);
        priority = entry->priority;
        entries_remove(&entries, entry);
    }
    cr_assert_null(entries_first_ready(&entries));
    end(&memory, &entries);
}

/* ---- Against a plain list ---- */

enum { MODEL_STEPS = 200000, MODEL_MAX = 300, MODEL_PHASE = 1000 };

struct model_entry {
    uint64_t seq, when_ms, fence;
    uint32_t priority, state;
};

struct model {
    struct memory memory;
    struct entries entries;
    struct prng prng;
    struct model_entry list[MODEL_MAX];
    uint32_t count, limit;
};

static void model_draw(struct model *model, struct model_entry *one) {
    one->state = (uint32_t)prng_below(&model->prng, ENTRY_DEAD + 1);
    one->priority = (uint32_t)prng_below(&model->prng, 10);
    one->when_ms = prng_chance(&model->prng, 50000) ? prng_below(&model->prng, 20)
                                                    : prng_next(&model->prng) % ENTRY_SEQ_MAX;
}

static void model_put(struct model *model, const struct model_entry *one) {
    struct entry *entry = entries_find(&model->entries, one->seq);
    cr_assert_not_null(entry);
    entry->state = one->state & 15;
    entry->priority = one->priority & 15;
    entry->when_ms = one->when_ms & (ENTRY_SEQ_MAX - 1);
    entries_place(&model->entries, entry);
}

static void model_add(struct model *model) {
    struct model_entry one = {.fence = prng_next(&model->prng)};
    one.seq = prng_chance(&model->prng, 50000) ? prng_below(&model->prng, 2000)
                                               : prng_next(&model->prng) % ENTRY_SEQ_MAX;
    if (entries_find(&model->entries, one.seq) != NULL)
        return;
    model_draw(model, &one);
    must_add(&model->entries, one.seq)->fence = one.fence;
    model->list[model->count++] = one;
    if (prng_chance(&model->prng, 90000))
        model_put(model, &one);
    else
        model->list[model->count - 1].state = ENTRY_DEAD + 1; /* not placed: in neither order */
}

static void model_change(struct model *model, struct model_entry *one) {
    struct model_entry drawn;
    model_draw(model, &drawn);
    if (one->state > ENTRY_DEAD || prng_chance(&model->prng, 50000))
        one->state = drawn.state;
    if (prng_chance(&model->prng, 50000))
        one->priority = drawn.priority;
    if (prng_chance(&model->prng, 50000))
        one->when_ms = drawn.when_ms;
    model_put(model, one);
}

static void model_step(struct model *model) {
    const uint64_t drawn = prng_below(&model->prng, 100);
    const size_t at = (size_t)prng_below(&model->prng, model->count);
    if (model->count == 0 || (drawn < 30 && model->count < model->limit)) {
        model_add(model);
    } else if (drawn < 55 || model->count > model->limit) {
        entries_remove(&model->entries, entries_find(&model->entries, model->list[at].seq));
        cr_assert_null(entries_find(&model->entries, model->list[at].seq));
        model->list[at] = model->list[--model->count];
    } else {
        model_change(model, &model->list[at]);
    }
}

static bool is_timer(const struct model_entry *one) {
    return one->state == ENTRY_DELAYED || one->state == ENTRY_WAITING || one->state == ENTRY_LEASED;
}

static bool is_sooner(const struct model_entry *one, const struct model_entry *other) {
    return other == NULL || one->when_ms < other->when_ms ||
           (one->when_ms == other->when_ms && one->seq < other->seq);
}

static bool is_prior(const struct model_entry *one, const struct model_entry *other) {
    return other == NULL || one->priority > other->priority ||
           (one->priority == other->priority && one->seq < other->seq);
}

static void model_compare(const struct model *model, uint32_t step) {
    const struct model_entry *ready = NULL, *timer = NULL;
    for (uint32_t i = 0; i < model->count; i++) {
        const struct model_entry *one = &model->list[i];
        if (one->state == ENTRY_READY && is_prior(one, ready))
            ready = one;
        if (is_timer(one) && is_sooner(one, timer))
            timer = one;
        const struct entry *entry = entries_find(&model->entries, one->seq);
        if (entry == NULL || entry->seq != one->seq || entry->fence != one->fence)
            cr_assert_fail("step %u: entry %u of %u is lost", step, i, model->count);
    }
    cr_assert_eq(seq_of(entries_first_ready(&model->entries)),
                 ready == NULL ? UINT64_MAX : ready->seq, "step %u", step);
    cr_assert_eq(seq_of(entries_first_timer(&model->entries)),
                 timer == NULL ? UINT64_MAX : timer->seq, "step %u", step);
    cr_assert_eq(model->entries.count, model->count);
}

Test(entries, both_orders_are_those_of_a_plain_list) {
    static const uint32_t limits[] = {2, 10, 40, 150, MODEL_MAX};
    static struct model model;
    begin(&model.memory, &model.entries);
    model.prng = prng_stream(20, 3);
    for (uint32_t step = 0; step < MODEL_STEPS; step++) {
        if (step % MODEL_PHASE == 0)
            model.limit = limits[prng_below(&model.prng, sizeof limits / sizeof *limits)];
        if (step % (MODEL_STEPS / 4) == 0) {
            end(&model.memory, &model.entries);
            model.count = 0;
        }
        model_step(&model);
        model_compare(&model, step);
    }
    end(&model.memory, &model.entries);
}

/* ---- Memory ---- */

/* What is there and what is first, as one number. */
static uint64_t state_of(const struct entries *entries, uint32_t count) {
    uint64_t sum = seq_of(entries_first_ready(entries)) * 31 +
                   seq_of(entries_first_timer(entries)) * 17 + entries->count;
    for (uint64_t seq = 1; seq <= count; seq++) {
        const struct entry *entry = entries_find(entries, seq);
        sum = sum * 31 + seq_of(entry) * 5 + (entry == NULL ? 0 : entry->when_ms);
    }
    cr_assert_null(entries_find(entries, count + UINT64_C(1)));
    return sum;
}

/* `count` entries and `spare` reserved ones beside them; then more is asked for, and refused by the
 * first, second, … allocation until it is given. Returns how often it was refused. */
static uint32_t refuse_in_turn(uint32_t count, uint32_t spare, uint32_t more) {
    for (uint32_t successes = 0;; successes++) {
        struct memory memory;
        struct entries entries;
        begin(&memory, &entries);
        cr_assert_eq(entries_reserve(&entries, count, NULL), PAWL_OK);
        for (uint32_t i = 1; i <= count; i++)
            (void)add_placed(&entries, i, (enum entry_state)(i % 5), i * UINT64_C(7919));
        cr_assert_eq(entries_reserve(&entries, spare, NULL), PAWL_OK);
        const uint64_t before = state_of(&entries, count);

        memory.left = successes;
        pawl_error error;
        const pawl_status status = entries_reserve(&entries, more, &error);
        cr_assert_eq(state_of(&entries, count), before, "%u of %u", successes, more);
        const bool is_refused = status != PAWL_OK;
        if (is_refused) {
            cr_assert_eq(status, PAWL_NO_MEMORY);
            cr_assert_eq(error.status, PAWL_NO_MEMORY);
        }

        memory.left = 0;
        const uint32_t room = is_refused ? spare : more;
        for (uint32_t i = 1; i <= room; i++)
            (void)add_placed(&entries, count + i, ENTRY_LEASED, 0);
        for (uint32_t i = 1; i <= count + room; i++)
            cr_assert_eq(seq_of(entries_find(&entries, i)), i);
        end(&memory, &entries);
        if (!is_refused)
            return successes;
    }
}

Test(entries, a_reservation_that_is_refused_changes_nothing) {
    static const uint32_t counts[] = {0, 1, 14, 63, 64, 500};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const uint32_t count = counts[i];
        cr_assert_eq(refuse_in_turn(count, 20, 20), 0, "it is reserved");
        cr_assert_geq(refuse_in_turn(count, 0, 700), 8, "the table, the orders, the chunks");
        cr_assert_geq(refuse_in_turn(count, 100, 1000), 8);
    }
}

Test(entries, what_is_reserved_needs_no_memory) {
    struct prng prng = prng_stream(5, 4);
    for (unsigned round = 0; round < 300; round++) {
        struct memory memory;
        struct entries entries;
        begin(&memory, &entries);
        uint64_t next = 1, first = 1;
        for (unsigned turn = 0; turn < 12; turn++) {
            const uint32_t count = (uint32_t)prng_below(&prng, 1U << prng_below(&prng, 10));
            cr_assert_eq(entries_reserve(&entries, count, NULL), PAWL_OK);
            memory.left = 0;
            for (uint32_t i = 0; i < count; i++)
                (void)add_placed(&entries, next++, (enum entry_state)prng_below(&prng, 5),
                                 prng_next(&prng));
            for (uint64_t gone = prng_below(&prng, next - first + 1); gone > 0; gone--)
                entries_remove(&entries, entries_find(&entries, first++));
            memory.left = UINT32_MAX;
            for (uint64_t seq = 1; seq < next; seq++)
                cr_assert_eq(entries_find(&entries, seq) != NULL, seq >= first);
        }
        end(&memory, &entries);
    }
}

Test(entries, more_than_there_may_be_is_too_large) {
    struct memory memory;
    struct entries entries;
    begin(&memory, &entries);
    (void)must_add(&entries, 5);
    memory.left = 0;
    cr_assert_eq(entries_reserve(&entries, UINT32_MAX, NULL), PAWL_TOO_LARGE);
    cr_assert_eq(entries_reserve(&entries, 1U << 30, NULL), PAWL_TOO_LARGE);
    cr_assert_eq(entries_reserve(&entries, (1U << 30) - 1, NULL), PAWL_NO_MEMORY);
    cr_assert_eq(seq_of(entries_find(&entries, 5)), 5);
    end(&memory, &entries);
}

/* The promise is 64 bytes for each, whatever the count. Of a block counts what a common allocator
 * adds to it. */
Test(entries, an_entry_costs_no_more_than_64_bytes) {
    enum { COUNT = 1000000, BLOCK_BYTES = 16, SLACK_BYTES = 4096 };
    struct memory memory;
    struct entries entries;
    begin(&memory, &entries);
    for (uint32_t count = 1; count <= COUNT; count++) {
        (void)must_add(&entries, count);
        const size_t bytes = memory.held_bytes + (size_t)memory.blocks * BLOCK_BYTES;
        if (bytes > (size_t)count * 64 + SLACK_BYTES)
            cr_assert_fail("%zu bytes for %u", bytes, count);
        if (count >= 8192 && bytes > (size_t)count * 64)
            cr_assert_fail("%zu bytes for %u", bytes, count);
    }
    const size_t held_bytes = memory.held_bytes;
    for (uint32_t seq = 1; seq <= COUNT; seq++) {
        entries_remove(&entries, entries_find(&entries, seq));
        (void)must_add(&entries, (uint64_t)COUNT + seq);
    }
    cr_assert_eq(memory.held_bytes, held_bytes, "one in the place of another costs nothing");
    end(&memory, &entries);
}

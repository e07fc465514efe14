#include "os_posix_world.h"

#include "shared.h"

#include <errno.h>
#include <pthread.h>

/* Owner words. */

Test(shared_owner, packs_slot_and_generation_up_to_their_limits) {
    static const unsigned slots[] = {0, 1, 127, SHARED_SLOTS - 1, 255};
    static const uint32_t generations[] = {1, 2, 255, 256, SHARED_GENERATION_MAX};
    for (size_t i = 0; i < sizeof slots / sizeof slots[0]; i++) {
        for (size_t j = 0; j < sizeof generations / sizeof generations[0]; j++) {
            const shared_owner owner = shared_owner_make(slots[i], generations[j]);
            cr_assert_neq(owner, 0, "0 is nobody");
            cr_assert_eq(owner & SHARED_OWNER_WAITED, 0);
            cr_assert_eq(shared_owner_slot(owner), slots[i]);
            cr_assert_eq(shared_owner_generation(owner), generations[j]);
            const shared_owner waited = owner | SHARED_OWNER_WAITED;
            cr_assert_eq(shared_owner_slot(waited), slots[i]);
            cr_assert_eq(shared_owner_generation(waited), generations[j]);
        }
    }
}

Test(shared_owner, is_taken_only_from_nobody) {
    _Atomic uint32_t word = 0;
    const shared_owner first = shared_owner_make(3, 1), second = shared_owner_make(4, 1);
    cr_assert(shared_owner_try(&word, first));
    cr_assert_eq(word, first);
    cr_assert(!shared_owner_try(&word, second));
    cr_assert(!shared_owner_try(&word, first), "not twice either");
    cr_assert_eq(word, first);
}

Test(shared_owner, is_replaced_only_as_it_was_seen) {
    const shared_owner dead = shared_owner_make(3, 1), heir = shared_owner_make(4, 9);
    _Atomic uint32_t word = dead;
    cr_assert(!shared_owner_replace(&word, shared_owner_make(3, 2), heir), "another generation");
    cr_assert(!shared_owner_replace(&word, dead | SHARED_OWNER_WAITED, heir), "not waited for");
    cr_assert(!shared_owner_replace(&word, heir, heir));
    cr_assert_eq(word, dead);
    cr_assert(shared_owner_replace(&word, dead, heir));
    cr_assert_eq(word, heir);
    cr_assert(!shared_owner_replace(&word, dead, dead), "too late");
}

Test(shared_owner, who_is_replaced_leaves_its_sleepers_to_the_heir) {
    const shared_owner dead = shared_owner_make(3, 1) | SHARED_OWNER_WAITED;
    const shared_owner heir = shared_owner_make(4, 9);
    _Atomic uint32_t word = dead;
    cr_assert(shared_owner_replace(&word, dead, heir));
    cr_assert_eq(word, heir | SHARED_OWNER_WAITED);
}

Test(shared_owner, a_word_without_owner_is_not_waited_for) {
    _Atomic uint32_t word = 0;
    cr_assert_eq(shared_owner_mark_waited(&word), 0);
    cr_assert_eq(word, 0);
    const shared_owner owner = shared_owner_make(3, 1);
    word = owner;
    cr_assert_eq(shared_owner_mark_waited(&word), owner | SHARED_OWNER_WAITED);
    cr_assert_eq(word, owner | SHARED_OWNER_WAITED);
    cr_assert_eq(shared_owner_mark_waited(&word), owner | SHARED_OWNER_WAITED, "marked already");
}

Test(shared_owner, is_nobody_after_it_was_dropped, .init = set_up, .fini = tear_down) {
    _Atomic uint32_t word = shared_owner_make(3, 1) | SHARED_OWNER_WAITED;
    shared_owner_drop(os, &word);
    cr_assert_eq(word, 0);
}

struct race {
    _Atomic uint32_t word;
    _Atomic uint32_t wins;
    pthread_barrier_t barrier;
};

struct racer {
    struct race *race;
    shared_owner self;
};

enum { ROUNDS = 2000, RACERS = 2 };

static shared_owner dead_of(uint32_t round) {
    return shared_owner_make(9, round + 1);
}

static void *race_for_the_dead(void *context) {
    const struct racer *racer = context;
    struct race *race = racer->race;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        (void)pthread_barrier_wait(&race->barrier);
        if (shared_owner_replace(&race->word, dead_of(round), racer->self))
            atomic_fetch_add(&race->wins, 1);
        (void)pthread_barrier_wait(&race->barrier);
        /* The one who has it makes the next dead owner. */
        if (race->word == racer->self)
            race->word = dead_of(round + 1);
    }
    return NULL;
}

Test(shared_owner, of_two_who_find_the_dead_one_wins) {
    static struct race race;
    pthread_t threads[RACERS];
    struct racer racers[RACERS];
    race.word = dead_of(0);
    cr_assert_eq(pthread_barrier_init(&race.barrier, NULL, RACERS), 0);
    for (unsigned i = 0; i < RACERS; i++) {
        racers[i] = (struct racer){&race, shared_owner_make(i, 1)};
        cr_assert_eq(pthread_create(&threads[i], NULL, race_for_the_dead, &racers[i]), 0);
    }
    for (unsigned i = 0; i < RACERS; i++)
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
    cr_assert_eq(race.wins, ROUNDS, "each round has one winner");
    cr_assert_eq(pthread_barrier_destroy(&race.barrier), 0);
}

/* Takes the word, counts without any other protection, and gives it up: what a waiter does. */
struct counted {
    _Atomic uint32_t word;
    uint32_t count;
};

struct counter {
    struct counted *counted;
    shared_owner self;
};

static void *count_as_owner(void *context) {
    struct counter *counter = context;
    struct counted *counted = counter->counted;
    for (int i = 0; i < ROUNDS; i++) {
        shared_owner self = counter->self;
        while (!shared_owner_try(&counted->word, self)) {
            const uint32_t seen = shared_owner_mark_waited(&counted->word);
            if (seen != 0)
                (void)os_futex_wait(os, &counted->word, seen, OS_NO_DEADLINE);
            self |= SHARED_OWNER_WAITED;
        }
        counted->count++;
        shared_owner_drop(os, &counted->word);
    }
    return NULL;
}

Test(shared_owner, excludes_and_strands_no_sleeper, .init = set_up, .fini = tear_down) {
    enum { THREADS = 3 };
    static struct counted counted;
    pthread_t threads[THREADS];
    struct counter counters[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        counters[i] = (struct counter){&counted, shared_owner_make(i, 1)};
        cr_assert_eq(pthread_create(&threads[i], NULL, count_as_owner, &counters[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
    cr_assert_eq(counted.count, THREADS * ROUNDS);
    cr_assert_eq(counted.word, 0);
}

/* Events. */

struct waiting {
    _Atomic uint32_t event, waiters;
};

static void *wait_for_event(void *context) {
    struct waiting *waiting = context;
    atomic_fetch_add(&waiting->waiters, 1);
    while (atomic_load(&waiting->event) == 0)
        (void)os_futex_wait(os, &waiting->event, 0, OS_NO_DEADLINE);
    atomic_fetch_sub(&waiting->waiters, 1);
    return NULL;
}

Test(shared_event, wakes_everybody_and_is_counted, .init = set_up, .fini = tear_down) {
    enum { SLEEPERS = 3 };
    static struct waiting waiting;
    pthread_t threads[SLEEPERS];
    for (int i = 0; i < SLEEPERS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, wait_for_event, &waiting), 0);
    while (atomic_load(&waiting.waiters) < SLEEPERS)
        os_pause(os, 0);
    shared_event_raise(os, &waiting.event, &waiting.waiters);
    for (int i = 0; i < SLEEPERS; i++)
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
    shared_event_raise(os, &waiting.event, &waiting.waiters);
    cr_assert_eq(waiting.event, 2);
}

/* The file. */

static const struct identity ours = {.uuid = {1, 2, 3}, .secret = 4, .incarnation = 1};

static struct shared *must_map(void) {
    struct shared *shared = NULL;
    cr_assert_eq(shared_map(os, dir, &ours, &shared, NULL), PAWL_OK);
    return shared;
}

static void make(uint64_t segment_bytes) {
    struct shared *shared = NULL;
    cr_assert_eq(shared_make(os, dir, &ours, segment_bytes, &shared, NULL), PAWL_OK);
    shared_unmap(os, shared);
}

static void must_not_map(const struct identity *identity, pawl_status expected) {
    struct shared *shared = NULL;
    pawl_error error;
    cr_assert_eq(shared_map(os, dir, identity, &shared, &error), expected);
    cr_assert_null(shared);
    cr_assert_str_eq(error.file, SHARED_NAME);
}

Test(shared, is_one_memory_for_all_who_map_it, .init = set_up, .fini = tear_down) {
    make(8192);
    struct shared *first = must_map(), *second = must_map();
    cr_assert_neq(first, second);
    cr_assert_eq(first->segment_bytes, 8192);
    cr_assert_eq(first->opening, second->opening);
    atomic_store(&first->tail_lsn, 640);
    atomic_store(&second->slots[SHARED_SLOTS - 1].generation, 7);
    cr_assert_eq(atomic_load(&second->tail_lsn), 640);
    cr_assert_eq(atomic_load(&first->slots[SHARED_SLOTS - 1].generation), 7, "to its last slot");
    shared_unmap(os, first);
    shared_unmap(os, second);
}

Test(shared, is_made_anew_with_nothing_of_before, .init = set_up, .fini = tear_down) {
    make(8192);
    struct shared *shared = must_map();
    const uint64_t opening = shared->opening;
    atomic_store(&shared->failure, 1);
    atomic_store(&shared->append_owner, shared_owner_make(1, 1));
    atomic_store(&shared->slots[5].generation, 9);
    shared_unmap(os, shared);
    make(16384);
    shared = must_map();
    cr_assert_neq(shared->opening, opening);
    cr_assert_eq(shared->segment_bytes, 16384);
    cr_assert(!shared_is_failed(shared));
    cr_assert_eq(atomic_load(&shared->append_owner), 0);
    cr_assert_eq(atomic_load(&shared->slots[5].generation), 0);
    shared_unmap(os, shared);
}

Test(shared, takes_any_file_of_its_name_over, .init = set_up, .fini = tear_down) {
    struct os_file *file = must_open(SHARED_NAME, MAKE);
    cr_assert_eq(os_file_write(os, file, "rubbish", 7, 200000), 0);
    (void)os_file_close(os, file);
    make(8192);
    struct shared *shared = must_map();
    cr_assert_eq(atomic_load(&shared->tail_lsn), 0);
    shared_unmap(os, shared);
    file = must_open(SHARED_NAME, OS_OPEN_READ);
    struct os_stat stat;
    cr_assert_eq(os_file_stat(os, file, &stat), 0);
    cr_assert_geq(stat.bytes, sizeof(struct shared));
    cr_assert_geq(stat.allocated_bytes, sizeof(struct shared), "a mapping never lacks a block");
    (void)os_file_close(os, file);
}

static const struct os_ops *sound_ops;

/* A disk refused what was written, and the cache forgot it: what was there before is mapped. */
static int map_old_content(struct os *on, struct os_file *file, size_t bytes, void **ret_address) {
    static uint8_t old[sizeof(struct shared)];
    memset(old, 0xa5, sizeof old);
    cr_assert_eq(os_file_write(on, file, old, sizeof old, 0), 0);
    return sound_ops->file_map(on, file, bytes, ret_address);
}

Test(shared, has_nothing_of_before_though_its_file_does, .init = set_up, .fini = tear_down) {
    sound_ops = os->ops;
    struct os_ops ops = *sound_ops;
    ops.file_map = map_old_content;
    os->ops = &ops;
    struct shared *shared = NULL;
    cr_assert_eq(shared_make(os, dir, &ours, 8192, &shared, NULL), PAWL_OK);
    os->ops = sound_ops;
    cr_assert_eq(shared->segment_bytes, 8192);
    cr_assert_eq(atomic_load(&shared->tail_lsn), 0);
    cr_assert_eq(atomic_load(&shared->append_owner), 0);
    cr_assert_eq(atomic_load(&shared->slots[SHARED_SLOTS - 1].generation), 0);
    struct shared *other = must_map();
    cr_assert_eq(other->opening, shared->opening);
    shared_unmap(os, other);
    shared_unmap(os, shared);
}

Test(shared, that_was_replaced_is_not_mapped, .init = set_up, .fini = tear_down) {
    must_not_map(&ours, PAWL_IO);
    make(8192);
    struct identity other = ours;
    other.uuid[15] = 1;
    must_not_map(&other, PAWL_DAMAGED);
    static const size_t places[] = {0, 8, 12, 16, 31};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        struct shared *shared = must_map();
        uint8_t *bytes = (uint8_t *)shared;
        bytes[places[i]] ^= 1;
        must_not_map(&ours, PAWL_DAMAGED);
        bytes[places[i]] ^= 1;
        shared_unmap(os, shared);
    }
    struct os_file *file = must_open(SHARED_NAME, READ_WRITE);
    cr_assert_eq(os_file_truncate(os, file, sizeof(struct shared) - 1), 0);
    (void)os_file_close(os, file);
    must_not_map(&ours, PAWL_DAMAGED);
}

Test(shared, of_one_alone_is_in_its_own_memory, .init = set_up, .fini = tear_down) {
    struct shared *shared = NULL;
    cr_assert_eq(shared_make_private(os, &ours, 8192, &shared, NULL), PAWL_OK);
    cr_assert_eq(shared->segment_bytes, 8192);
    cr_assert_eq(atomic_load(&shared->tail_lsn), 0);
    shared_release_private(os, shared);
    struct os_file *file = NULL;
    cr_assert_eq(os_file_open(os, dir, SHARED_NAME, OS_OPEN_READ, &file), ENOENT);
}

Test(shared, keeps_the_first_cause_of_a_failure, .init = set_up, .fini = tear_down) {
    struct shared *shared = NULL;
    cr_assert_eq(shared_make_private(os, &ours, 8192, &shared, NULL), PAWL_OK);
    cr_assert(!shared_is_failed(shared));
    shared_fail(os, shared, EIO, 3);
    shared_fail(os, shared, ENOSPC, 4);
    int os_errno = 0;
    uint64_t ordinal = 0;
    shared_failure(shared, &os_errno, &ordinal);
    cr_assert(shared_is_failed(shared));
    cr_assert_eq(os_errno, EIO);
    cr_assert_eq(ordinal, 3);
    cr_assert_eq(atomic_load(&shared->durable_event), 2, "who waits learns of it");
    cr_assert_eq(atomic_load(&shared->tail_event), 2);
    shared_release_private(os, shared);
}

#include <criterion/criterion.h>

#include <errno.h>
#include <pthread.h>

#include "mutex.h"
#include "os_posix.h"

enum { THREADS = 4, ROUNDS = 20000 };

static struct os *os;

static void set_up(void) {
    cr_assert_eq(os_posix_create(&os), 0);
}

static void tear_down(void) {
    os_posix_destroy(os);
}

struct shared_count {
    struct mutex mutex;
    uint64_t count;       /* under the mutex, and no atomic: a race shows as a lost step */
    uint64_t by_deadline; /* as above; how often a deadline passed */
    _Atomic uint32_t inside;
    _Atomic uint32_t overlaps;
};

static void enter(struct shared_count *shared) {
    if (atomic_fetch_add(&shared->inside, 1) != 0)
        atomic_fetch_add(&shared->overlaps, 1);
    shared->count++;
    atomic_fetch_sub(&shared->inside, 1);
}

static void *hammer(void *context) {
    struct shared_count *shared = context;
    for (int round = 0; round < ROUNDS; round++) {
        if (round % 3 != 0 || !mutex_trylock(&shared->mutex))
            (void)mutex_lock(os, &shared->mutex, OS_NO_DEADLINE);
        enter(shared);
        mutex_unlock(os, &shared->mutex);
    }
    return NULL;
}

/* Gives up and comes again, so that waiters that left are among those that stayed. */
static void *hammer_impatiently(void *context) {
    struct shared_count *shared = context;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t given_up = 0;
        while (mutex_lock(os, &shared->mutex, os_clock_boot(os) + 1000) == ETIMEDOUT)
            given_up++;
        shared->by_deadline += given_up;
        enter(shared);
        mutex_unlock(os, &shared->mutex);
    }
    return NULL;
}

static void run_threads(struct shared_count *shared, void *(*const bodies[THREADS])(void *)) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, bodies[i], shared), 0);
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
    cr_assert_eq(shared->count, (uint64_t)THREADS * ROUNDS);
    cr_assert_eq(shared->overlaps, 0);
    cr_assert_eq(shared->mutex.word, 0, "free at the end");
}

Test(mutex, is_free_when_zeroed, .init = set_up, .fini = tear_down) {
    struct mutex mutex = {0};
    cr_assert_eq(mutex_lock(os, &mutex, OS_NO_DEADLINE), 0);
    mutex_unlock(os, &mutex);
    cr_assert_eq(mutex_lock(os, &mutex, 0), 0, "a past deadline means try once");
    mutex_unlock(os, &mutex);
    cr_assert_eq(mutex.word, 0);
}

Test(mutex, trylock_takes_only_a_free_one, .init = set_up, .fini = tear_down) {
    struct mutex mutex = {0};
    cr_assert(mutex_trylock(&mutex));
    cr_assert(!mutex_trylock(&mutex));
    mutex_unlock(os, &mutex);
    cr_assert(mutex_trylock(&mutex));
    mutex_unlock(os, &mutex);
}

Test(mutex, gives_up_at_the_deadline, .init = set_up, .fini = tear_down) {
    struct mutex mutex = {0};
    cr_assert(mutex_trylock(&mutex));
    cr_assert_eq(mutex_lock(os, &mutex, 0), ETIMEDOUT, "long past");
    cr_assert_eq(mutex_lock(os, &mutex, os_clock_boot(os)), ETIMEDOUT, "just past");
    const uint64_t deadline_ns = os_clock_boot(os) + 2000000;
    cr_assert_eq(mutex_lock(os, &mutex, deadline_ns), ETIMEDOUT);
    cr_assert_geq(os_clock_boot(os), deadline_ns, "not sooner");
    mutex_unlock(os, &mutex);
    cr_assert(mutex_trylock(&mutex), "those who gave up left nothing behind");
    mutex_unlock(os, &mutex);
}

Test(mutex, excludes_four_threads, .init = set_up, .fini = tear_down) {
    struct shared_count shared = {.count = 0};
    run_threads(&shared, (void *(*const[THREADS])(void *)){hammer, hammer, hammer, hammer});
}

Test(mutex, loses_no_wake_when_waiters_give_up, .init = set_up, .fini = tear_down) {
    struct shared_count shared = {.count = 0};
    run_threads(&shared, (void *(*const[THREADS])(void *)){hammer, hammer_impatiently, hammer,
                                                           hammer_impatiently});
}

struct relay {
    struct mutex mutex;
    int result;
};

static void *wait_for_it(void *context) {
    struct relay *relay = context;
    relay->result = mutex_lock(os, &relay->mutex, OS_NO_DEADLINE);
    mutex_unlock(os, &relay->mutex);
    return NULL;
}

Test(mutex, wakes_a_sleeper, .init = set_up, .fini = tear_down) {
    struct relay relay = {.result = -1};
    cr_assert(mutex_trylock(&relay.mutex));
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, wait_for_it, &relay), 0);
    /* 2 says that it is about to sleep, or sleeps. */
    while (atomic_load(&relay.mutex.word) != 2)
        os_pause(os, 0);
    mutex_unlock(os, &relay.mutex);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    cr_assert_eq(relay.result, 0);
    cr_assert_eq(relay.mutex.word, 0);
}

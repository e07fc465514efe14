/* What whoever takes the append lock finds, by setting what a dead owner left in `shared`. */
#include "core.h"

#include "log_world.h"

#include <pthread.h>

/* Appends until the log goes on to another segment; where its start frame is. */
static uint64_t roll(struct log *log) {
    const uint64_t first = atomic_load(&log->shared->active_ordinal);
    uint64_t number = 0;
    while (atomic_load(&log->shared->active_ordinal) == first)
        (void)must_append(log, ++number, 600);
    return chain_last(&log->chain).first_lsn;
}

Test(tail, a_segment_whose_beginner_died_is_the_one_to_append_to, .init = set_up,
     .fini = tear_down) {
    struct log *log = must_open_log(SMALL_SEGMENT);
    const uint64_t start_lsn = roll(log);
    const uint64_t ordinal = atomic_load(&log->shared->active_ordinal);
    struct shared *shared = log->shared;
    /* It had named the segment, and not come to say that it is open. */
    atomic_store(&shared->is_sealed, 1);
    atomic_store(&shared->tail_lsn, start_lsn);
    atomic_store(&shared->appending_lsn, start_lsn);
    (void)must_append(log, 99, 40);
    cr_assert_eq(atomic_load(&shared->active_ordinal), ordinal);
    cr_assert_eq(atomic_load(&shared->is_sealed), 0);
    must_close(log);
}

Test(tail, what_is_adopted_wakes_who_waits_for_it, .init = set_up, .fini = tear_down) {
    struct log *log = must_open_log(SMALL_SEGMENT);
    const struct place place = must_append(log, 1, 40);
    struct shared *shared = log->shared;
    atomic_store(&shared->tail_lsn, place.lsn);
    atomic_store(&shared->appending_lsn, place.lsn);
    const uint32_t events = atomic_load(&shared->tail_event);
    cr_assert_eq(log_lock(log, 100, LOG_ORDINARY, OS_NO_DEADLINE, NULL), PAWL_OK);
    log_unlock(log);
    cr_assert_eq(log_tail(log), place.end_lsn);
    cr_assert_neq(atomic_load(&shared->tail_event), events);
    must_close(log);
}

Test(tail, does_nothing_with_shared_memory_that_was_written_over, .init = set_up,
     .fini = tear_down) {
    struct log *log = must_open_log(SMALL_SEGMENT);
    (void)must_append_durably(log, 1, 40);
    const uint64_t magic = log->shared->magic;
    log->shared->magic = 0;
    pawl_error error = {0};
    struct place place;
    cr_assert_eq(try_append(log, 2, 40, 0, 0, &place, &error), PAWL_DAMAGED);
    cr_assert_not_null(strstr(error.sentence, SHARED_NAME), "%s", error.sentence);
    log->shared->magic = magic;
    (void)must_append_durably(log, 2, 40);
    must_read_all(log, 2);
    must_close(log);
}

struct locker {
    struct log *log;
    pawl_status status;
    _Atomic int has_begun;
};

static void *lock_late(void *context) {
    struct locker *locker = context;
    atomic_store(&locker->has_begun, 1);
    locker->status = log_lock(locker->log, 100, LOG_ORDINARY, OS_NO_DEADLINE, NULL);
    return NULL;
}

Test(tail, a_wait_for_a_thread_of_the_same_handle_ends_when_it_is_interrupted, .init = set_up,
     .fini = tear_down) {
    struct log *log = must_open_log(SMALL_SEGMENT);
    struct locker locker = {.log = log, .status = PAWL_INTERNAL};
    pthread_t thread;
    cr_assert_eq(log_lock(log, 100, LOG_ORDINARY, OS_NO_DEADLINE, NULL), PAWL_OK);
    cr_assert_eq(pthread_create(&thread, NULL, lock_late, &locker), 0);
    while (atomic_load(&locker.has_begun) == 0)
        continue;
    log_interrupt(log);
    cr_assert_eq(pthread_join(thread, NULL), 0, "though the lock stays held");
    cr_assert_eq(locker.status, PAWL_INTERRUPTED);
    log_unlock(log);
    must_close(log);
}

/* The system can lose what it wrote back by itself, also in the moment before the tail moves. */
Test(tail, a_start_that_is_lost_while_it_is_begun_is_no_damage, .init = set_up, .fini = tear_down) {
    struct log *log = must_open_log(SMALL_SEGMENT);
    pawl_error error;
    (void)must_append_durably(log, 1, 40);
    cr_assert_eq(log_durable(log), log_tail(log));
    atomic_store(&log->shared->appending_lsn, log_tail(log));
    pawl_status status = chain_follow(&log->chain, 2, &error);
    cr_assert_eq(status, PAWL_DAMAGED, "nothing stands in it");
    cr_assert_eq(core_judge_chain(log, status, &error), PAWL_IO);
    atomic_store(&log->shared->appending_lsn, 0);
    status = chain_follow(&log->chain, 2, &error);
    cr_assert_eq(core_judge_chain(log, status, &error), PAWL_DAMAGED);
    must_close(log);
}

#include "log_world.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* Appending and reading. */

Test(log, reads_back_what_it_was_given_through_many_segments, .init = set_up, .fini = tear_down) {
    enum { COUNT = 200 };
    struct log *log = must_open_log(SMALL_SEGMENT);
    struct place place = {0};
    for (uint64_t number = 1; number <= COUNT; number++) {
        const uint32_t payload_bytes = (uint32_t)(number * 17 % 500);
        const struct place next = must_append(log, number, payload_bytes);
        cr_assert_geq(next.lsn, place.end_lsn);
        cr_assert_eq(next.end_lsn - next.lsn, frame_bytes(NUMBER_METADATA, payload_bytes));
        cr_assert_eq(log_tail(log), next.end_lsn);
        place = next;
    }
    must_read_all(log, COUNT);
    must_close(log);
    const struct log_options options = options_of(SMALL_SEGMENT);
    struct log_opening opening;
    log = must_open_with(&options, &opening);
    cr_assert_eq(opening.row, RECOVERY_CLEAN);
    cr_assert(opening.was_closed);
    must_read_all(log, COUNT);
    (void)must_append_durably(log, COUNT + 1, 40);
    must_read_all(log, COUNT + 1);
    must_close(log);
}

/* Every frame, those of the log itself too: each begins where the one before ended (F2). */
Test(log, has_no_hole, .init = set_up, .fini = tear_down) {
    struct log *log = must_open_log(SMALL_SEGMENT);
    for (uint64_t number = 1; number <= 60; number++)
        (void)must_append_durably(log, number, 300);
    struct log_reader *reader = NULL;
    struct log_view view;
    uint64_t lsn = log_first(log), ordinal = 0, starts = 0, footers = 0;
    uint16_t flags_before = FRAME_FOOTER;
    cr_assert_eq(log_reader_open(log, lsn, &reader, NULL), PAWL_OK);
    while (log_reader_next(reader, LOG_TO_TAIL, &view, NULL) == PAWL_OK) {
        cr_assert_eq(view.header.lsn, lsn);
        cr_assert_leq(view.header.durable_lsn, lsn);
        lsn += frame_header_frame_bytes(&view.header);
        cr_assert_eq(log_reader_lsn(reader), lsn);
        const bool is_start = (view.header.flags & FRAME_SEGMENT_START) != 0;
        cr_assert_eq(is_start, view.ordinal != ordinal);
        cr_assert_eq(is_start, (flags_before & FRAME_FOOTER) != 0, "a footer ends a segment");
        if (is_start) {
            struct segment_start start;
            cr_assert(segment_start_decode(view.metadata, view.header.metadata_bytes, &start));
            cr_assert_eq(start.predecessor, ordinal);
            cr_assert_eq(start.end_lsn, view.header.lsn);
            cr_assert_eq(view.ordinal, ordinal + 1);
        }
        ordinal = view.ordinal;
        flags_before = view.header.flags;
        starts += is_start;
        footers += (view.header.flags & FRAME_FOOTER) != 0;
    }
    cr_assert_eq(lsn, log_tail(log));
    cr_assert_geq(starts, 5);
    cr_assert_eq(footers, starts - 1);
    log_reader_close(reader);
    must_close(log);
}

Test(log, takes_a_frame_of_any_size_around_its_edges, .init = set_up, .fini = tear_down) {
    static const uint32_t sizes[] = {0,    1,    4000,  4001,  4095,  4096,        4097, 8191,
                                     8192, 8193, 65535, 65536, 65537, 1024 * 1024, 40};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    struct log *log = must_open_log(SMALL_SEGMENT);
    for (uint64_t number = 1; number <= SIZES; number++)
        (void)must_append_durably(log, number, sizes[number - 1]);
    must_read_all(log, SIZES);
    must_close(log);
    log = must_open_log(SMALL_SEGMENT);
    must_read_all(log, SIZES);
    must_close(log);
}

Test(log, refuses_a_frame_beyond_the_limit_and_goes_on, .init = set_up, .fini = tear_down) {
    struct log *log = must_open_log(SMALL_SEGMENT);
    pawl_error error;
    cr_assert_eq(log_lock(log, (uint64_t)FRAME_BYTES_MAX + 1, LOG_ORDINARY, OS_NO_DEADLINE, &error),
                 PAWL_TOO_LARGE);
    cr_assert_eq(error.status, PAWL_TOO_LARGE);
    cr_assert_eq(log_lock(log, UINT64_MAX, LOG_ORDINARY, OS_NO_DEADLINE, NULL), PAWL_TOO_LARGE);
    cr_assert_eq(log_lock(log, 1000, LOG_ORDINARY, OS_NO_DEADLINE, NULL), PAWL_OK);
    const uint64_t tail = log_tail(log);
    struct log_draft draft = {.record_count = FRAME_RECORDS_MAX + 1};
    uint64_t lsn = 1, end_lsn = 1;
    cr_assert_eq(log_append(log, &draft, &lsn, &end_lsn, NULL), PAWL_TOO_LARGE);
    draft.record_count = 1;
    draft.payload_bytes = FRAME_BYTES_MAX;
    cr_assert_eq(log_append(log, &draft, &lsn, &end_lsn, NULL), PAWL_TOO_LARGE);
    cr_assert_eq(lsn, 1, "untouched");
    cr_assert_eq(end_lsn, 1, "untouched");
    log_unlock(log);
    cr_assert_eq(log_tail(log), tail);
    (void)must_append_durably(log, 1, 40);
    must_read_all(log, 1);
    must_close(log);
}

Test(log, takes_as_many_frames_under_one_lock_as_there_was_room_for, .init = set_up,
     .fini = tear_down) {
    struct log *log = must_open_log(SMALL_SEGMENT);
    const size_t size = frame_bytes(0, 0);
    cr_assert_eq(log_lock(log, size * 20, LOG_ORDINARY, OS_NO_DEADLINE, NULL), PAWL_OK);
    uint64_t end_lsn = log_tail(log);
    for (int i = 0; i < 20; i++) {
        const struct log_draft draft = {.time_us = 1};
        const uint64_t begin = end_lsn;
        uint64_t lsn = 0;
        cr_assert_eq(log_append(log, &draft, &lsn, &end_lsn, NULL), PAWL_OK);
        cr_assert_eq(lsn, begin);
        cr_assert_eq(end_lsn, begin + size);
    }
    log_unlock(log);
    cr_assert_eq(log_tail(log), end_lsn);
    must_close(log);
}

/* Readers. */

Test(log_reader, begins_at_any_frame, .init = set_up, .fini = tear_down) {
    enum { COUNT = 60 };
    struct log *log = must_open_log(SMALL_SEGMENT);
    struct place places[COUNT + 1];
    for (uint64_t number = 1; number <= COUNT; number++)
        places[number] = must_append(log, number, 300);
    for (uint64_t first = 1; first <= COUNT; first++) {
        struct log_reader *reader = NULL;
        uint64_t number = 0;
        cr_assert_eq(log_reader_open(log, places[first].lsn, &reader, NULL), PAWL_OK);
        cr_assert_eq(read_number(reader, &number, NULL), PAWL_OK);
        cr_assert_eq(number, first);
        log_reader_close(reader);
    }
    must_close(log);
}

Test(log_reader, before_the_log_finds_nothing, .init = set_up, .fini = tear_down) {
    struct log *log = must_open_log(SMALL_SEGMENT);
    struct log_reader *reader = NULL;
    struct log_view view;
    cr_assert_eq(log_reader_open(log, 0, &reader, NULL), PAWL_OK);
    cr_assert_eq(log_reader_next(reader, LOG_TO_TAIL, &view, NULL), PAWL_NOT_FOUND);
    log_reader_close(reader);
    log_reader_close(NULL);
    must_close(log);
}

Test(log_reader, between_two_frames_is_damage, .init = set_up, .fini = tear_down) {
    struct log *log = must_open_log(SMALL_SEGMENT);
    const struct place place = must_append(log, 1, 40);
    struct log_reader *reader = NULL;
    struct log_view view;
    pawl_error error;
    cr_assert_eq(log_reader_open(log, place.lsn + 8, &reader, NULL), PAWL_OK);
    /* What is not durable may have vanished with an error that no sync has told of yet. */
    cr_assert_eq(log_reader_next(reader, LOG_TO_TAIL, &view, &error), PAWL_IO);
    cr_assert_eq(log_wait_durable(log, log_tail(log), OS_NO_DEADLINE, NULL), PAWL_OK);
    cr_assert_eq(log_reader_next(reader, LOG_TO_TAIL, &view, &error), PAWL_DAMAGED);
    cr_assert_str_eq(error.file, "0000000001.seg");
    cr_assert_eq(error.lsn, place.lsn + 8);
    log_reader_close(reader);
    must_close(log);
}

Test(log_reader, follows_what_is_appended, .init = set_up, .fini = tear_down) {
    struct log *log = must_open_log(SMALL_SEGMENT);
    struct log_reader *reader = NULL;
    uint64_t number = 0;
    cr_assert_eq(log_reader_open(log, log_first(log), &reader, NULL), PAWL_OK);
    for (uint64_t next = 1; next <= 60; next++) {
        cr_assert_eq(read_number(reader, &number, NULL), PAWL_EMPTY);
        cr_assert_eq(read_number(reader, &number, NULL), PAWL_EMPTY, "as often as one asks");
        (void)must_append(log, next, 300);
        cr_assert_eq(read_number(reader, &number, NULL), PAWL_OK);
        cr_assert_eq(number, next);
    }
    log_reader_close(reader);
    must_close(log);
}

/* More readers than the files that a chain keeps open, each in a segment of its own. */
Test(log_reader, that_stays_where_it_is_hinders_nobody, .init = set_up, .fini = tear_down) {
    enum { COUNT = 40, MORE = 10 };
    struct log *log = must_open_log(SMALL_SEGMENT);
    struct log_reader *readers[COUNT + 1] = {NULL};
    struct place places[COUNT + 1];
    uint64_t number = 0;
    for (uint64_t next = 1; next <= COUNT; next++)
        places[next] = must_append_durably(log, next, 3500);
    for (uint64_t next = 1; next <= COUNT; next++) {
        cr_assert_eq(log_reader_open(log, places[next].lsn, &readers[next], NULL), PAWL_OK);
        cr_assert_eq(read_number(readers[next], &number, NULL), PAWL_OK);
        cr_assert_eq(number, next);
    }
    for (uint64_t next = COUNT + 1; next <= COUNT + MORE; next++)
        (void)must_append_durably(log, next, 3500);
    for (uint64_t next = 1; next <= COUNT; next++) {
        cr_assert_eq(read_number(readers[next], &number, NULL), PAWL_OK);
        cr_assert_eq(number, next + 1);
        log_reader_close(readers[next]);
    }
    must_read_all(log, COUNT + MORE);
    must_close(log);
}

static pawl_status next_confirmable(struct log_reader *reader, uint64_t *ret_number) {
    struct log_view view;
    do
        TRY(log_reader_next(reader, LOG_TO_CONFIRMABLE, &view, NULL));
    while (!is_number(&view));
    *ret_number = number_of(&view);
    return PAWL_OK;
}

Test(log_reader, to_what_is_confirmable_stops_at_a_frame_that_waits_for_its_sync, .init = set_up,
     .fini = tear_down) {
    struct log *log = must_open_log(LARGE_SEGMENT);
    struct log_reader *reader = NULL;
    struct place place;
    uint64_t number = 0;
    cr_assert_eq(log_reader_open(log, log_first(log), &reader, NULL), PAWL_OK);
    cr_assert_eq(try_append(log, 1, 40, 0, OS_NO_DEADLINE, &place, NULL), PAWL_OK);
    cr_assert_eq(next_confirmable(reader, &number), PAWL_OK, "who wrote it does not wait");
    cr_assert_eq(number, 1);
    const struct place waits = must_append(log, 2, 40);
    cr_assert_eq(try_append(log, 3, 40, 0, OS_NO_DEADLINE, &place, NULL), PAWL_OK);
    cr_assert_eq(next_confirmable(reader, &number), PAWL_EMPTY);
    cr_assert_eq(log_reader_lsn(reader), waits.lsn, "it stays before it");
    cr_assert_eq(log_wait_durable(log, waits.end_lsn, OS_NO_DEADLINE, NULL), PAWL_OK);
    cr_assert_eq(next_confirmable(reader, &number), PAWL_OK);
    cr_assert_eq(number, 2);
    cr_assert_eq(next_confirmable(reader, &number), PAWL_OK);
    cr_assert_eq(number, 3);
    cr_assert_eq(next_confirmable(reader, &number), PAWL_EMPTY);
    log_reader_close(reader);
    must_close(log);
}

/* Waiting. */

Test(log_wait, for_what_is_durable_takes_no_time, .init = set_up, .fini = tear_down) {
    struct log *log = must_open_log(SMALL_SEGMENT);
    const struct place place = must_append(log, 1, 40);
    pawl_error error;
    cr_assert_lt(log_durable(log), place.end_lsn);
    cr_assert_eq(log_wait_durable(log, place.end_lsn, 0, &error), PAWL_PENDING);
    cr_assert_eq(error.status, PAWL_PENDING);
    cr_assert_eq(log_wait_durable(log, place.lsn, 0, NULL), PAWL_OK, "what lies before it is");
    cr_assert_eq(log_wait_durable(log, place.end_lsn, OS_NO_DEADLINE, NULL), PAWL_OK);
    cr_assert_geq(log_durable(log), place.end_lsn);
    cr_assert_eq(log_wait_durable(log, place.end_lsn, 0, NULL), PAWL_OK, "however late");
    must_close(log);
}

Test(log_wait, for_the_tail_ends_when_it_has_passed_or_at_the_deadline, .init = set_up,
     .fini = tear_down) {
    struct log *log = must_open_log(SMALL_SEGMENT);
    const uint64_t tail = log_tail(log);
    pawl_error error;
    cr_assert_eq(log_wait_tail(log, tail - 1, 0, NULL), PAWL_OK);
    cr_assert_eq(log_wait_tail(log, tail, 0, &error), PAWL_EMPTY);
    cr_assert_eq(error.status, PAWL_EMPTY);
    const uint64_t deadline = os_clock_boot(os) + 3000000;
    cr_assert_eq(log_wait_tail(log, tail, deadline, NULL), PAWL_EMPTY);
    cr_assert_geq(os_clock_boot(os), deadline);
    (void)must_append(log, 1, 40);
    cr_assert_eq(log_wait_tail(log, tail, 0, NULL), PAWL_OK);
    must_close(log);
}

struct waiter {
    struct log *log;
    uint64_t lsn;
    pawl_status status;
};

static void *wait_for_tail(void *context) {
    struct waiter *waiter = context;
    waiter->status = log_wait_tail(waiter->log, waiter->lsn, OS_NO_DEADLINE, NULL);
    return NULL;
}

static void *append_one(void *context) {
    struct waiter *waiter = context;
    struct place place = {0};
    waiter->status = try_append(waiter->log, 1, 40, FRAME_NEEDS_SYNC, OS_NO_DEADLINE, &place, NULL);
    return NULL;
}

Test(log_wait, for_the_tail_is_woken_by_an_append, .init = set_up, .fini = tear_down) {
    struct log *first = must_open_log(SMALL_SEGMENT), *second = must_open_log(SMALL_SEGMENT);
    struct waiter waiters[2] = {{first, log_tail(first), PAWL_INTERNAL},
                                {second, log_tail(second), PAWL_INTERNAL}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, wait_for_tail, &waiters[i]), 0);
    (void)must_append(first, 1, 40);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
        cr_assert_eq(waiters[i].status, PAWL_OK);
    }
    must_close(first);
    must_close(second);
}

Test(log_wait, every_one_of_a_handle_ends_when_it_is_interrupted, .init = set_up,
     .fini = tear_down) {
    struct log *first = must_open_log(SMALL_SEGMENT), *second = must_open_log(SMALL_SEGMENT);
    const struct place place = must_append(second, 1, 40);
    cr_assert_eq(log_lock(second, 100, LOG_ORDINARY, OS_NO_DEADLINE, NULL), PAWL_OK);
    struct waiter waiters[2] = {{first, log_tail(first), PAWL_INTERNAL},
                                {first, log_tail(first), PAWL_INTERNAL}};
    pthread_t threads[2];
    cr_assert_eq(pthread_create(&threads[0], NULL, wait_for_tail, &waiters[0]), 0);
    cr_assert_eq(pthread_create(&threads[1], NULL, append_one, &waiters[1]), 0);
    log_interrupt(first);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
        cr_assert_eq(waiters[i].status, PAWL_INTERRUPTED, "waiter %d", i);
    }
    cr_assert_eq(log_wait_tail(first, log_tail(first), OS_NO_DEADLINE, NULL), PAWL_INTERRUPTED,
                 "and from now on");
    cr_assert_eq(log_wait_tail(first, 0, OS_NO_DEADLINE, NULL), PAWL_OK, "what is there is there");
    cr_assert_eq(log_wait_durable(first, place.end_lsn, OS_NO_DEADLINE, NULL), PAWL_PENDING);
    log_unlock(second);
    cr_assert_eq(log_wait_durable(second, place.end_lsn, OS_NO_DEADLINE, NULL), PAWL_OK,
                 "the other handle is not concerned");
    must_close(first);
    must_close(second);
}

/* The append lock. */

Test(log_lock, held_by_another_handle_is_busy_and_says_by_whom, .init = set_up, .fini = tear_down) {
    struct log *first = must_open_log(SMALL_SEGMENT), *second = must_open_log(SMALL_SEGMENT);
    pawl_error error = {0};
    char pid[32];
    (void)snprintf(pid, sizeof pid, "process %d ", (int)getpid());
    cr_assert_eq(log_lock(first, 100, LOG_ORDINARY, OS_NO_DEADLINE, NULL), PAWL_OK);
    cr_assert_eq(log_lock(second, 100, LOG_ORDINARY, 0, &error), PAWL_BUSY);
    cr_assert_not_null(strstr(error.sentence, pid), "%s", error.sentence);
    const uint64_t deadline = os_clock_boot(os) + 20000000;
    cr_assert_eq(log_lock(second, 100, LOG_ORDINARY, deadline, &error), PAWL_BUSY);
    cr_assert_geq(os_clock_boot(os), deadline);
    log_unlock(first);
    cr_assert_eq(log_lock(second, 100, LOG_ORDINARY, 0, NULL), PAWL_OK, "free: even in the past");
    log_unlock(second);
    must_close(first);
    must_close(second);
}

static void *try_lock(void *context) {
    struct waiter *waiter = context;
    waiter->status = log_lock(waiter->log, 100, LOG_ORDINARY, 0, NULL);
    return NULL;
}

Test(log_lock, held_by_another_thread_is_busy, .init = set_up, .fini = tear_down) {
    struct log *log = must_open_log(SMALL_SEGMENT);
    struct waiter waiter = {log, 0, PAWL_INTERNAL};
    pthread_t thread;
    cr_assert_eq(log_lock(log, 100, LOG_ORDINARY, OS_NO_DEADLINE, NULL), PAWL_OK);
    cr_assert_eq(pthread_create(&thread, NULL, try_lock, &waiter), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    cr_assert_eq(waiter.status, PAWL_BUSY);
    log_unlock(log);
    must_close(log);
}

/* Several at once. */

Test(log, two_handles_append_in_turn_and_read_everything, .init = set_up, .fini = tear_down) {
    enum { COUNT = 80 };
    struct log *logs[2] = {must_open_log(SMALL_SEGMENT), must_open_log(SMALL_SEGMENT)};
    for (uint64_t number = 1; number <= COUNT; number++) {
        struct log *log = logs[number & 1];
        if (number % 5 == 0)
            (void)must_append_durably(log, number, 250);
        else
            (void)must_append(log, number, 250);
        cr_assert_eq(log_tail(logs[0]), log_tail(logs[1]));
        cr_assert_eq(log_durable(logs[0]), log_durable(logs[1]));
    }
    must_read_all(logs[0], COUNT);
    must_read_all(logs[1], COUNT);
    must_close(logs[0]);
    must_read_all(logs[1], COUNT);
    (void)must_append_durably(logs[1], COUNT + 1, 40);
    must_close(logs[1]);
    logs[0] = must_open_log(SMALL_SEGMENT);
    must_read_all(logs[0], COUNT + 1);
    must_close(logs[0]);
}

enum { PRODUCERS = 4, EACH = 60 };

struct producer {
    struct log *log;
    _Atomic uint64_t *next_number;
    unsigned failures;
};

/* Numbers are drawn under the append lock, so their order is the log's. */
static void *produce(void *context) {
    struct producer *producer = context;
    struct log *log = producer->log;
    for (int i = 0; i < EACH; i++) {
        uint8_t body[8], metadata[NUMBER_METADATA];
        const size_t size = frame_bytes(sizeof metadata, 0);
        uint64_t lsn, end_lsn = 0;
        if (log_lock(log, size, LOG_ORDINARY, OS_NO_DEADLINE, NULL) != PAWL_OK) {
            producer->failures++;
            continue;
        }
        const uint64_t number = atomic_fetch_add(producer->next_number, 1) + 1;
        bytes_store_u64(body, number);
        struct writer writer = writer_over(metadata, sizeof metadata);
        record_write(&writer, NUMBER_RECORD, 0, body, sizeof body);
        const struct log_draft draft = {.metadata = metadata,
                                        .metadata_bytes = sizeof metadata,
                                        .record_count = 1,
                                        .flags = FRAME_NEEDS_SYNC,
                                        .time_us = number};
        producer->failures += log_append(log, &draft, &lsn, &end_lsn, NULL) != PAWL_OK;
        log_unlock(log);
        producer->failures += log_wait_durable(log, end_lsn, OS_NO_DEADLINE, NULL) != PAWL_OK;
        producer->failures += log_durable(log) < end_lsn;
    }
    return NULL;
}

Test(log, many_threads_of_two_handles_share_it, .init = set_up, .fini = tear_down) {
    struct log *logs[2] = {must_open_log(SMALL_SEGMENT), must_open_log(SMALL_SEGMENT)};
    static _Atomic uint64_t next_number;
    struct producer producers[PRODUCERS];
    pthread_t threads[PRODUCERS];
    for (int i = 0; i < PRODUCERS; i++) {
        producers[i] = (struct producer){logs[i & 1], &next_number, 0};
        cr_assert_eq(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
    }
    for (int i = 0; i < PRODUCERS; i++) {
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
        cr_assert_eq(producers[i].failures, 0);
    }
    must_read_all(logs[0], (uint64_t)PRODUCERS * EACH);
    must_close(logs[0]);
    must_read_all(logs[1], (uint64_t)PRODUCERS * EACH);
    must_close(logs[1]);
}

struct asker {
    struct log *log;
    _Atomic uint32_t is_over;
    uint64_t wrong;
};

static void *ask_for_first(void *context) {
    struct asker *asker = context;
    while (atomic_load(&asker->is_over) == 0)
        asker->wrong += log_first(asker->log) != SEGMENT_FIRST_LSN;
    return NULL;
}

/* The list of segments is moved in memory while it grows. */
Test(log, tells_where_it_begins_while_it_grows, .init = set_up, .fini = tear_down) {
    struct log *log = must_open_log(SMALL_SEGMENT);
    struct asker asker = {.log = log};
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, ask_for_first, &asker), 0);
    for (uint64_t number = 1; number <= 40; number++)
        (void)must_append_durably(log, number, 3000);
    atomic_store(&asker.is_over, 1);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    cr_assert_eq(asker.wrong, 0);
    must_close(log);
}

/* Marks and upkeep. */

static uint64_t count_marks(struct log *log, struct log_view *ret_last) {
    struct log_reader *reader = NULL;
    struct log_view view;
    uint64_t count = 0;
    cr_assert_eq(log_reader_open(log, log_first(log), &reader, NULL), PAWL_OK);
    while (log_reader_next(reader, LOG_TO_TAIL, &view, NULL) == PAWL_OK) {
        if ((view.header.flags & FRAME_MARK) != 0) {
            count++;
            *ret_last = view;
        }
    }
    log_reader_close(reader);
    return count;
}

Test(log_mark, says_that_all_before_it_is_durable, .init = set_up, .fini = tear_down) {
    struct log *log = must_open_log(SMALL_SEGMENT);
    struct log_view last;
    const struct place place = must_append(log, 1, 40);
    cr_assert_eq(log_mark(log, 0, OS_NO_DEADLINE, NULL), PAWL_OK);
    cr_assert_eq(count_marks(log, &last), 1);
    cr_assert_eq(last.header.lsn, place.end_lsn);
    cr_assert_eq(last.header.durable_lsn, place.end_lsn);
    cr_assert_eq(last.header.flags, FRAME_MARK);
    cr_assert_eq(last.header.metadata_bytes, 0);
    cr_assert_eq(last.header.record_count, 0);
    cr_assert_eq(log_durable(log), log_tail(log), "the mark itself is too");
    must_close(log);
}

Test(log_mark, is_written_once_when_the_log_goes_idle, .init = set_up, .fini = tear_down) {
    struct log *log = must_open_log(SMALL_SEGMENT);
    struct log_view last;
    const struct place place = must_append(log, 1, 40);
    cr_assert_eq(log_maintain(log, NULL), PAWL_OK);
    cr_assert_geq(log_durable(log), place.end_lsn, "upkeep flushes what nobody waits for");
    cr_assert_eq(count_marks(log, &last), 0, "it may go on yet");
    for (int i = 0; i < 5; i++)
        cr_assert_eq(log_maintain(log, NULL), PAWL_OK);
    cr_assert_eq(count_marks(log, &last), 1);
    (void)must_append(log, 2, 40);
    for (int i = 0; i < 5; i++)
        cr_assert_eq(log_maintain(log, NULL), PAWL_OK);
    cr_assert_eq(count_marks(log, &last), 2);
    must_read_all(log, 2);
    must_close(log);
}

Test(log_mark, of_the_closing_is_not_repeated_by_openings_that_wrote_nothing, .init = set_up,
     .fini = tear_down) {
    struct log *log = must_open_log(SMALL_SEGMENT);
    (void)must_append(log, 1, 40);
    must_close(log);
    uint64_t tail = 0;
    for (int i = 0; i < 3; i++) {
        const struct log_options options = options_of(SMALL_SEGMENT);
        struct log_opening opening;
        log = must_open_with(&options, &opening);
        cr_assert(opening.was_closed);
        cr_assert(tail == 0 || log_tail(log) == tail);
        tail = log_tail(log);
        must_close(log);
    }
}

Test(log_mark, of_an_idle_log_does_not_stand_for_its_closing, .init = set_up, .fini = tear_down) {
    struct log *log = must_open_log(SMALL_SEGMENT);
    (void)must_append(log, 1, 40);
    cr_assert_eq(log_mark(log, 0, OS_NO_DEADLINE, NULL), PAWL_OK);
    must_close(log);
    const struct log_options options = options_of(SMALL_SEGMENT);
    struct log_opening opening;
    log = must_open_with(&options, &opening);
    cr_assert(opening.was_closed);
    must_close(log);
}

Test(log, keeps_a_reserve_that_is_no_part_of_it, .init = set_up, .fini = tear_down) {
    struct log_options options = options_of(SMALL_SEGMENT);
    struct log_opening opening;
    options.reserve_bytes = 16384;
    struct log *log = must_open_with(&options, &opening);
    (void)must_append_durably(log, 1, 40);
    cr_assert_eq(log_maintain(log, NULL), PAWL_OK);
    for (int i = 1; i <= 2; i++) {
        struct stat found;
        char path[700];
        join(path, sizeof path, store, "/log/reserve-", i == 1 ? "1" : "2");
        cr_assert_eq(stat(path, &found), 0, "%s", path);
        cr_assert_geq(found.st_size, 16384);
        cr_assert_geq(found.st_blocks * 512, 16384, "blocks, not a hole");
    }
    must_close(log);
    log = must_open_with(&options, &opening);
    must_read_all(log, 1);
    must_close(log);
}

/* A limit on the size of files stands for a full disk: no segment can be made, and what there is
 * can be written over. */
Test(log, on_a_full_disk_finishes_work_from_the_reserve, .init = set_up, .fini = tear_down) {
    enum { LIMIT = SEGMENT_DATA_AT + 2000, TOO_MUCH = 6000 };
    struct log_options options = options_of(SMALL_SEGMENT);
    struct log_opening opening;
    options.reserve_bytes = 16384;
    struct log *log = must_open_with(&options, &opening);
    (void)must_append_durably(log, 1, 40);
    struct rlimit before;
    cr_assert(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit small = {.rlim_cur = LIMIT, .rlim_max = before.rlim_max};
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    pawl_error error = {0};
    const pawl_status ordinary = log_lock(log, TOO_MUCH, LOG_ORDINARY, OS_NO_DEADLINE, &error);
    const pawl_status finishing = log_lock(log, TOO_MUCH, LOG_FINISHING, OS_NO_DEADLINE, NULL);
    const struct log_draft draft = {.time_us = 2, .flags = FRAME_MARK};
    uint64_t lsn, end_lsn = 0;
    pawl_status appended = PAWL_INTERNAL;
    if (finishing == PAWL_OK) {
        appended = log_append(log, &draft, &lsn, &end_lsn, NULL);
        log_unlock(log);
    }
    const pawl_status again = log_lock(log, TOO_MUCH, LOG_ORDINARY, OS_NO_DEADLINE, NULL);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    cr_assert_eq(ordinary, PAWL_DISK_FULL);
    cr_assert_eq(error.status, PAWL_DISK_FULL);
    cr_assert_eq(finishing, PAWL_OK);
    cr_assert_eq(appended, PAWL_OK);
    cr_assert_eq(again, PAWL_DISK_FULL, "what brings work in gets none of the reserve");
    (void)must_append_durably(log, 2, 300);
    must_read_all(log, 2);
    must_close(log);
    log = must_open_with(&options, &opening);
    cr_assert_eq(opening.row, RECOVERY_CLEAN);
    must_read_all(log, 2);
    must_close(log);
}

/* A forked child. */

/* Its exit code says what was wrong: an assertion would not reach the runner from there. */
static int misuse(struct log *log, struct log_reader *reader) {
    struct place place;
    if (try_append(log, 2, 40, 0, OS_NO_DEADLINE, &place, NULL) != PAWL_FORKED)
        return 1;
    uint64_t lsn, end_lsn;
    if (log_append(log, &(struct log_draft){0}, &lsn, &end_lsn, NULL) != PAWL_FORKED)
        return 8;
    if (log_wait_durable(log, log_tail(log), OS_NO_DEADLINE, NULL) != PAWL_FORKED)
        return 2;
    if (log_wait_tail(log, 0, OS_NO_DEADLINE, NULL) != PAWL_FORKED)
        return 3;
    if (log_mark(log, 0, OS_NO_DEADLINE, NULL) != PAWL_FORKED)
        return 4;
    if (log_maintain(log, NULL) != PAWL_FORKED)
        return 5;
    struct log_reader *another = NULL;
    struct log_view view;
    if (log_reader_open(log, log_first(log), &another, NULL) != PAWL_FORKED ||
        log_reader_next(reader, LOG_TO_TAIL, &view, NULL) != PAWL_FORKED)
        return 6;
    return log_close(log, NULL) == PAWL_OK ? 0 : 7;
}

Test(log, refuses_a_forked_child_and_stays_with_the_parent, .init = set_up, .fini = tear_down) {
    struct log *log = must_open_log(SMALL_SEGMENT);
    (void)must_append(log, 1, 40);
    struct log_reader *reader = NULL;
    cr_assert_eq(log_reader_open(log, log_first(log), &reader, NULL), PAWL_OK);
    const pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0)
        _exit(misuse(log, reader));
    log_reader_close(reader);
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", (unsigned)status);
    (void)must_append_durably(log, 2, 40);
    must_read_all(log, 2);
    struct log *second = must_open_log(SMALL_SEGMENT);
    must_read_all(second, 2);
    must_close(second);
    must_close(log);
}

Test(log, a_forked_child_does_not_drop_the_parents_lock, .init = set_up, .fini = tear_down) {
    struct log *log = must_open_log(SMALL_SEGMENT);
    struct log *second = must_open_log(SMALL_SEGMENT);
    cr_assert_eq(log_lock(log, 100, LOG_ORDINARY, OS_NO_DEADLINE, NULL), PAWL_OK);
    const pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        log_unlock(log);
        _exit(0);
    }
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0);
    cr_assert_eq(log_lock(second, 100, LOG_ORDINARY, 0, NULL), PAWL_BUSY);
    log_unlock(log);
    (void)must_append_durably(second, 1, 40);
    must_close(second);
    must_close(log);
}

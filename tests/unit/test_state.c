/* Frames given to a state one by one. What a seeded generator does better is in tests/model. */
#include <criterion/criterion.h>

#include <string.h>

#include "memory.h"
#include "state.h"

enum { ROOM = 64 * 1024, LISTS = 8, LIST_ROOM = 4096, Q = 1, G = 1 };

static struct memory memory;
static struct state state;

/* The frame that is being put together. */
static uint8_t bytes[ROOM], lists[LISTS][LIST_ROOM];
static struct writer writer;
static unsigned list_count;
static uint64_t now_us;

static void begin(void) {
    writer = writer_over(bytes, sizeof bytes);
    list_count = 0;
}

static void add(struct event event) {
    event_write(&writer, &event);
    cr_assert(!writer.bad);
}

/* Rows of two numbers. */
static struct event_items rows(unsigned count, const uint64_t *numbers) {
    cr_assert_lt(list_count, LISTS);
    struct event_list list = {.writer = writer_over(lists[list_count++], LIST_ROOM)};
    for (unsigned i = 0; i < count; i++)
        event_list_add(&list, numbers + i * (size_t)2, 2);
    return event_list_items(&list);
}

#define RANGE(first, count) rows(1, (const uint64_t[]){(first), (count)})

static struct event_items delivery(uint64_t seq, uint64_t fence, uint64_t attempt,
                                   uint64_t number) {
    struct event_list list = {.writer = writer_over(lists[list_count++], LIST_ROOM)};
    event_list_add(&list, (const uint64_t[]){seq, fence, attempt, number, 4}, 5);
    return event_list_items(&list);
}

static struct state_frame frame(void) {
    return (struct state_frame){
        .lsn = state.applied_lsn,
        .end_lsn = state.applied_lsn + 100,
        .time_us = now_us,
        .metadata = bytes,
        .metadata_bytes = writer_used(&writer),
    };
}

static void apply(void) {
    const struct state_frame whole = frame();
    pawl_error error = {0};
    cr_assert_eq(state_reserve(&state, &whole, &error), PAWL_OK, "%s", error.sentence);
    memory.left = 0; /* it needs none from here on */
    state_apply(&state, &whole);
    memory.left = MEMORY_UNLIMITED;
    begin();
}

static void add_queue(void) {
    add((struct event){.kind = EVENT_QUEUE_SET,
                       .queue_set = {.queue = Q, .name = {(const uint8_t *)"orders", 6}}});
    add((struct event){
        .kind = EVENT_GROUP_SET,
        .group_set = {
            .queue = Q, .group = G, .name = {(const uint8_t *)"default", 7}, .start = 1}});
}

static void enqueue(uint64_t first, uint64_t count) {
    for (uint64_t seq = first; seq < first + count; seq++)
        add((struct event){.kind = EVENT_ENQUEUE,
                           .enqueue = {.queue = Q, .seq = seq, .priority = 4}});
}

static void set_up(void) {
    memory_init(&memory);
    state_init(&state, &memory.os, 64);
    now_us = 1000000;
    begin();
}

static void set_up_queue(void) {
    set_up();
    add_queue();
    enqueue(1, 10);
    apply();
}

static void tear_down(void) {
    cr_assert_eq(state.nonsense, 0);
    state_deinit(&state);
    cr_assert_eq(memory.bytes, 0, "nothing is left");
}

static struct group *group(void) {
    return queue_group(state_queue(&state, Q), G);
}

static uint64_t ready(void) {
    return group_count_of(state_queue(&state, Q), group(), ENTRY_READY);
}

static void deliver(uint64_t seq, uint64_t fence, uint64_t attempt, uint64_t number) {
    add((struct event){.kind = EVENT_ATTEMPT,
                       .attempt = {.queue = Q,
                                   .group = G,
                                   .until_us = now_us + 30000000,
                                   .deliveries = delivery(seq, fence, attempt, number)}});
}

static void ack(uint64_t seq, uint64_t fence) {
    add((struct event){.kind = EVENT_ACK,
                       .ack = {.queue = Q, .group = G, .receipts = RANGE(seq, fence)}});
}

static void bury(uint64_t seq) {
    add((struct event){.kind = EVENT_DEAD_LETTER,
                       .dead_letter = {.queue = Q, .group = G, .seq = seq, .traits = 4}});
}

static void retry(uint64_t seq, uint64_t fence, enum event_outcome outcome, uint64_t attempt,
                  uint64_t delay_us) {
    add((struct event){.kind = EVENT_RETRY,
                       .retry = {.queue = Q,
                                 .group = G,
                                 .seq = seq,
                                 .fence = fence,
                                 .due_us = delay_us == 0 ? 0 : now_us + delay_us,
                                 .delay_us = delay_us,
                                 .outcome = outcome,
                                 .attempt = attempt}});
}

Test(state, takes_a_queue_its_group_and_its_first_messages_in_one_frame, .init = set_up_queue,
     .fini = tear_down) {
    cr_assert_eq(state_queue_named(&state, "orders"), state_queue(&state, Q));
    cr_assert_null(state_queue_named(&state, "order"));
    cr_assert_eq(queue_group_named(state_queue(&state, Q), "default"), group());
    cr_assert_eq(ready(), 10);
    cr_assert_eq(state_queue(&state, Q)->next_seq, 11);
    cr_assert_eq(group()->entries.count, 0, "backlog has no entries");
}

Test(state, forgets_what_was_reserved_and_came_to_nothing, .init = set_up, .fini = tear_down) {
    add_queue();
    enqueue(1, 3);
    const struct state_frame whole = frame();
    cr_assert_eq(state_reserve(&state, &whole, NULL), PAWL_OK);
    state_abandon(&state);
    cr_assert_null(state_queue(&state, Q));
    cr_assert_eq(state.applied_lsn, 64);
    apply();
    cr_assert_eq(ready(), 3);
}

Test(state, does_not_let_a_dead_message_hold_the_floor, .init = set_up_queue, .fini = tear_down) {
    bury(1);
    deliver(2, 7, 1, 1);
    ack(2, 7);
    apply();
    cr_assert_eq(group()->floor, 3);
    cr_assert_eq(group_offset(group()), 3);
    cr_assert_eq(group_count_of(state_queue(&state, Q), group(), ENTRY_DEAD), 1);
    add((struct event){.kind = EVENT_REDRIVE,
                       .redrive = {.queue = Q, .group = G, .messages = RANGE(1, 1)}});
    apply();
    cr_assert_eq(group_offset(group()), 1, "what is ready again is below the floor");
    cr_assert_eq(entries_first_ready(&group()->entries)->seq, 1);
    deliver(1, 8, 1, 2);
    ack(1, 8);
    apply();
    cr_assert_eq(group_offset(group()), 3);
    cr_assert_eq(group()->recovered, 1);
    cr_assert_eq(group()->ended_count[GROUP_ACKED], 2);
}

Test(state, keeps_a_receipt_good_over_a_lapse_and_not_over_a_retry, .init = set_up_queue,
     .fini = tear_down) {
    deliver(1, 7, 1, 1);
    apply();
    cr_assert(group_holds(group(), 1, 7));
    cr_assert(!group_holds(group(), 1, 6));
    retry(1, 7, EVENT_OUTCOME_LAPSED, 1, 0);
    apply();
    cr_assert(group_holds(group(), 1, 7), "late, and nobody else has it");
    deliver(1, 9, 2, 2);
    apply();
    cr_assert(!group_holds(group(), 1, 7), "somebody else has it");
    retry(1, 9, EVENT_OUTCOME_RETRY, 2, 5000000);
    apply();
    cr_assert(!group_holds(group(), 1, 9), "it was given back");
    cr_assert_eq(entries_find(&group()->entries, 1)->attempts, 2);
    cr_assert_eq(state.next_fence, 10);
}

Test(state, counts_the_leases_of_a_session_until_they_end, .init = set_up_queue,
     .fini = tear_down) {
    const uint64_t session = state.applied_lsn;
    add((struct event){.kind = EVENT_SESSION_OPEN, .session_open = {.slot = 3, .pid = 99}});
    apply();
    add((struct event){.kind = EVENT_ATTEMPT,
                       .attempt = {.queue = Q,
                                   .group = G,
                                   .session = session,
                                   .until_us = now_us + 5,
                                   .deliveries = delivery(1, 1, 1, 1)}});
    apply();
    cr_assert_eq(state.leases[4], 1);
    retry(1, 1, EVENT_OUTCOME_DIED, 1, 0);
    add((struct event){.kind = EVENT_SESSION_END, .session_end = {.session = session, .died = 1}});
    apply();
    cr_assert_eq(state.leases[4], 0);
    cr_assert_eq(state.sessions[3].lsn, 0);
}

Test(state, ends_a_range_over_the_edges_of_pages, .init = set_up, .fini = tear_down) {
    add_queue();
    apply();
    for (uint64_t seq = 1; seq <= 9000; seq += 500) {
        enqueue(seq, 500);
        apply();
    }
    deliver(5000, 3, 1, 1);
    bury(6000);
    add((struct event){.kind = EVENT_CANCEL, .cancel = {.queue = Q, .messages = RANGE(2, 8000)}});
    apply();
    cr_assert_eq(group()->ended_count[GROUP_CANCELLED], 7999, "but not the dead one");
    cr_assert_eq(group()->floor, 1);
    cr_assert_eq(ready(), 9000 - 8000);
    add((struct event){.kind = EVENT_EXPIRE,
                       .expire = {.queue = Q, .group = G, .messages = RANGE(1, 1)}});
    apply();
    cr_assert_eq(group()->floor, 8002);
    add((struct event){.kind = EVENT_PURGE,
                       .purge = {.queue = Q, .group = G, .messages = RANGE(6000, 1)}});
    apply();
    cr_assert_eq(group()->ended_count[GROUP_PURGED], 1);
    cr_assert_eq(group()->entries.count, 0);
}

Test(state, passes_over_numbers_that_were_never_given, .init = set_up_queue, .fini = tear_down) {
    enqueue(70000, 1);
    apply();
    cr_assert_eq(state_queue(&state, Q)->enqueued, 11);
    cr_assert_eq(ready(), 11);
    add((struct event){.kind = EVENT_GROUP_SEEK,
                       .group_seek = {.queue = Q, .group = G, .to = 70000}});
    apply();
    cr_assert_eq(group()->ended_count[GROUP_SKIPPED], 10);
    cr_assert_eq(group()->floor, 70000);
    cr_assert_eq(ready(), 1);
}

Test(state, holds_nothing_back_over_a_reboot_longer_than_its_own_delay, .init = set_up_queue,
     .fini = tear_down) {
    static const uint8_t boot_id[OS_BOOT_ID_BYTES] = {1};
    deliver(1, 1, 1, 1);
    retry(1, 1, EVENT_OUTCOME_RETRY, 1, 60000000);
    apply();
    now_us = 3000000;
    add((struct event){.kind = EVENT_BOOT, .boot = {.boot_id = {boot_id, sizeof boot_id}}});
    apply();
    cr_assert_eq(entries_find(&group()->entries, 1)->when_ms, 61000, "as it was");
    now_us = 1000; /* the clock of the new boot tells an earlier time, and store time goes by it */
    add((struct event){.kind = EVENT_BOOT,
                       .boot = {.boot_id = {boot_id, sizeof boot_id}, .epoch = 2}});
    apply();
    cr_assert_eq(entries_find(&group()->entries, 1)->when_ms, 60001);
    cr_assert_eq(state.next_fence, UINT64_C(2) << STATE_FENCE_BITS);
}

Test(state, drops_a_queue_that_the_same_frame_reserved_for, .init = set_up_queue,
     .fini = tear_down) {
    deliver(1, 1, 1, 1);
    enqueue(11, 2);
    add((struct event){.kind = EVENT_QUEUE_DROP, .queue_drop = {.queue = Q}});
    apply();
    cr_assert_null(state_queue(&state, Q));
    cr_assert_null(state_queue_named(&state, "orders"));
    cr_assert_eq(state.leases[0], 0);
}

Test(state, refuses_a_frame_about_what_is_not_there, .init = set_up_queue, .fini = tear_down) {
    pawl_error error = {0};
    add((struct event){.kind = EVENT_ACK,
                       .ack = {.queue = 2, .group = G, .receipts = RANGE(1, 1)}});
    struct state_frame wrong = frame();
    cr_assert_eq(state_reserve(&state, &wrong, &error), PAWL_DAMAGED);
    cr_assert_eq(error.lsn, state.applied_lsn);
    cr_assert_not_null(strstr(error.sentence, "queue 2"), "%s", error.sentence);
    begin();
    add((struct event){.kind = EVENT_CANCEL, .cancel = {.queue = Q, .messages = RANGE(5, 100)}});
    wrong = frame();
    cr_assert_eq(state_reserve(&state, &wrong, &error), PAWL_DAMAGED, "there are 10");
    begin();
    const uint8_t newer[] = {200, 0, 0};
    writer_bytes(&writer, newer, sizeof newer);
    wrong = frame();
    cr_assert_eq(state_reserve(&state, &wrong, &error), PAWL_VERSION);
}

Test(state, counts_what_makes_no_sense_and_changes_nothing, .init = set_up_queue,
     .fini = tear_down) {
    deliver(3, 1, 1, 1);
    ack(3, 1);
    ack(3, 1);
    apply();
    cr_assert_eq(state.nonsense, 1, "the second time");
    state.nonsense = 0;
    cr_assert_eq(group()->ended_count[GROUP_ACKED], 1);
}

#include "log_world.h"

#include "event.h"
#include "replica.h"

static struct replica must_follow(struct log *log) {
    struct replica replica = {0};
    cr_assert_eq(replica_open(&replica, os, log, NULL), PAWL_OK);
    return replica;
}

static const struct event make_queue = {
    .kind = EVENT_QUEUE_SET,
    .queue_set = {.queue = 1, .name = {(const uint8_t *)"mail", 4}},
};

static struct event make_group(uint64_t queue) {
    return (struct event){
        .kind = EVENT_GROUP_SET,
        .group_set = {.queue = queue,
                      .group = 1,
                      .name = {(const uint8_t *)"default", 7},
                      .start = 1},
    };
}

static struct event enqueue(uint64_t seq) {
    return (struct event){.kind = EVENT_ENQUEUE, .enqueue = {.queue = 1, .seq = seq}};
}

/* One frame of one event, on the whole road. */
static pawl_status change(struct replica *replica, const struct event *event, pawl_error *error) {
    uint8_t bytes[256];
    uint64_t end_lsn;
    struct writer writer = writer_over(bytes, sizeof bytes);
    event_write(&writer, event);
    cr_assert(!writer.bad);
    const struct log_draft draft = {
        .metadata = bytes,
        .metadata_bytes = (uint32_t)writer_used(&writer),
        .record_count = 1,
        .time_us = 1000,
    };
    TRY(replica_lock(replica, frame_bytes(sizeof bytes, 0), LOG_ORDINARY, OS_NO_DEADLINE, error));
    const pawl_status status = replica_append(replica, &draft, &end_lsn, error);
    replica_unlock(replica);
    if (status == PAWL_OK)
        cr_assert_eq(replica->state.applied_lsn, end_lsn);
    return status;
}

static void must_change(struct replica *replica, struct event event) {
    pawl_error error;
    cr_assert_eq(change(replica, &event, &error), PAWL_OK, "%s", error.sentence);
}

static uint64_t enqueued(const struct replica *replica) {
    const struct queue *queue = state_queue_named(&replica->state, "mail");
    return queue == NULL ? 0 : queue->enqueued;
}

Test(replica, sees_what_others_append, .init = set_up, .fini = tear_down) {
    struct log *log = must_open_log(SMALL_SEGMENT), *other_log = must_open_log(SMALL_SEGMENT);
    struct replica one = must_follow(log), other = must_follow(other_log);
    must_change(&one, make_queue);
    must_change(&one, make_group(1));
    must_change(&one, enqueue(1));
    cr_assert_eq(enqueued(&other), 0, "it sleeps");
    must_change(&other, enqueue(2));
    cr_assert_eq(enqueued(&other), 2, "it caught up before it appended");
    cr_assert_eq(enqueued(&one), 1);
    cr_assert_eq(replica_catch_up(&one, NULL), PAWL_OK);
    cr_assert_eq(enqueued(&one), 2);
    cr_assert_eq(one.state.applied_lsn, other.state.applied_lsn);
    replica_close(&one);
    replica_close(&other);
    must_close(other_log);
    must_close(log);
}

Test(replica, replays_over_many_segments, .init = set_up, .fini = tear_down) {
    enum { MESSAGES = 500 };
    struct log *log = must_open_log(SMALL_SEGMENT);
    struct replica replica = must_follow(log);
    must_change(&replica, make_queue);
    must_change(&replica, make_group(1));
    for (uint64_t seq = 1; seq <= MESSAGES; seq++)
        must_change(&replica, enqueue(seq));
    replica_close(&replica);
    must_close(log);
    log = must_open_log(SMALL_SEGMENT);
    replica = must_follow(log);
    cr_assert_eq(replica_catch_up(&replica, NULL), PAWL_OK);
    cr_assert_eq(enqueued(&replica), MESSAGES);
    cr_assert_eq(replica.state.nonsense, 0);
    cr_assert_eq(replica.state.applied_lsn, log_tail(log), "the log's own frames are passed over");
    replica_close(&replica);
    must_close(log);
}

/* The log's own frames tell the wall's time, which jumps. */
Test(replica, takes_its_time_from_its_own_records, .init = set_up, .fini = tear_down) {
    struct log *log = must_open_log(SMALL_SEGMENT);
    struct replica replica = must_follow(log);
    must_change(&replica, make_queue);
    cr_assert_eq(log_mark(log, 0, OS_NO_DEADLINE, NULL), PAWL_OK);
    cr_assert_eq(replica_catch_up(&replica, NULL), PAWL_OK);
    cr_assert_eq(replica.state.applied_lsn, log_tail(log));
    cr_assert_eq(replica.state.time_us, 1000);
    replica_close(&replica);
    must_close(log);
}

Test(replica, refuses_what_makes_no_sense_and_goes_on, .init = set_up, .fini = tear_down) {
    struct log *log = must_open_log(SMALL_SEGMENT);
    struct replica replica = must_follow(log);
    const struct event nowhere = make_group(7);
    pawl_error error;
    must_change(&replica, make_queue);
    const uint64_t tail = log_tail(log);
    cr_assert_eq(change(&replica, &nowhere, &error), PAWL_DAMAGED);
    cr_assert_eq(log_tail(log), tail, "nothing was appended");
    must_change(&replica, make_group(1));
    must_change(&replica, enqueue(1));
    cr_assert_eq(enqueued(&replica), 1);
    replica_close(&replica);
    must_close(log);
}

/* A wrong writer's frame that is in the log stops whoever reads it, there and each time. */
Test(replica, stands_still_before_a_frame_that_is_wrong, .init = set_up, .fini = tear_down) {
    struct log *log = must_open_log(SMALL_SEGMENT);
    struct replica replica = must_follow(log);
    must_change(&replica, make_queue);
    (void)must_append(log, 1, 40); /* its record is of no event */
    const uint64_t applied_lsn = replica.state.applied_lsn;
    for (int i = 0; i < 2; i++) {
        pawl_error error;
        cr_assert_neq(replica_catch_up(&replica, &error), PAWL_OK);
        cr_assert_eq(replica.state.applied_lsn, applied_lsn);
        cr_assert_eq(error.lsn, applied_lsn);
        cr_assert_neq(change(&replica, &make_queue, &error), PAWL_OK);
    }
    replica_close(&replica);
    must_close(log);
}

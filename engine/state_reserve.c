#include "state.h"

#include <string.h>

enum { QUEUES_FIRST = 8, QUEUES_MAX = 1 << 24, SEQSET_HALF_PAGE = SEQSET_PAGE_NUMBERS / 2 };

/* What a record is about, which the same frame may bring in. */
struct target {
    struct queue *queue;
    struct group *group;
};

static struct queue *reserve_queue(const struct state *state, uint64_t number) {
    struct queue *queue = state->spare_queues;
    while (queue != NULL && queue->number != number)
        queue = queue->next;
    return queue != NULL ? queue : state_queue(state, number);
}

static struct group *reserve_group(const struct state *state, const struct queue *queue,
                                   uint64_t number) {
    struct group *group = state->spare_groups;
    while (group != NULL && (group->queue != queue->number || group->number != number))
        group = group->next;
    return group != NULL ? group : queue_group(queue, number);
}

/* Every group of a queue in turn, with those that the frame brings in; begin with NULL. */
static struct group *reserve_next_group(const struct state *state, const struct queue *queue,
                                        const struct group *group) {
    struct group *next = group == NULL ? queue->groups : group->next;
    if (next == NULL && (group == NULL || queue_group(queue, group->number) == group))
        next = state->spare_groups;
    while (next != NULL && next->queue != queue->number)
        next = next->next;
    return next;
}

static pawl_status reserve_nowhere(const char *what, uint64_t number, pawl_error *error) {
    return error_set(error, PAWL_DAMAGED, "a record is about %s %llu, which is not there", what,
                     (unsigned long long)number);
}

static pawl_status reserve_target(const struct state *state, uint64_t queue, uint64_t group,
                                  struct target *ret_target, pawl_error *error) {
    ret_target->queue = reserve_queue(state, queue);
    if (ret_target->queue == NULL)
        return reserve_nowhere("queue", queue, error);
    ret_target->group = reserve_group(state, ret_target->queue, group);
    if (ret_target->group == NULL)
        return reserve_nowhere("group", group, error);
    return PAWL_OK;
}

static pawl_status reserve_entries(struct state *state, struct group *group, uint32_t count,
                                   pawl_error *error) {
    if (count > UINT32_MAX - group->pending)
        return error_set(error, PAWL_TOO_LARGE, "too many messages in one frame");
    if (group->pending == 0 && count > 0) {
        group->next_reserved = state->reserved_groups;
        state->reserved_groups = group;
    }
    group->pending += count;
    return entries_reserve(&group->entries, group->pending, error);
}

static uint64_t queue_end(const struct queue *queue) {
    return queue->pending_seq != 0 ? queue->pending_seq : queue->next_seq;
}

/* Any of [first, first + count) may be added, and not the others: a page wants bits of its own, and
 * what is less than a page gets them. */
static pawl_status reserve_each(struct seqset *set, uint64_t first, uint64_t count,
                                pawl_error *error) {
    while (count > 0) {
        const uint64_t to_edge = SEQSET_HALF_PAGE - first % SEQSET_HALF_PAGE;
        const uint64_t here = count < to_edge ? count : to_edge;
        TRY(seqset_reserve(set, first, here, error));
        first += here;
        count -= here;
    }
    return PAWL_OK;
}

/* [first, first + count) lies below what was enqueued. */
static pawl_status reserve_inside(const struct queue *queue, uint64_t first, uint64_t count,
                                  pawl_error *error) {
    if (first == 0 || count > queue_end(queue) || first > queue_end(queue) - count)
        return error_set(error, PAWL_DAMAGED,
                         "a record is about message %llu of queue %s, which ends before",
                         (unsigned long long)first, queue->name);
    return PAWL_OK;
}

static pawl_status reserve_range(const struct queue *queue, struct group *group, uint64_t first,
                                 uint64_t count, enum group_end end, pawl_error *error) {
    TRY(reserve_inside(queue, first, count, error));
    return reserve_each(&group->ended[end], first, count, error);
}

static pawl_status reserve_ranges(const struct queue *queue, struct group *group,
                                  const struct event_items *ranges, enum group_end end,
                                  pawl_error *error) {
    uint64_t row[EVENT_ROW_MAX];
    struct event_rows rows = event_rows_of(ranges);
    while (event_rows_next(&rows, row, 2))
        TRY(reserve_range(queue, group, row[0], row[1], end, error));
    return PAWL_OK;
}

static pawl_status reserve_receipts(const struct queue *queue, struct group *group,
                                    const struct event_items *receipts, enum group_end end,
                                    pawl_error *error) {
    uint64_t row[EVENT_ROW_MAX];
    struct event_rows rows = event_rows_of(receipts);
    while (event_rows_next(&rows, row, 2))
        TRY(reserve_range(queue, group, row[0], 1, end, error));
    return PAWL_OK;
}

static pawl_status queues_grow(struct state *state, uint64_t count, pawl_error *error) {
    if (count <= state->queue_capacity)
        return PAWL_OK;
    uint32_t capacity = state->queue_capacity == 0 ? QUEUES_FIRST : state->queue_capacity;
    while (capacity < count)
        capacity *= 2;
    struct queue **queues = os_allocate(state->os, capacity * sizeof(struct queue *));
    struct queue **by_name = os_allocate(state->os, capacity * sizeof(struct queue *));
    if (queues == NULL || by_name == NULL) {
        os_release(state->os, queues, capacity * sizeof(struct queue *));
        os_release(state->os, by_name, capacity * sizeof(struct queue *));
        return error_set(error, PAWL_NO_MEMORY, "no memory for the list of queues");
    }
    if (state->queue_capacity > 0) {
        memcpy(queues, state->queues, state->queue_count * sizeof(struct queue *));
        memcpy(by_name, state->by_name, state->name_count * sizeof(struct queue *));
    }
    os_release(state->os, state->queues, state->queue_capacity * sizeof(struct queue *));
    os_release(state->os, state->by_name, state->queue_capacity * sizeof(struct queue *));
    state->queues = queues;
    state->by_name = by_name;
    state->queue_capacity = capacity;
    return PAWL_OK;
}

static pawl_status reserve_new_queue(struct state *state, uint64_t number, pawl_error *error) {
    if (number <= state->queue_count || number > QUEUES_MAX)
        return reserve_nowhere("queue", number, error);
    TRY(queues_grow(state, number, error));
    struct queue *queue = os_allocate(state->os, sizeof *queue);
    if (queue == NULL)
        return error_set(error, PAWL_NO_MEMORY, "no memory for a queue");
    *queue = (struct queue){.number = (uint32_t)number, .next_seq = 1, .next = state->spare_queues};
    state->spare_queues = queue;
    return PAWL_OK;
}

static pawl_status reserve_new_group(struct state *state, uint32_t queue, uint64_t number,
                                     pawl_error *error) {
    if (number <= state->group_count || number > UINT32_MAX)
        return reserve_nowhere("group", number, error);
    struct group *group = os_allocate(state->os, sizeof *group);
    if (group == NULL)
        return error_set(error, PAWL_NO_MEMORY, "no memory for a group");
    group_init(group, state->os, state->leases);
    group->number = (uint32_t)number;
    group->queue = queue;
    group->next = state->spare_groups;
    state->spare_groups = group;
    return PAWL_OK;
}

/* What is absent is added as it stands: a page that is all absent needs no bits. */
static pawl_status reserve_absent(const struct queue *queue, struct group *group,
                                  const struct event_items *absent, pawl_error *error) {
    uint64_t row[EVENT_ROW_MAX];
    struct event_rows rows = event_rows_of(absent);
    while (event_rows_next(&rows, row, 2)) {
        TRY(reserve_inside(queue, row[0], row[1], error));
        TRY(seqset_reserve(&group->ended[GROUP_NEVER], row[0], row[1], error));
    }
    return PAWL_OK;
}

static pawl_status reserve_group_set(struct state *state, const struct event_group_set *event,
                                     pawl_error *error) {
    const struct queue *queue = reserve_queue(state, event->queue);
    if (queue == NULL)
        return reserve_nowhere("queue", event->queue, error);
    struct group *group = reserve_group(state, queue, event->group);
    if (group != NULL)
        return PAWL_OK;
    TRY(reserve_new_group(state, queue->number, event->group, error));
    group = reserve_group(state, queue, event->group);
    TRY(reserve_absent(queue, group, &event->absent, error));
    return reserve_entries(state, group, event->delayed.count, error);
}

static pawl_status reserve_seek(struct state *state, const struct event_group_seek *event,
                                pawl_error *error) {
    struct target target;
    TRY(reserve_target(state, event->queue, event->group, &target, error));
    const uint64_t from = group_skip_kept_from(target.group, event->to);
    if (event->to > queue_end(target.queue))
        return reserve_nowhere("message", event->to, error);
    return event->to > from
               ? reserve_each(&target.group->ended[GROUP_SKIPPED], from, event->to - from, error)
               : PAWL_OK;
}

static pawl_status reserve_enqueue(struct state *state, const struct event_enqueue *event,
                                   pawl_error *error) {
    struct queue *queue = reserve_queue(state, event->queue);
    if (queue == NULL)
        return reserve_nowhere("queue", event->queue, error);
    const uint64_t next = queue_end(queue);
    if (event->seq < next || event->seq >= ENTRY_SEQ_MAX || event->seq - next > STATE_SEQ_GAP_MAX ||
        event->priority >= GROUP_PRIORITIES)
        return error_set(error, PAWL_DAMAGED, "a record enqueues message %llu of queue %s",
                         (unsigned long long)event->seq, queue->name);
    for (struct group *group = NULL; (group = reserve_next_group(state, queue, group)) != NULL;) {
        if (event->seq > next)
            TRY(seqset_reserve(&group->ended[GROUP_NEVER], next, event->seq - next, error));
        if (event->due_us != 0)
            TRY(reserve_entries(state, group, 1, error));
    }
    if (queue->pending_seq == 0) {
        queue->next_reserved = state->reserved_queues;
        state->reserved_queues = queue;
    }
    queue->pending_seq = event->seq + 1;
    return PAWL_OK;
}

static pawl_status reserve_everywhere(struct state *state, uint64_t number,
                                      const struct event_items *ranges, enum group_end end,
                                      pawl_error *error) {
    const struct queue *queue = reserve_queue(state, number);
    if (queue == NULL)
        return reserve_nowhere("queue", number, error);
    for (struct group *group = NULL; (group = reserve_next_group(state, queue, group)) != NULL;)
        TRY(reserve_ranges(queue, group, ranges, end, error));
    return PAWL_OK;
}

static pawl_status reserve_deliveries(struct state *state, const struct event_attempt *event,
                                      pawl_error *error) {
    struct target target;
    TRY(reserve_target(state, event->queue, event->group, &target, error));
    return reserve_entries(state, target.group, event->deliveries.count, error);
}

static pawl_status reserve_one(struct state *state, uint64_t queue, uint64_t group, uint64_t seq,
                               pawl_error *error) {
    struct target target;
    TRY(reserve_target(state, queue, group, &target, error));
    if (seq == 0 || seq >= queue_end(target.queue))
        return reserve_nowhere("message", seq, error);
    return reserve_entries(state, target.group, 1, error);
}

static pawl_status reserve_ends(struct state *state, uint64_t queue, uint64_t group,
                                const struct event_items *items, bool are_ranges,
                                enum group_end end, pawl_error *error) {
    struct target target;
    TRY(reserve_target(state, queue, group, &target, error));
    return are_ranges ? reserve_ranges(target.queue, target.group, items, end, error)
                      : reserve_receipts(target.queue, target.group, items, end, error);
}

static pawl_status reserve_touched(struct state *state, const struct event_due *event,
                                   pawl_error *error) {
    struct target target;
    TRY(reserve_target(state, event->queue, event->group, &target, error));
    return reserve_entries(state, target.group, event->messages.count, error);
}

static pawl_status reserve_known(const struct state *state, uint64_t queue, uint64_t group,
                                 pawl_error *error) {
    struct target target;
    return reserve_target(state, queue, group, &target, error);
}

static pawl_status reserve_event(struct state *state, const struct event *event,
                                 pawl_error *error) {
    switch (event->kind) {
    case EVENT_BOOT:
    case EVENT_SESSION_END:
    case EVENT_FORMAT_SET:
    case EVENT_QUEUE_DROP:
    case EVENT_GROUP_DROP: return PAWL_OK;
    case EVENT_SESSION_OPEN:
        return event->session_open.slot < SHARED_SLOTS
                   ? PAWL_OK
                   : reserve_nowhere("slot", event->session_open.slot, error);
    case EVENT_QUEUE_SET:
        return reserve_queue(state, event->queue_set.queue) != NULL
                   ? PAWL_OK
                   : reserve_new_queue(state, event->queue_set.queue, error);
    case EVENT_GROUP_SET: return reserve_group_set(state, &event->group_set, error);
    case EVENT_GROUP_SEEK: return reserve_seek(state, &event->group_seek, error);
    case EVENT_ENQUEUE: return reserve_enqueue(state, &event->enqueue, error);
    case EVENT_ATTEMPT: return reserve_deliveries(state, &event->attempt, error);
    case EVENT_EXTEND: return reserve_known(state, event->extend.queue, event->extend.group, error);
    case EVENT_ACK:
        return reserve_ends(state, event->ack.queue, event->ack.group, &event->ack.receipts, false,
                            GROUP_ACKED, error);
    case EVENT_RETRY: return reserve_known(state, event->retry.queue, event->retry.group, error);
    case EVENT_RELEASE:
        return reserve_known(state, event->release.queue, event->release.group, error);
    case EVENT_DEAD_LETTER:
        return reserve_one(state, event->dead_letter.queue, event->dead_letter.group,
                           event->dead_letter.seq, error);
    case EVENT_REDRIVE:
        return reserve_known(state, event->redrive.queue, event->redrive.group, error);
    case EVENT_REPLACE:
        return reserve_ends(state, event->replace.queue, event->replace.group,
                            &event->replace.pairs, false, GROUP_PURGED, error);
    case EVENT_PURGE:
        return reserve_ends(state, event->purge.queue, event->purge.group, &event->purge.messages,
                            true, GROUP_PURGED, error);
    case EVENT_CANCEL:
        return reserve_everywhere(state, event->cancel.queue, &event->cancel.messages,
                                  GROUP_CANCELLED, error);
    case EVENT_DUE: return reserve_touched(state, &event->due, error);
    case EVENT_EXPIRE:
        return reserve_ends(state, event->expire.queue, event->expire.group,
                            &event->expire.messages, true, GROUP_EXPIRED, error);
    case EVENT_DROP:
        return reserve_everywhere(state, event->drop.queue, &event->drop.messages, GROUP_DROPPED,
                                  error);
    }
    return PAWL_OK;
}

/* The log's own records mean nothing here. */
static pawl_status reserve_record(struct state *state, const struct record *record,
                                  pawl_error *error) {
    struct event event;
    if (record->kind < RECORD_FIRST_OF_STATE)
        return PAWL_OK;
    const pawl_status status = event_read(record, &event);
    if (status == PAWL_OK)
        return reserve_event(state, &event, error);
    if (status == PAWL_NOT_FOUND)
        return PAWL_OK;
    return error_set(error, status,
                     status == PAWL_VERSION ? "a record of kind %u is of a newer library"
                                            : "a record of kind %u is none",
                     record->kind);
}

pawl_status state_reserve(struct state *state, const struct state_frame *frame, pawl_error *error) {
    struct reader reader = reader_over(frame->metadata, frame->metadata_bytes);
    struct record record;
    pawl_status status;
    while ((status = record_next(&reader, &record)) == PAWL_OK) {
        status = reserve_record(state, &record, error);
        if (status != PAWL_OK) {
            state_abandon(state);
            return error_at(error, status, "", 0, frame->lsn);
        }
    }
    if (status == PAWL_EMPTY)
        return PAWL_OK;
    state_abandon(state);
    (void)error_set(error, status, "the records of a frame are none");
    return error_at(error, status, "", 0, frame->lsn);
}

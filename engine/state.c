#include "state.h"

#include "check.h"

#include <string.h>

/* ---- Memory ---- */

void state_init(struct state *state, struct os *os, uint64_t first_lsn) {
    *state = (struct state){.os = os, .applied_lsn = first_lsn, .next_fence = 1};
}

static void group_free(struct state *state, struct group *group) {
    group_deinit(group);
    os_release(state->os, group, sizeof *group);
}

static void groups_free(struct state *state, struct group *group) {
    while (group != NULL) {
        struct group *next = group->next;
        group_free(state, group);
        group = next;
    }
}

/* What goes while a frame is applied is no longer reserved for. */
static void group_retire(struct state *state, struct group *group) {
    struct group **link = &state->reserved_groups;
    while (*link != NULL && *link != group)
        link = &(*link)->next_reserved;
    if (*link != NULL)
        *link = group->next_reserved;
    group_end_leases(group);
}

static void queue_retire(struct state *state, struct queue *queue) {
    struct queue **link = &state->reserved_queues;
    while (*link != NULL && *link != queue)
        link = &(*link)->next_reserved;
    if (*link != NULL)
        *link = queue->next_reserved;
    for (struct group *group = queue->groups; group != NULL; group = group->next)
        group_retire(state, group);
}

static void queue_free(struct state *state, struct queue *queue) {
    groups_free(state, queue->groups);
    os_release(state->os, queue, sizeof *queue);
}

static void spares_free(struct state *state) {
    groups_free(state, state->spare_groups);
    state->spare_groups = NULL;
    while (state->spare_queues != NULL) {
        struct queue *queue = state->spare_queues;
        state->spare_queues = queue->next;
        queue_free(state, queue);
    }
}

void state_deinit(struct state *state) {
    spares_free(state);
    for (uint32_t i = 0; i < state->queue_count; i++) {
        if (state->queues[i] != NULL)
            queue_free(state, state->queues[i]);
    }
    os_release(state->os, state->queues, state->queue_capacity * sizeof *state->queues);
    os_release(state->os, state->by_name, state->queue_capacity * sizeof *state->by_name);
    *state = (struct state){.os = state->os};
}

/* ---- Finding ---- */

struct queue *state_queue(const struct state *state, uint64_t number) {
    return number == 0 || number > state->queue_count ? NULL : state->queues[number - 1];
}

/* Its place among the names, or where it would have to be. */
static uint32_t name_find(const struct state *state, const char *name) {
    uint32_t low = 0, high = state->name_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (strcmp(state->by_name[middle]->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct queue *state_queue_named(const struct state *state, const char *name) {
    const uint32_t at = name_find(state, name);
    return at < state->name_count && strcmp(state->by_name[at]->name, name) == 0
               ? state->by_name[at]
               : NULL;
}

struct group *queue_group(const struct queue *queue, uint64_t number) {
    struct group *group = queue->groups;
    while (group != NULL && group->number != number)
        group = group->next;
    return group;
}

struct group *queue_group_named(const struct queue *queue, const char *name) {
    struct group *group = queue->groups;
    while (group != NULL && strcmp(group->name, name) != 0)
        group = group->next;
    return group;
}

uint64_t group_count_of(const struct queue *queue, const struct group *group,
                        enum entry_state state) {
    uint64_t count = group->state_count[state];
    if (state == ENTRY_READY) {
        count = queue->enqueued;
        for (unsigned end = 0; end < GROUP_NEVER; end++)
            count -= group->ended_count[end];
        for (unsigned other = 0; other < ENTRY_STATES; other++)
            count -= other == ENTRY_READY ? 0 : group->state_count[other];
    }
    return count;
}

/* ---- Values ---- */

/* Milliseconds, up: nothing is due too early. */
static uint64_t ms_of(uint64_t us) {
    return us / 1000 + (us % 1000 != 0);
}

static uint32_t delay_ms_of(uint64_t us) {
    const uint64_t ms = ms_of(us);
    return ms > UINT32_MAX ? UINT32_MAX : (uint32_t)ms;
}

static void text_copy(char *to, size_t room, const struct event_bytes *text) {
    const size_t size = text->size < room - 1 ? text->size : room - 1;
    if (size > 0)
        memcpy(to, text->data, size);
    to[size] = '\0';
}

static void name_insert(struct state *state, struct queue *queue) {
    const uint32_t at = name_find(state, queue->name);
    memmove(&state->by_name[at + 1], &state->by_name[at],
            (state->name_count - at) * sizeof(struct queue *));
    state->by_name[at] = queue;
    state->name_count++;
}

static void name_remove(struct state *state, const struct queue *queue) {
    const uint32_t at = name_find(state, queue->name);
    state->name_count--;
    memmove(&state->by_name[at], &state->by_name[at + 1],
            (state->name_count - at) * sizeof(struct queue *));
}

/* ---- Applying ---- */

/* What a record is about. */
struct target {
    struct queue *queue;
    struct group *group;
};

static bool target_find(const struct state *state, uint64_t queue, uint64_t group,
                        struct target *ret_target) {
    ret_target->queue = state_queue(state, queue);
    ret_target->group = ret_target->queue == NULL ? NULL : queue_group(ret_target->queue, group);
    return ret_target->group != NULL;
}

/* The slot of a session; SHARED_SLOTS: it is not open. */
static unsigned session_find(const struct state *state, uint64_t lsn) {
    unsigned slot = 0;
    while (slot < SHARED_SLOTS && state->sessions[slot].lsn != lsn)
        slot++;
    return slot;
}

static bool epoch_is_sound(uint64_t epoch) {
    return epoch >> (64 - STATE_FENCE_BITS) == 0;
}

static void epoch_raise(struct state *state, uint64_t epoch) {
    const uint64_t first = epoch << STATE_FENCE_BITS;
    if (epoch > state->epoch)
        state->epoch = epoch;
    if (first > state->next_fence)
        state->next_fence = first;
}

/* Store time begins anew with a boot, and may then be earlier than before. */
static bool apply_boot(struct state *state, const struct event_boot *event, uint64_t time_us) {
    if (event->boot_id.size != sizeof state->boot_id || !epoch_is_sound(event->epoch))
        return false;
    state->time_us = time_us;
    memcpy(state->boot_id, event->boot_id.data, sizeof state->boot_id);
    epoch_raise(state, event->epoch);
    for (uint32_t i = 0; i < state->name_count; i++) {
        for (struct group *group = state->by_name[i]->groups; group != NULL; group = group->next)
            group_rebase(group, ms_of(state->time_us));
    }
    return true;
}

static bool apply_session_open(struct state *state, const struct event_session_open *event,
                               uint64_t lsn) {
    struct session *session = &state->sessions[event->slot];
    if (session->lsn != 0 || lsn == 0 || session_find(state, lsn) != SHARED_SLOTS ||
        !epoch_is_sound(event->epoch))
        return false;
    *session = (struct session){.lsn = lsn, .pid = (uint32_t)event->pid};
    text_copy(session->host, sizeof session->host, &event->host);
    text_copy(session->command, sizeof session->command, &event->command);
    text_copy(session->version, sizeof session->version, &event->version);
    epoch_raise(state, event->epoch);
    return true;
}

static bool apply_session_end(struct state *state, const struct event_session_end *event) {
    const unsigned slot = event->session == 0 ? SHARED_SLOTS : session_find(state, event->session);
    if (slot == SHARED_SLOTS || state->leases[slot + 1] != 0)
        return false;
    state->sessions[slot] = (struct session){0};
    return true;
}

static struct queue *take_spare_queue(struct state *state, uint64_t number) {
    struct queue **link = &state->spare_queues;
    while (*link != NULL && (*link)->number != number)
        link = &(*link)->next;
    struct queue *queue = *link;
    if (queue != NULL) {
        *link = queue->next;
        queue->next = NULL;
    }
    return queue;
}

static struct group *take_spare_group(struct state *state, uint64_t queue, uint64_t number) {
    struct group **link = &state->spare_groups;
    while (*link != NULL && ((*link)->queue != queue || (*link)->number != number))
        link = &(*link)->next;
    struct group *group = *link;
    if (group != NULL) {
        *link = group->next;
        group->next = NULL;
    }
    return group;
}

/* The queue of that number, which the frame may bring in; a new one whose name is taken is not to
 * be had for the rest of the frame either. */
static struct queue *queue_to_set(struct state *state, uint64_t number, const char *name) {
    struct queue *queue = state_queue(state, number);
    const struct queue *namesake = state_queue_named(state, name);
    if (queue != NULL && (namesake == NULL || namesake == queue)) {
        name_remove(state, queue);
        return queue;
    }
    if (queue != NULL || (queue = take_spare_queue(state, number)) == NULL)
        return NULL;
    if (namesake != NULL || number <= state->queue_count) {
        queue_retire(state, queue);
        queue_free(state, queue);
        return NULL;
    }
    while (state->queue_count < queue->number)
        state->queues[state->queue_count++] = NULL;
    state->queues[queue->number - 1] = queue;
    return queue;
}

static bool apply_queue_set(struct state *state, const struct event_queue_set *event) {
    char name[STATE_NAME_BYTES_MAX + 1];
    text_copy(name, sizeof name, &event->name);
    struct queue *queue = queue_to_set(state, event->queue, name);
    if (queue == NULL)
        return false;
    memcpy(queue->name, name, sizeof name);
    name_insert(state, queue);
    policy_init(&queue->policy);
    policy_read(&queue->policy, &event->policy);
    queue->is_paused = event->paused != 0;
    text_copy(queue->why, sizeof queue->why, &event->paused_why);
    if (event->seq_limit > queue->seq_limit)
        queue->seq_limit = event->seq_limit;
    return true;
}

static bool apply_queue_drop(struct state *state, const struct event_queue_drop *event) {
    struct queue *queue = state_queue(state, event->queue);
    if (queue == NULL)
        return false;
    queue_retire(state, queue);
    name_remove(state, queue);
    state->queues[queue->number - 1] = NULL;
    queue_free(state, queue);
    return true;
}

/* A group begins: what lies before its start or is absent is not for it, what is delayed is under
 * way. */
static bool group_begin(struct state *state, struct queue *queue, struct group *group,
                        const struct event_group_set *event) {
    uint64_t row[EVENT_ROW_MAX];
    struct group **link = &queue->groups;
    while (*link != NULL)
        link = &(*link)->next;
    *link = group;
    state->group_count = group->number;
    group->start = group->floor = group->kept_from = event->start;
    for (unsigned priority = 0; priority < GROUP_PRIORITIES; priority++)
        group->positions[priority] = event->start;
    group->ended_count[GROUP_SKIPPED] = event->skipped;
    bool is_sound = true;
    struct event_rows rows = event_rows_of(&event->absent);
    while (event_rows_next(&rows, row, 2))
        group_gap(group, row[0], row[1]);
    rows = event_rows_of(&event->delayed);
    while (event_rows_next(&rows, row, 4))
        is_sound &= row[0] < queue->next_seq &&
                    group_delay(group, row[0], row[1], ms_of(row[2]), delay_ms_of(row[3]));
    return is_sound;
}

/* What lies behind the start and is not absent are as many as are not skipped. */
static bool start_is_sound(const struct queue *queue, const struct event_group_set *event) {
    uint64_t row[EVENT_ROW_MAX];
    if (event->start == 0 || event->start > queue->next_seq || event->skipped > queue->enqueued)
        return false;
    uint64_t from = event->start, absent = 0;
    struct event_rows rows = event_rows_of(&event->absent);
    while (event_rows_next(&rows, row, 2)) {
        if (row[0] < from || row[0] > queue->next_seq || row[1] > queue->next_seq - row[0])
            return false;
        from = row[0] + row[1];
        absent += row[1];
    }
    return queue->enqueued - event->skipped == queue->next_seq - event->start - absent;
}

/* A new one that makes no sense is not to be had for the rest of the frame either. */
static struct group *group_take(struct state *state, const struct queue *queue, bool is_name_taken,
                                const struct event_group_set *event) {
    struct group *group = take_spare_group(state, event->queue, event->group);
    if (group == NULL || (queue != NULL && !is_name_taken && group->number > state->group_count &&
                          start_is_sound(queue, event)))
        return group;
    group_retire(state, group);
    group_free(state, group);
    return NULL;
}

static bool apply_group_set(struct state *state, const struct event_group_set *event) {
    struct queue *queue = state_queue(state, event->queue);
    struct group *group = queue == NULL ? NULL : queue_group(queue, event->group);
    char name[GROUP_NAME_BYTES_MAX + 1];
    text_copy(name, sizeof name, &event->name);
    const struct group *namesake = queue == NULL ? NULL : queue_group_named(queue, name);
    const bool is_new = group == NULL;
    if (is_new)
        group = group_take(state, queue, namesake != NULL, event);
    if (group == NULL || (namesake != NULL && namesake != group))
        return false;
    const bool is_sound = !is_new || group_begin(state, queue, group, event);
    memcpy(group->name, name, sizeof name);
    policy_init_override(&group->policy);
    policy_read(&group->policy, &event->policy);
    group->is_paused = event->paused != 0;
    text_copy(group->why, sizeof group->why, &event->paused_why);
    return is_sound;
}

static bool apply_group_drop(struct state *state, const struct event_group_drop *event) {
    struct target target;
    if (!target_find(state, event->queue, event->group, &target))
        return false;
    struct group **link = &target.queue->groups;
    while (*link != target.group)
        link = &(*link)->next;
    *link = target.group->next;
    group_retire(state, target.group);
    group_free(state, target.group);
    return true;
}

static bool apply_group_seek(struct state *state, const struct event_group_seek *event) {
    struct target target;
    if (!target_find(state, event->queue, event->group, &target))
        return false;
    group_skip_to(target.group, event->to);
    return true;
}

static bool apply_enqueue(struct state *state, const struct event_enqueue *event) {
    struct queue *queue = state_queue(state, event->queue);
    if (queue == NULL || event->seq < queue->next_seq)
        return false;
    const uint64_t traits =
        event->priority | (event->ordering_key.data != NULL ? EVENT_TRAIT_KEYED : 0);
    for (struct group *group = queue->groups; group != NULL; group = group->next) {
        if (event->seq > queue->next_seq)
            group_gap(group, queue->next_seq, event->seq - queue->next_seq);
        if (event->due_us != 0)
            (void)group_delay(group, event->seq, traits, ms_of(event->due_us),
                              delay_ms_of(event->delay_us));
    }
    queue->next_seq = event->seq + 1;
    queue->enqueued++;
    return true;
}

/* A fence that was given before, or that none could follow, is no fence. */
static bool apply_delivery(struct state *state, const struct target *target,
                           const struct group_delivery *delivery, uint64_t first_fence) {
    if (delivery->seq >= target->queue->next_seq || delivery->fence < first_fence ||
        delivery->fence == UINT64_MAX || !group_deliver(target->group, delivery))
        return false;
    if (delivery->fence >= state->next_fence)
        state->next_fence = delivery->fence + 1;
    return true;
}

static bool apply_attempt(struct state *state, const struct event_attempt *event) {
    struct target target;
    uint64_t row[EVENT_ROW_MAX];
    const uint64_t first_fence = state->next_fence;
    const unsigned slot = event->session == 0 ? 0 : session_find(state, event->session) + 1;
    if (!target_find(state, event->queue, event->group, &target) || slot > SHARED_SLOTS)
        return false;
    bool is_sound = true;
    struct event_rows rows = event_rows_of(&event->deliveries);
    while (event_rows_next(&rows, row, 5)) {
        const struct group_delivery delivery = {
            .seq = row[0],
            .fence = row[1],
            .attempt = (uint32_t)row[2],
            .delivery = (uint32_t)row[3],
            .traits = row[4],
            .until_ms = ms_of(event->until_us),
            .slot = slot,
        };
        is_sound &= apply_delivery(state, &target, &delivery, first_fence);
    }
    rows = event_rows_of(&event->positions);
    while (event_rows_next(&rows, row, 2))
        is_sound &= row[1] <= target.queue->next_seq && group_read_on(target.group, row[0], row[1]);
    return is_sound;
}

static bool apply_extend(struct state *state, const struct event_extend *event) {
    struct target target;
    uint64_t row[EVENT_ROW_MAX];
    if (!target_find(state, event->queue, event->group, &target))
        return false;
    bool is_sound = true;
    struct event_rows rows = event_rows_of(&event->receipts);
    while (event_rows_next(&rows, row, 2))
        is_sound &= group_holds(target.group, row[0], row[1]) &&
                    group_extend(target.group, row[0], ms_of(event->until_us));
    return is_sound;
}

static bool apply_ack(struct state *state, const struct event_ack *event) {
    struct target target;
    uint64_t row[EVENT_ROW_MAX];
    if (!target_find(state, event->queue, event->group, &target))
        return false;
    bool is_sound = true;
    struct event_rows rows = event_rows_of(&event->receipts);
    while (event_rows_next(&rows, row, 2))
        is_sound &= group_holds(target.group, row[0], row[1]) &&
                    group_settle(target.group, row[0], 1, GROUP_ACKED) == 1;
    return is_sound;
}

static bool apply_retry(struct state *state, const struct event_retry *event, uint64_t lsn) {
    struct target target;
    const bool is_settled =
        event->outcome != EVENT_OUTCOME_LAPSED && event->outcome != EVENT_OUTCOME_DIED;
    return target_find(state, event->queue, event->group, &target) &&
           group_holds(target.group, event->seq, event->fence) &&
           group_retry(target.group, event->seq, (uint32_t)event->attempt, ms_of(event->due_us),
                       delay_ms_of(event->delay_us), lsn, is_settled);
}

static bool apply_release(struct state *state, const struct event_release *event) {
    struct target target;
    uint64_t row[EVENT_ROW_MAX];
    if (!target_find(state, event->queue, event->group, &target))
        return false;
    bool is_sound = true;
    struct event_rows rows = event_rows_of(&event->receipts);
    while (event_rows_next(&rows, row, 2))
        is_sound &= group_holds(target.group, row[0], row[1]) &&
                    group_release(target.group, row[0], ms_of(event->due_us),
                                  delay_ms_of(event->delay_us), event->suspect != 0);
    return is_sound;
}

static bool apply_dead_letter(struct state *state, const struct event_dead_letter *event,
                              uint64_t lsn) {
    struct target target;
    return target_find(state, event->queue, event->group, &target) &&
           (event->fence == 0 || group_holds(target.group, event->seq, event->fence)) &&
           group_bury(target.group, event->seq, event->traits, (uint32_t)event->attempt,
                      state->time_us / 1000, lsn);
}

static bool apply_redrive(struct state *state, const struct event_redrive *event) {
    struct target target;
    uint64_t row[EVENT_ROW_MAX];
    if (!target_find(state, event->queue, event->group, &target))
        return false;
    bool is_sound = true;
    struct event_rows rows = event_rows_of(&event->messages);
    while (event_rows_next(&rows, row, 2)) {
        const bool is_inside =
            row[0] < target.queue->next_seq && row[1] <= target.queue->next_seq - row[0];
        for (uint64_t i = 0; is_inside && i < row[1]; i++)
            is_sound &= group_redrive(target.group, row[0] + i);
        is_sound &= is_inside;
    }
    return is_sound;
}

static bool apply_replace(struct state *state, const struct event_replace *event) {
    struct target target;
    uint64_t row[EVENT_ROW_MAX];
    if (!target_find(state, event->queue, event->group, &target))
        return false;
    bool is_sound = true;
    struct event_rows rows = event_rows_of(&event->pairs);
    while (event_rows_next(&rows, row, 2))
        is_sound &= group_settle(target.group, row[0], 1, GROUP_PURGED) == 1;
    return is_sound;
}

static bool apply_due(struct state *state, const struct event_due *event) {
    struct target target;
    uint64_t row[EVENT_ROW_MAX];
    if (!target_find(state, event->queue, event->group, &target))
        return false;
    bool is_sound = true;
    struct event_rows rows = event_rows_of(&event->messages);
    while (event_rows_next(&rows, row, 2))
        is_sound &= row[0] < target.queue->next_seq &&
                    group_delay(target.group, row[0], row[1], ms_of(event->due_us),
                                delay_ms_of(event->delay_us));
    return is_sound;
}

static void settle_ranges(struct group *group, const struct event_items *ranges,
                          enum group_end end) {
    uint64_t row[EVENT_ROW_MAX];
    struct event_rows rows = event_rows_of(ranges);
    while (event_rows_next(&rows, row, 2))
        (void)group_settle(group, row[0], row[1], end);
}

static bool settle_in_one(struct state *state, uint64_t queue, uint64_t group,
                          const struct event_items *ranges, enum group_end end) {
    struct target target;
    if (!target_find(state, queue, group, &target))
        return false;
    settle_ranges(target.group, ranges, end);
    return true;
}

static bool settle_in_all(struct state *state, uint64_t number, const struct event_items *ranges,
                          enum group_end end) {
    const struct queue *queue = state_queue(state, number);
    if (queue == NULL)
        return false;
    for (struct group *group = queue->groups; group != NULL; group = group->next)
        settle_ranges(group, ranges, end);
    return true;
}

static bool apply_format_set(struct state *state, const struct event_format_set *event) {
    state->format = event->format;
    return true;
}

/* False: it makes no sense where it stands. */
static bool apply_event(struct state *state, const struct event *event,
                        const struct state_frame *frame) {
    const uint64_t lsn = frame->lsn;
    switch (event->kind) {
    case EVENT_BOOT: return apply_boot(state, &event->boot, frame->time_us);
    case EVENT_SESSION_OPEN: return apply_session_open(state, &event->session_open, lsn);
    case EVENT_SESSION_END: return apply_session_end(state, &event->session_end);
    case EVENT_QUEUE_SET: return apply_queue_set(state, &event->queue_set);
    case EVENT_QUEUE_DROP: return apply_queue_drop(state, &event->queue_drop);
    case EVENT_GROUP_SET: return apply_group_set(state, &event->group_set);
    case EVENT_GROUP_DROP: return apply_group_drop(state, &event->group_drop);
    case EVENT_GROUP_SEEK: return apply_group_seek(state, &event->group_seek);
    case EVENT_ENQUEUE: return apply_enqueue(state, &event->enqueue);
    case EVENT_ATTEMPT: return apply_attempt(state, &event->attempt);
    case EVENT_EXTEND: return apply_extend(state, &event->extend);
    case EVENT_ACK: return apply_ack(state, &event->ack);
    case EVENT_RETRY: return apply_retry(state, &event->retry, lsn);
    case EVENT_RELEASE: return apply_release(state, &event->release);
    case EVENT_DEAD_LETTER: return apply_dead_letter(state, &event->dead_letter, lsn);
    case EVENT_REDRIVE: return apply_redrive(state, &event->redrive);
    case EVENT_REPLACE: return apply_replace(state, &event->replace);
    case EVENT_PURGE:
        return settle_in_one(state, event->purge.queue, event->purge.group, &event->purge.messages,
                             GROUP_PURGED);
    case EVENT_CANCEL:
        return settle_in_all(state, event->cancel.queue, &event->cancel.messages, GROUP_CANCELLED);
    case EVENT_DUE: return apply_due(state, &event->due);
    case EVENT_EXPIRE:
        return settle_in_one(state, event->expire.queue, event->expire.group,
                             &event->expire.messages, GROUP_EXPIRED);
    case EVENT_DROP:
        return settle_in_all(state, event->drop.queue, &event->drop.messages, GROUP_DROPPED);
    case EVENT_FORMAT_SET: return apply_format_set(state, &event->format_set);
    }
    return false;
}

/* The frame that was reserved for is over. */
static void reservation_end(struct state *state) {
    for (struct group *group = state->reserved_groups; group != NULL; group = group->next_reserved)
        group->pending = 0;
    for (struct queue *queue = state->reserved_queues; queue != NULL; queue = queue->next_reserved)
        queue->pending_seq = 0;
    state->reserved_groups = NULL;
    state->reserved_queues = NULL;
    spares_free(state);
}

void state_apply(struct state *state, const struct state_frame *frame) {
    struct reader reader = reader_over(frame->metadata, frame->metadata_bytes);
    struct record record;
    struct event event;
    while (record_next(&reader, &record) == PAWL_OK) {
        if (record.kind < RECORD_FIRST_OF_STATE)
            continue; /* the log's own frames have the time of the wall */
        if (frame->time_us > state->time_us)
            state->time_us = frame->time_us;
        if (event_read(&record, &event) == PAWL_OK && !apply_event(state, &event, frame))
            state->nonsense++;
    }
    reservation_end(state);
    state->applied_lsn = frame->end_lsn;
}

void state_abandon(struct state *state) {
    reservation_end(state);
}

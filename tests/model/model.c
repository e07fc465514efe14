#include "model.h"

#include <stdlib.h>
#include <string.h>

static void *grown(void *old, uint64_t had, uint64_t has, size_t each) {
    uint8_t *grown = realloc(old, has * each);
    if (grown == NULL)
        abort();
    memset(grown + had * each, 0, (has - had) * each);
    return grown;
}

static uint64_t capacity_for(uint64_t have, uint64_t need) {
    uint64_t capacity = have == 0 ? 64 : have;
    while (capacity < need)
        capacity *= 2;
    return capacity;
}

void model_init(struct model *model) {
    *model = (struct model){.next_fence = 1};
}

void model_deinit(struct model *model) {
    for (unsigned i = 0; i < MODEL_QUEUES; i++) {
        if (model->queues[i].number != 0)
            model_queue_drop(&model->queues[i]);
    }
}

struct model_queue *model_queue_new(struct model *model, uint32_t number) {
    struct model_queue *queue = model->queues;
    while (queue->number != 0)
        queue++;
    *queue = (struct model_queue){.number = number, .next_seq = 1};
    model->queue_count = number;
    return queue;
}

void model_group_drop(struct model_group *group) {
    free(group->messages);
    free(group->live);
    *group = (struct model_group){0};
}

void model_queue_drop(struct model_queue *queue) {
    for (unsigned i = 0; i < MODEL_GROUPS; i++)
        model_group_drop(&queue->groups[i]);
    free(queue->births);
    *queue = (struct model_queue){0};
}

bool model_is_live(enum model_life life) {
    return life >= MODEL_READY && life <= MODEL_DEAD;
}

struct model_message *model_message(const struct model_at *at, uint64_t seq) {
    return &at->group->messages[seq];
}

static void live_add(struct model_group *group, uint64_t seq) {
    if (group->live_count == group->live_capacity) {
        const uint32_t capacity = group->live_capacity == 0 ? 64 : group->live_capacity * 2;
        group->live = grown(group->live, group->live_capacity, capacity, sizeof *group->live);
        group->live_capacity = capacity;
    }
    group->messages[seq].live_at = group->live_count;
    group->live[group->live_count++] = seq;
}

static void live_remove(struct model_group *group, uint64_t seq) {
    const uint32_t at = group->messages[seq].live_at;
    const uint64_t last = group->live[--group->live_count];
    group->live[at] = last;
    group->messages[last].live_at = at;
}

static void model_touch(const struct model_at *at, uint64_t seq) {
    struct model *model = at->model;
    if (model->touched_count < MODEL_TOUCHED)
        model->touched[model->touched_count++] =
            (struct model_touch){at->queue->number, at->group->number, seq};
}

static struct model_message *model_become(const struct model_at *at, uint64_t seq,
                                          enum model_life life) {
    struct model_group *group = at->group;
    struct model_message *message = model_message(at, seq);
    if (model_is_live(message->life) && !model_is_live(life))
        live_remove(group, seq);
    if (!model_is_live(message->life) && model_is_live(life))
        live_add(group, seq);
    group->counts[message->life]--;
    group->counts[life]++;
    message->life = life;
    message->slot = 0;
    model_touch(at, seq);
    return message;
}

/* One more number. */
static void model_spread(struct model_group *group, uint64_t seq, enum model_life life) {
    const uint64_t capacity = capacity_for(group->capacity, seq + 1);
    if (capacity != group->capacity)
        group->messages =
            grown(group->messages, group->capacity, capacity, sizeof *group->messages);
    group->capacity = capacity;
    group->messages[seq].life = life;
    group->counts[life]++;
}

static bool has_ended_everywhere(const struct model_queue *queue, uint64_t seq) {
    unsigned groups = 0;
    for (unsigned i = 0; i < MODEL_GROUPS; i++) {
        const struct model_group *group = &queue->groups[i];
        if (group->number == 0 || group->capacity <= seq)
            continue;
        groups++;
        if (group->messages[seq].life <= MODEL_DEAD)
            return false;
    }
    return groups > 0;
}

static enum model_life life_at_start(const struct model_queue *queue, uint64_t seq, uint64_t start,
                                     bool has_all) {
    if (!queue->births[seq].is_there)
        return seq < start ? MODEL_NONE : MODEL_NEVER;
    if (seq < start)
        return MODEL_SKIPPED;
    return has_all || !has_ended_everywhere(queue, seq) ? MODEL_BACKLOG : MODEL_ABSENT;
}

struct model_group *model_group_new(struct model *model, struct model_queue *queue, uint32_t number,
                                    uint64_t start, bool has_all) {
    struct model_group *group = queue->groups;
    while (group->number != 0)
        group++;
    struct model_group fresh = {.number = number, .start = start};
    model->group_count = number;
    for (unsigned i = 0; i < MODEL_PRIORITIES; i++)
        fresh.positions[i] = start;
    for (uint64_t seq = 1; seq < queue->next_seq; seq++)
        model_spread(&fresh, seq, life_at_start(queue, seq, start, has_all));
    *group = fresh;
    return group;
}

void model_delay(const struct model_at *at, uint64_t seq, uint64_t due_ms, uint64_t delay_ms) {
    const bool is_fresh = model_message(at, seq)->deliveries == 0;
    struct model_message *message = model_become(at, seq,
                                                 due_ms == 0 ? MODEL_READY
                                                 : is_fresh  ? MODEL_DELAYED
                                                             : MODEL_WAITING);
    message->when_ms = due_ms;
    message->delay_ms = delay_ms;
}

void model_enqueue(struct model *model, struct model_queue *queue, uint64_t seq,
                   const struct model_birth *birth) {
    const uint64_t capacity = capacity_for(queue->capacity, seq + 1);
    if (capacity != queue->capacity)
        queue->births = grown(queue->births, queue->capacity, capacity, sizeof *queue->births);
    queue->capacity = capacity;
    queue->births[seq] = *birth;
    for (unsigned i = 0; i < MODEL_GROUPS; i++) {
        struct model_at at = {model, queue, &queue->groups[i]};
        if (at.group->number == 0)
            continue;
        for (uint64_t gap = queue->next_seq; gap < seq; gap++)
            model_spread(at.group, gap, MODEL_NEVER);
        model_spread(at.group, seq, MODEL_BACKLOG);
        model_touch(&at, seq);
        if (birth->due_ms != 0)
            model_delay(&at, seq, birth->due_ms, birth->delay_ms);
    }
    queue->next_seq = seq + 1;
    queue->enqueued++;
}

void model_deliver(const struct model_at *at, uint64_t seq, uint64_t fence, uint32_t slot,
                   uint64_t until_ms) {
    struct model_message *message = model_become(at, seq, MODEL_LEASED);
    at->group->redelivered += message->deliveries > 0;
    message->deliveries++;
    message->fence = fence;
    message->is_receipt_good = true;
    message->when_ms = until_ms;
    message->slot = slot;
    if (fence >= at->model->next_fence)
        at->model->next_fence = fence + 1;
}

void model_extend(const struct model_at *at, uint64_t seq, uint64_t until_ms) {
    model_message(at, seq)->when_ms = until_ms;
    model_touch(at, seq);
}

static struct model_message *model_put_back(const struct model_at *at, uint64_t seq,
                                            uint64_t due_ms, uint64_t delay_ms) {
    struct model_message *message =
        model_become(at, seq, due_ms == 0 ? MODEL_READY : MODEL_WAITING);
    message->when_ms = due_ms;
    message->delay_ms = delay_ms;
    return message;
}

void model_retry(const struct model_at *at, uint64_t seq, uint64_t due_ms, uint64_t delay_ms,
                 uint64_t lsn, bool is_by_consumer) {
    struct model_message *message = model_put_back(at, seq, due_ms, delay_ms);
    message->attempts++;
    message->releases = 0;
    message->failure_lsn = lsn;
    message->is_receipt_good = !is_by_consumer;
}

void model_release(const struct model_at *at, uint64_t seq, uint64_t due_ms, uint64_t delay_ms,
                   bool is_suspect) {
    struct model_message *message = model_put_back(at, seq, due_ms, delay_ms);
    message->releases++;
    message->is_suspect |= is_suspect;
    message->is_receipt_good = is_suspect;
}

void model_bury(const struct model_at *at, uint64_t seq, uint32_t attempts, uint64_t lsn) {
    struct model_message *message = model_become(at, seq, MODEL_DEAD);
    message->attempts = attempts;
    message->failure_lsn = lsn;
    message->when_ms = at->model->time_us / 1000;
    message->is_receipt_good = false;
}

void model_redrive(const struct model_at *at, uint64_t seq) {
    struct model_message *message = model_become(at, seq, MODEL_READY);
    message->attempts = 0;
    message->releases = 0;
    message->is_suspect = false;
    message->is_redriven = true;
}

void model_end(const struct model_at *at, uint64_t seq, enum model_life life) {
    const struct model_message *message = model_message(at, seq);
    if (message->life == MODEL_NONE || message->life > MODEL_DEAD ||
        (message->life == MODEL_DEAD) != (life == MODEL_PURGED))
        return;
    at->group->recovered += life == MODEL_ACKED && message->is_redriven;
    (void)model_become(at, seq, life);
}

void model_seek(const struct model_at *at, uint64_t to) {
    for (uint64_t seq = 1; seq < to; seq++)
        model_end(at, seq, MODEL_SKIPPED);
    for (unsigned i = 0; i < MODEL_PRIORITIES; i++) {
        if (at->group->positions[i] < to)
            at->group->positions[i] = to;
    }
}

static void group_boot(struct model_group *group, uint64_t now_ms) {
    for (uint32_t i = 0; i < group->live_count; i++) {
        struct model_message *message = &group->messages[group->live[i]];
        if (message->life != MODEL_DELAYED && message->life != MODEL_WAITING)
            continue;
        if (message->delay_ms < UINT32_MAX && message->when_ms > now_ms + message->delay_ms)
            message->when_ms = now_ms + message->delay_ms;
    }
}

void model_boot(struct model *model, uint64_t time_us) {
    model->time_us = time_us;
    for (unsigned i = 0; i < MODEL_QUEUES * MODEL_GROUPS; i++)
        group_boot(&model->queues[i / MODEL_GROUPS].groups[i % MODEL_GROUPS],
                   (time_us + 999) / 1000);
    model->touched_count = MODEL_TOUCHED;
}

uint32_t model_leases(const struct model *model, uint32_t slot) {
    uint32_t count = 0;
    for (unsigned i = 0; i < MODEL_QUEUES * MODEL_GROUPS; i++) {
        const struct model_group *group = &model->queues[i / MODEL_GROUPS].groups[i % MODEL_GROUPS];
        for (uint32_t at = 0; at < group->live_count; at++) {
            const struct model_message *message = &group->messages[group->live[at]];
            count += message->life == MODEL_LEASED && message->slot == slot;
        }
    }
    return count;
}

uint64_t model_offset(const struct model_queue *queue, const struct model_group *group) {
    uint64_t seq = group->start;
    while (seq < queue->next_seq && (group->messages[seq].life >= MODEL_DEAD))
        seq++;
    return seq;
}

void model_count(const struct model_queue *queue, const struct model_group *group,
                 uint64_t *ret_counts) {
    memset(ret_counts, 0, MODEL_LIVES * sizeof *ret_counts);
    for (uint64_t seq = 1; seq < queue->next_seq; seq++)
        ret_counts[group->messages[seq].life]++;
}

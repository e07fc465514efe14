#include "compare.h"

#include <inttypes.h>
#include <stdio.h>

enum { SAMPLED_OF_GAP = 61 };

#define EXPECT(condition, ...)                                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)snprintf(complaint, COMPLAINT_BYTES, __VA_ARGS__);                               \
            return false;                                                                          \
        }                                                                                          \
    } while (0)

static const enum entry_state state_of[MODEL_LIVES] = {
    [MODEL_READY] = ENTRY_READY,   [MODEL_DELAYED] = ENTRY_DELAYED, [MODEL_WAITING] = ENTRY_WAITING,
    [MODEL_LEASED] = ENTRY_LEASED, [MODEL_DEAD] = ENTRY_DEAD,
};

static const enum group_end end_of[MODEL_LIVES] = {
    [MODEL_ACKED] = GROUP_ACKED,         [MODEL_PURGED] = GROUP_PURGED,
    [MODEL_EXPIRED] = GROUP_EXPIRED,     [MODEL_DROPPED] = GROUP_DROPPED,
    [MODEL_CANCELLED] = GROUP_CANCELLED, [MODEL_SKIPPED] = GROUP_SKIPPED,
    [MODEL_NEVER] = GROUP_NEVER,         [MODEL_ABSENT] = GROUP_NEVER,
};

static bool compare_entry(const struct model_queue *queue, const struct model_group *expected,
                          const struct entry *entry, char *complaint) {
    const uint64_t seq = entry->seq;
    const struct model_message *message = &expected->messages[seq];
    const struct model_birth *birth = &queue->births[seq];
    const unsigned flags = (message->is_suspect ? ENTRY_SUSPECT : 0U) |
                           (birth->is_keyed ? ENTRY_KEYED : 0U) |
                           (message->is_redriven ? ENTRY_REDRIVEN : 0U);
    const bool has_delay = message->life == MODEL_WAITING || message->life == MODEL_DELAYED;
    EXPECT(entry->state == state_of[message->life], "%" PRIu64 ": state %u, not %u", seq,
           (unsigned)entry->state, (unsigned)state_of[message->life]);
    EXPECT(entry->priority == birth->priority && entry->flags == flags,
           "%" PRIu64 ": priority %u, flags %u, not %u, %u", seq, (unsigned)entry->priority,
           (unsigned)entry->flags, birth->priority, flags);
    EXPECT(entry->attempts == message->attempts && entry->deliveries == message->deliveries &&
               entry->releases == (message->releases > 255 ? 255 : message->releases),
           "%" PRIu64 ": attempts %u, deliveries %u, releases %u, not %u, %u, %u", seq,
           entry->attempts, entry->deliveries, (unsigned)entry->releases, message->attempts,
           message->deliveries, message->releases);
    EXPECT(entry->fence == (message->is_receipt_good ? message->fence : 0) &&
               entry->failure_lsn == message->failure_lsn,
           "%" PRIu64 ": fence %" PRIu64 ", failure %" PRIu64 ", not %" PRIu64 " (%d), %" PRIu64,
           seq, entry->fence, entry->failure_lsn, message->fence, message->is_receipt_good,
           message->failure_lsn);
    EXPECT(entry->when_ms == (message->life == MODEL_READY ? 0 : message->when_ms) &&
               entry->slot == message->slot &&
               entry->delay_ms == (has_delay ? message->delay_ms : 0),
           "%" PRIu64 ": when %" PRIu64 ", slot %u, delay %u, not %" PRIu64 ", %u, %" PRIu64, seq,
           (uint64_t)entry->when_ms, (unsigned)entry->slot, entry->delay_ms, message->when_ms,
           message->slot, message->delay_ms);
    return true;
}

static bool compare_message(const struct model_queue *queue, const struct model_group *expected,
                            const struct group *group, uint64_t seq, char *complaint) {
    const enum model_life life = expected->messages[seq].life;
    const struct entry *entry = entries_find(&group->entries, seq);
    if (model_is_live(life)) {
        EXPECT(entry != NULL, "%" PRIu64 " is not under way", seq);
        EXPECT(!group_has_ended(group, seq), "%" PRIu64 " has ended", seq);
        return compare_entry(queue, expected, entry, complaint);
    }
    EXPECT(entry == NULL, "%" PRIu64 " is under way in life %d", seq, (int)life);
    EXPECT(group_has_ended(group, seq) == (life != MODEL_BACKLOG),
           "%" PRIu64 " has ended or not, unlike life %d", seq, (int)life);
    const enum group_end end = group_end_of(group, seq);
    if (life != MODEL_BACKLOG && seq >= group->kept_from && seq >= group->start)
        EXPECT(end == end_of[life], "%" PRIu64 " ended as %d, not by life %d", seq, (int)end,
               (int)life);
    else
        EXPECT(end == GROUP_ENDS, "%" PRIu64 " ended as %d, in life %d", seq, (int)end, (int)life);
    return true;
}

static bool compare_counts(const struct model_queue *queue, const struct queue *found,
                           const struct model_group *expected, const struct group *group,
                           char *complaint) {
    for (unsigned life = MODEL_READY; life < MODEL_LIVES; life++) {
        const bool is_told_twice = life == MODEL_SKIPPED || life == MODEL_NEVER;
        const uint64_t count =
            expected->counts[life] + (is_told_twice ? expected->counts[MODEL_ABSENT] : 0);
        if (life == MODEL_READY)
            EXPECT(group_count_of(found, group, ENTRY_READY) ==
                       count + expected->counts[MODEL_BACKLOG],
                   "ready: %" PRIu64 ", not %" PRIu64 " and backlog %" PRIu64,
                   group_count_of(found, group, ENTRY_READY), count,
                   expected->counts[MODEL_BACKLOG]);
        else if (life <= MODEL_DEAD)
            EXPECT(group_count_of(found, group, state_of[life]) == count,
                   "life %u: %" PRIu64 ", not %" PRIu64, life,
                   group_count_of(found, group, state_of[life]), count);
        else if (life != MODEL_ABSENT)
            EXPECT(group->ended_count[end_of[life]] == count, "life %u: %" PRIu64 ", not %" PRIu64,
                   life, group->ended_count[end_of[life]], count);
    }
    for (unsigned i = 0; i < MODEL_PRIORITIES; i++)
        EXPECT(group->positions[i] == expected->positions[i],
               "position %u is %" PRIu64 ", not %" PRIu64, i, group->positions[i],
               expected->positions[i]);
    EXPECT(group->redelivered == expected->redelivered && group->recovered == expected->recovered,
           "redelivered %" PRIu64 ", recovered %" PRIu64 ", not %" PRIu64 ", %" PRIu64,
           group->redelivered, group->recovered, expected->redelivered, expected->recovered);
    EXPECT(found->next_seq == queue->next_seq && found->enqueued == queue->enqueued &&
               found->seq_limit == queue->seq_limit,
           "queue %u: next %" PRIu64 ", enqueued %" PRIu64 ", not %" PRIu64 ", %" PRIu64,
           queue->number, found->next_seq, found->enqueued, queue->next_seq, queue->enqueued);
    return true;
}

static bool compare_store(const struct model *model, const struct state *state, char *complaint) {
    EXPECT(state->nonsense == 0, "%" PRIu64 " records made no sense", state->nonsense);
    EXPECT(state->time_us == model->time_us && state->epoch == model->epoch &&
               state->next_fence == model->next_fence && state->format == model->format,
           "time %" PRIu64 ", epoch %" PRIu64 ", fence %" PRIu64 ", not %" PRIu64 ", %" PRIu64
           ", %" PRIu64,
           state->time_us, state->epoch, state->next_fence, model->time_us, model->epoch,
           model->next_fence);
    EXPECT(memcmp(state->boot_id, model->boot_id, sizeof model->boot_id) == 0, "another boot");
    return true;
}

static const struct model_queue *model_queue_of(const struct model *model, uint32_t number) {
    for (unsigned i = 0; i < MODEL_QUEUES; i++) {
        if (model->queues[i].number == number)
            return &model->queues[i];
    }
    return NULL;
}

static const struct model_group *model_group_of(const struct model_queue *queue, uint32_t number) {
    for (unsigned i = 0; queue != NULL && i < MODEL_GROUPS; i++) {
        if (queue->groups[i].number == number)
            return &queue->groups[i];
    }
    return NULL;
}

bool compare_touched(const struct model *model, const struct state *state, char *complaint) {
    if (!compare_store(model, state, complaint))
        return false;
    const struct group *before = NULL;
    for (uint32_t i = 0; i < model->touched_count && i < MODEL_TOUCHED; i++) {
        const struct model_touch *touch = &model->touched[i];
        const struct model_queue *queue = model_queue_of(model, touch->queue);
        const struct model_group *expected = model_group_of(queue, touch->group);
        if (expected == NULL || touch->seq >= queue->next_seq)
            continue; /* dropped since, in the same frame */
        const struct queue *found = state_queue(state, touch->queue);
        EXPECT(found != NULL, "no queue %u", touch->queue);
        const struct group *group = queue_group(found, touch->group);
        EXPECT(group != NULL, "no group %u in queue %u", touch->group, touch->queue);
        if (!compare_message(queue, expected, group, touch->seq, complaint) ||
            (group != before && !compare_counts(queue, found, expected, group, complaint)))
            return false;
        before = group;
    }
    return true;
}

static bool compare_settings(const int64_t *settings, const struct policy *policy,
                             char *complaint) {
    for (unsigned i = 1; i < SETTING_LIMIT; i++)
        EXPECT(settings[i] == policy->values[i], "setting %u is %" PRId64 ", not %" PRId64, i,
               policy->values[i], settings[i]);
    return true;
}

/* Gaps are long: of the numbers that are like both their neighbours a sample does. */
static bool is_within_gap(const struct model_group *group, uint64_t seq) {
    const enum model_life life = group->messages[seq].life;
    return (life == MODEL_NEVER || life == MODEL_NONE) && seq + 1 < group->capacity &&
           group->messages[seq - 1].life == life && group->messages[seq + 1].life == life;
}

static bool compare_group(const struct model_queue *queue, const struct queue *found,
                          const struct model_group *expected, char *complaint) {
    struct group *group = queue_group_named(found, expected->name);
    EXPECT(group != NULL && group->number == expected->number, "group %u is not there",
           expected->number);
    EXPECT(strcmp(group->why, expected->why) == 0 && group->is_paused == expected->is_paused &&
               group->start == expected->start,
           "group %u is paused or starts otherwise", expected->number);
    uint64_t counts[MODEL_LIVES];
    model_count(queue, expected, counts);
    EXPECT(memcmp(counts, expected->counts, sizeof counts) == 0, "the model has miscounted");
    const uint64_t offset = model_offset(queue, expected);
    EXPECT(group_offset(group) == offset, "the offset is %" PRIu64 ", not %" PRIu64,
           group_offset(group), offset);
    for (uint64_t seq = 1; seq < queue->next_seq; seq++) {
        if (is_within_gap(expected, seq) && seq % SAMPLED_OF_GAP != 0)
            continue;
        if (!compare_message(queue, expected, group, seq, complaint))
            return false;
    }
    return compare_counts(queue, found, expected, group, complaint) &&
           compare_settings(expected->settings, &group->policy, complaint);
}

static bool compare_queue(const struct model_queue *queue, const struct state *state,
                          char *complaint) {
    const struct queue *found = state_queue_named(state, queue->name);
    EXPECT(found != NULL && found->number == queue->number &&
               state_queue(state, queue->number) == found,
           "queue %u is not there", queue->number);
    EXPECT(strcmp(found->why, queue->why) == 0 && found->is_paused == queue->is_paused,
           "queue %u is paused otherwise", queue->number);
    unsigned count = 0;
    for (const struct group *group = found->groups; group != NULL; group = group->next)
        count++;
    for (unsigned i = 0; i < MODEL_GROUPS; i++) {
        if (queue->groups[i].number == 0)
            continue;
        count--;
        if (!compare_group(queue, found, &queue->groups[i], complaint))
            return false;
    }
    EXPECT(count == 0, "queue %u has groups that it has not", queue->number);
    return compare_settings(queue->settings, &found->policy, complaint);
}

bool compare_all(const struct model *model, const struct state *state, char *complaint) {
    if (!compare_store(model, state, complaint))
        return false;
    uint32_t count = 0;
    for (unsigned i = 0; i < MODEL_QUEUES; i++) {
        if (model->queues[i].number == 0)
            continue;
        count++;
        if (!compare_queue(&model->queues[i], state, complaint))
            return false;
    }
    EXPECT(count == state->name_count, "%u queues, not %u", state->name_count, count);
    for (uint32_t slot = 0; slot <= SHARED_SLOTS; slot++) {
        const uint64_t lsn = slot == 0 ? 0 : model->sessions[slot - 1];
        EXPECT(slot == 0 || state->sessions[slot - 1].lsn == lsn, "another session in slot %u",
               slot);
        if (slot == 0 || lsn != 0 || state->leases[slot] != 0)
            EXPECT(state->leases[slot] == model_leases(model, slot),
                   "slot %u has %u leases, not %u", slot, state->leases[slot],
                   model_leases(model, slot));
    }
    return true;
}

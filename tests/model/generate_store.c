/* The generator's operations on queues, groups and sessions. */
#include "generator_pick.h"

#include <stdio.h>
#include <stdlib.h>

enum { GAP_MAX = 6000, LONG_QUEUE = 9000, SESSIONS_MAX = 12 };

static void pick_why(struct generator *generator, bool *ret_is_paused, char *ret_why) {
    *ret_is_paused = pick_chance(generator, 30);
    ret_why[0] = '\0';
    if (*ret_is_paused)
        (void)snprintf(ret_why, MODEL_NAME_BYTES, "why %u", (unsigned)pick_below(generator, 99));
}

/* A policy drawn anew, as rows. */
static struct event_items pick_settings(struct generator *generator, bool is_of_group,
                                        int64_t *settings) {
    struct event_list list = draft_list(&generator->draft, 1);
    for (unsigned i = 1; i < SETTING_LIMIT; i++) {
        const struct setting_rule *rule = setting_rule(i);
        settings[i] = is_of_group || rule == NULL ? SETTING_INHERITED : rule->usual;
        if (rule == NULL || (is_of_group && !rule->is_of_group) || !pick_chance(generator, 10))
            continue;
        const uint64_t value = (uint64_t)rule->least + pick_below(generator, 1);
        const bool is_off = rule->may_be_off && pick_chance(generator, 30);
        settings[i] = is_off ? SETTING_OFF : (int64_t)value;
        event_list_add(&list, (uint64_t[]){i, is_off ? 0 : value + 1}, 2);
    }
    return event_list_items(&list);
}

static void pick_name(struct generator *generator, uint32_t number, char *ret_name) {
    (void)snprintf(ret_name, MODEL_NAME_BYTES, "%c", (char)('a' + pick_below(generator, 26)));
    for (unsigned i = 0; i < MODEL_QUEUES; i++) {
        if (strcmp(generator->model.queues[i].name, ret_name) == 0)
            (void)snprintf(ret_name, MODEL_NAME_BYTES, "q.%u-%u", number,
                           (unsigned)pick_below(generator, 99));
    }
}

static void set_queue(struct generator *generator, struct model_queue *queue) {
    struct event event = {.kind = EVENT_QUEUE_SET};
    if (queue->name[0] == '\0' || pick_chance(generator, 20))
        pick_name(generator, queue->number, queue->name);
    pick_why(generator, &queue->is_paused, queue->why);
    queue->seq_limit += pick_below(generator, 2) * 65536;
    event.queue_set.queue = queue->number;
    event.queue_set.name = text_of(queue->name);
    event.queue_set.policy = pick_settings(generator, false, queue->settings);
    event.queue_set.paused = queue->is_paused;
    event.queue_set.paused_why = text_of(queue->why);
    event.queue_set.seq_limit = queue->seq_limit;
    draft_add(&generator->draft, &event);
}

bool generate_queue_new(struct generator *generator) {
    struct model *model = &generator->model;
    unsigned count = 0;
    for (unsigned i = 0; i < MODEL_QUEUES; i++)
        count += model->queues[i].number != 0;
    if (count == MODEL_QUEUES || (count > 1 && pick_chance(generator, 80)))
        return false;
    const uint32_t number = model->queue_count + 1 + (uint32_t)pick_below(generator, 2);
    struct model_queue *queue = model_queue_new(model, number);
    set_queue(generator, queue);
    for (uint64_t groups = 1 + pick_below(generator, 2); groups > 0; groups--)
        (void)generate_group_of(generator, queue);
    if (pick_chance(generator, 70))
        generate_messages(generator, queue, 1 + (unsigned)pick_below(generator, 5), 0);
    return true;
}

bool generate_queue_set(struct generator *generator) {
    struct model_queue *queue = pick_queue(generator);
    if (queue != NULL)
        set_queue(generator, queue);
    return queue != NULL;
}

bool generate_queue_drop(struct generator *generator) {
    struct model_queue *queue = pick_queue(generator);
    if (queue == NULL || (queue->next_seq < LONG_QUEUE && !pick_chance(generator, 5)))
        return false;
    const struct event event = {.kind = EVENT_QUEUE_DROP, .queue_drop = {queue->number}};
    draft_add(&generator->draft, &event);
    model_queue_drop(queue);
    return true;
}

static void set_group(struct generator *generator, struct model_queue *queue,
                      struct model_group *group, struct event *event) {
    pick_why(generator, &group->is_paused, group->why);
    if (group->name[0] == '\0' || pick_chance(generator, 10))
        (void)snprintf(group->name, sizeof group->name, "g%u.%u", group->number,
                       (unsigned)pick_below(generator, 99));
    event->group_set.queue = queue->number;
    event->group_set.group = group->number;
    event->group_set.name = text_of(group->name);
    event->group_set.policy = pick_settings(generator, true, group->settings);
    event->group_set.paused = group->is_paused;
    event->group_set.paused_why = text_of(group->why);
    draft_add(&generator->draft, event);
}

/* What is not due yet behind the start. */
static struct event_items start_delayed(struct generator *generator, const struct model_at *at) {
    struct event_list list = draft_list(&generator->draft, 0);
    for (uint64_t seq = at->group->start; seq < at->queue->next_seq && list.count < 200; seq++) {
        const struct model_birth *birth = &at->queue->births[seq];
        if (birth->due_ms * 1000 <= at->model->time_us ||
            model_message(at, seq)->life != MODEL_BACKLOG)
            continue;
        const uint64_t traits = birth->priority | (birth->is_keyed ? EVENT_TRAIT_KEYED : 0U);
        event_list_add(&list,
                       (uint64_t[]){seq, traits, birth->due_ms * 1000, birth->delay_ms * 1000}, 4);
        model_delay(at, seq, birth->due_ms, birth->delay_ms);
    }
    return event_list_items(&list);
}

static bool is_absent(const struct model_at *at, uint64_t seq) {
    return model_message(at, seq)->life >= MODEL_NEVER;
}

static struct event_items start_absent(struct generator *generator, const struct model_at *at) {
    struct event_list list =
        (struct event_list){.writer = writer_over(generator->absent, sizeof generator->absent)};
    for (uint64_t seq = at->group->start; seq < at->queue->next_seq;) {
        uint64_t end = seq;
        while (end < at->queue->next_seq && is_absent(at, end))
            end++;
        if (end > seq)
            event_list_add(&list, (uint64_t[]){seq, end - seq}, 2);
        seq = end + 1;
    }
    if (list.writer.bad)
        abort();
    return event_list_items(&list);
}

bool generate_group_of(struct generator *generator, struct model_queue *queue) {
    struct model *model = &generator->model;
    struct event event = {.kind = EVENT_GROUP_SET};
    unsigned count = 0;
    for (unsigned i = 0; i < MODEL_GROUPS; i++)
        count += queue->groups[i].number != 0;
    if (count == MODEL_GROUPS)
        return false;
    const uint64_t back = pick_below(generator, queue->next_seq);
    const uint64_t start = queue->next_seq - (!pick_chance(generator, 30) ? 0
                                              : back < 100                ? back
                                              : pick_chance(generator, 5) ? back
                                                                          : back % 100);
    const uint32_t number = model->group_count + 1 + (uint32_t)pick_below(generator, 2);
    const bool has_all = pick_chance(generator, 50);
    const struct model_at at = {model, queue,
                                model_group_new(model, queue, number, start, has_all)};
    event.group_set.start = start;
    event.group_set.skipped = at.group->counts[MODEL_SKIPPED] + at.group->counts[MODEL_ABSENT];
    event.group_set.absent = start_absent(generator, &at);
    event.group_set.delayed = start_delayed(generator, &at);
    set_group(generator, queue, at.group, &event);
    return true;
}

bool generate_group_new(struct generator *generator) {
    struct model_queue *queue = pick_queue(generator);
    return queue != NULL && pick_chance(generator, 30) && generate_group_of(generator, queue);
}

bool generate_group_set(struct generator *generator) {
    struct event event = {.kind = EVENT_GROUP_SET};
    struct model_at at;
    if (!pick_at(generator, &at))
        return false;
    set_group(generator, at.queue, at.group, &event);
    return true;
}

bool generate_group_drop(struct generator *generator) {
    struct model_at at;
    if (!pick_chance(generator, 50) || !pick_at(generator, &at))
        return false;
    const struct event event = {.kind = EVENT_GROUP_DROP,
                                .group_drop = {at.queue->number, at.group->number}};
    draft_add(&generator->draft, &event);
    model_group_drop(at.group);
    return true;
}

bool generate_seek(struct generator *generator) {
    struct model_at at;
    if (!pick_at(generator, &at) || pick_chance(generator, 50))
        return false;
    const uint64_t offset = model_offset(at.queue, at.group);
    const uint64_t ahead = at.queue->next_seq - offset;
    uint64_t to = 1 + pick_below(generator, at.queue->next_seq);
    if (pick_chance(generator, 80))
        to = offset + pick_below(generator, (ahead < 30 ? ahead : 30) + 1);
    const struct event event = {.kind = EVENT_GROUP_SEEK,
                                .group_seek = {at.queue->number, at.group->number, to}};
    draft_add(&generator->draft, &event);
    model_seek(&at, to);
    return true;
}

bool generate_gap(struct generator *generator) {
    struct model_queue *queue = pick_queue(generator);
    if (queue == NULL || queue->next_seq > LONG_QUEUE || pick_chance(generator, 50))
        return false;
    generate_messages(generator, queue, 1, 1 + pick_below(generator, GAP_MAX));
    return true;
}

bool generate_session_open(struct generator *generator) {
    struct model *model = &generator->model;
    const unsigned slot = (unsigned)pick_below(generator, SHARED_SLOTS);
    unsigned count = 0;
    for (unsigned i = 0; i < SHARED_SLOTS; i++) {
        count += model->sessions[i] != 0;
        if (model->sessions[i] == generator->draft.lsn)
            return false;
    }
    if (count == SESSIONS_MAX || model->sessions[slot] != 0)
        return false;
    struct event event = {.kind = EVENT_SESSION_OPEN};
    event.session_open.slot = slot;
    event.session_open.pid = 1 + pick_below(generator, 99999);
    event.session_open.host = text_of("host");
    if (pick_chance(generator, 10)) {
        event.session_open.epoch = ++model->epoch;
        model->next_fence = model->epoch << STATE_FENCE_BITS;
    }
    draft_add(&generator->draft, &event);
    model->sessions[slot] = generator->draft.lsn;
    return true;
}

/* Its leases are released before, those of each group by a record. */
static void release_leases(struct generator *generator, const struct model_at *at, uint32_t slot) {
    struct event event = {.kind = EVENT_RELEASE};
    struct event_list list = draft_list(&generator->draft, 0);
    for (uint64_t seq = 1; seq < at->queue->next_seq; seq++) {
        const struct model_message *message = model_message(at, seq);
        if (message->life != MODEL_LEASED || message->slot != slot)
            continue;
        event_list_add(&list, (uint64_t[]){seq, message->fence}, 2);
        model_release(at, seq, 0, 0, true);
    }
    event.release.queue = at->queue->number;
    event.release.group = at->group->number;
    event.release.suspect = 1;
    event.release.receipts = event_list_items(&list);
    if (list.count > 0)
        draft_add(&generator->draft, &event);
}

bool generate_session_end(struct generator *generator) {
    struct model *model = &generator->model;
    uint64_t lsn;
    const uint32_t slot = pick_session(generator, &lsn);
    if (slot == 0 || model_leases(model, slot) > 200)
        return false;
    for (unsigned i = 0; i < MODEL_QUEUES * MODEL_GROUPS; i++) {
        struct model_queue *queue = &model->queues[i / MODEL_GROUPS];
        const struct model_at at = {model, queue, &queue->groups[i % MODEL_GROUPS]};
        if (at.group->number != 0)
            release_leases(generator, &at, slot);
    }
    const struct event event = {.kind = EVENT_SESSION_END, .session_end = {lsn, 1}};
    draft_add(&generator->draft, &event);
    model->sessions[slot - 1] = 0;
    return true;
}

/* The clock may have been set back, or on. It is a frame's first record, its time being that of the
 * new boot. */
bool generate_boot(struct generator *generator) {
    struct model *model = &generator->model;
    struct draft *draft = &generator->draft;
    if (writer_used(&draft->writer) > 0 || pick_chance(generator, 50))
        return false;
    const uint64_t back = pick_span(generator);
    if (pick_chance(generator, 70))
        draft->time_us -= back < draft->time_us / 2 ? back : 0;
    for (size_t i = 0; i < sizeof model->boot_id; i++)
        model->boot_id[i] = (uint8_t)pick_below(generator, 256);
    model->epoch++;
    model->next_fence = model->epoch << STATE_FENCE_BITS;
    const struct event event = {
        .kind = EVENT_BOOT,
        .boot = {{model->boot_id, sizeof model->boot_id}, model->epoch},
    };
    draft_add(draft, &event);
    if (generator->canary == CANARY_REBASE)
        model->time_us = draft->time_us;
    else
        model_boot(model, draft->time_us);
    return true;
}

bool generate_format_set(struct generator *generator) {
    generator->model.format++;
    const struct event event = {.kind = EVENT_FORMAT_SET, .format_set = {generator->model.format}};
    draft_add(&generator->draft, &event);
    return true;
}

#include "nonsense.h"

#include <stdio.h>

enum { ROWS_MAX = 5 };

/* Small mostly; at an edge now and then. */
static uint64_t draw_number(struct prng *prng, uint64_t near) {
    static const uint64_t edges[] = {
        0,
        1,
        4095,
        4096,
        1 << 24,
        UINT64_C(1) << 31,
        UINT64_C(1) << 32,
        UINT64_C(1) << 47,
        UINT64_C(1) << 48,
        UINT64_C(1) << 63,
        UINT64_MAX - 1,
        UINT64_MAX,
    };
    switch (prng_below(prng, 16)) {
    case 0: return edges[prng_below(prng, sizeof edges / sizeof edges[0])];
    case 1: return prng_next(prng);
    case 2: return near;
    case 3: return near + 1;
    case 4: return prng_below(prng, 6000);
    default: return prng_below(prng, near + 2);
    }
}

struct drawer {
    struct prng *prng;
    struct draft *draft;
    const struct state *state;
    const struct queue *queue; /* what it may be about */
    const struct group *group;
    const struct entry *entry;
    unsigned lists;
    char text[4];
};

struct find {
    const struct entry *entry;
    uint64_t left;
};

static void find_entry(void *context, struct entry *entry) {
    struct find *find = context;
    if (find->left-- == 0 || find->entry == NULL)
        find->entry = entry;
}

/* Something that is there, so that not all comes to nothing. */
static void draw_target(struct drawer *drawer) {
    const struct state *state = drawer->state;
    if (state->name_count == 0)
        return;
    struct queue *queue = state->by_name[prng_below(drawer->prng, state->name_count)];
    struct group *group = queue->groups;
    while (group != NULL && group->next != NULL && prng_chance(drawer->prng, 50000))
        group = group->next;
    drawer->queue = queue;
    drawer->group = group;
    if (group == NULL || group->entries.count == 0)
        return;
    struct find find = {NULL, prng_below(drawer->prng, group->entries.count)};
    entries_each(&group->entries, find_entry, &find);
    drawer->entry = find.entry;
}

static uint64_t draw_seq(struct drawer *drawer) {
    if (drawer->entry != NULL && prng_chance(drawer->prng, 50000))
        return drawer->entry->seq;
    return draw_number(drawer->prng, drawer->queue == NULL ? 3 : drawer->queue->next_seq);
}

static bool is_named(const struct event_field *field, const char *name) {
    return strcmp(field->name, name) == 0;
}

static uint64_t draw_field(struct drawer *drawer, const struct event_field *field) {
    const bool is_sound = prng_chance(drawer->prng, 90000);
    if (is_named(field, "queue") && is_sound && drawer->queue != NULL)
        return drawer->queue->number;
    if (is_named(field, "group") && is_sound && drawer->group != NULL)
        return drawer->group->number;
    if (is_named(field, "queue"))
        return draw_number(drawer->prng, drawer->state->queue_count);
    if (is_named(field, "group"))
        return draw_number(drawer->prng, drawer->state->group_count);
    if (is_named(field, "seq"))
        return draw_seq(drawer);
    if (is_named(field, "fence") && is_sound && drawer->entry != NULL)
        return drawer->entry->fence;
    if (is_named(field, "start") && is_sound && drawer->queue != NULL)
        return drawer->queue->next_seq;
    if (is_named(field, "skipped") && is_sound && drawer->queue != NULL)
        return drawer->queue->enqueued;
    if (is_named(field, "to"))
        return draw_seq(drawer);
    if (is_named(field, "epoch") || is_named(field, "priority") || is_named(field, "session"))
        return draw_number(drawer->prng, 4) & (is_sound ? 7 : UINT64_MAX);
    return draw_number(drawer->prng, 1000);
}

static void draw_row(struct drawer *drawer, unsigned width, bool is_range, uint64_t *ret_row) {
    for (unsigned i = 1; i < width; i++)
        ret_row[i] = draw_number(drawer->prng, 3);
    ret_row[0] = draw_seq(drawer);
    if (is_range && prng_chance(drawer->prng, 20000))
        ret_row[1] = draw_number(drawer->prng, 5000);
    const bool is_sound = prng_chance(drawer->prng, 80000);
    if (width == 2 && !is_range && is_sound && drawer->entry != NULL)
        ret_row[1] = drawer->entry->fence;
    if (width == 5 && is_sound)
        ret_row[1] = drawer->state->next_fence + prng_below(drawer->prng, 3);
    if (width == 5 && is_sound)
        ret_row[2] = 1 + prng_below(drawer->prng, 3);
}

static struct event_items draw_items(struct drawer *drawer, unsigned width, bool is_range) {
    struct event_list list = draft_list(drawer->draft, drawer->lists++ % 2);
    uint64_t row[EVENT_ROW_MAX];
    for (uint64_t rows = prng_below(drawer->prng, ROWS_MAX); rows > 0; rows--) {
        draw_row(drawer, width, is_range, row);
        if (row[0] >= list.last)
            event_list_add(&list, row, width);
    }
    return event_list_items(&list);
}

static void draw_value(struct drawer *drawer, const struct event_field *field, void *value) {
    static const uint8_t bytes[64];
    switch (field->type) {
    case EVENT_TYPE_NUMBER: *(uint64_t *)value = draw_field(drawer, field); break;
    case EVENT_TYPE_TIME:
    case EVENT_TYPE_SPAN: *(uint64_t *)value = draw_number(drawer->prng, 100000); break;
    case EVENT_TYPE_TEXT:
        (void)snprintf(drawer->text, sizeof drawer->text, "n%u",
                       (unsigned)prng_below(drawer->prng, 20));
        *(struct event_bytes *)value =
            (struct event_bytes){(const uint8_t *)drawer->text, strlen(drawer->text)};
        break;
    case EVENT_TYPE_BYTES:
        *(struct event_bytes *)value =
            (struct event_bytes){bytes, prng_chance(drawer->prng, 50000) ? 16 : 7};
        break;
    case EVENT_TYPE_LIST:
        *(struct event_items *)value =
            draw_items(drawer, field->width, is_named(field, "messages") && field->width == 2);
        break;
    }
}

static void draw_event(struct drawer *drawer) {
    const unsigned kind =
        EVENT_BOOT + (unsigned)prng_below(drawer->prng, EVENT_FORMAT_SET - EVENT_BOOT + 1);
    const struct event_layout *layout = event_layout(kind);
    struct event event = {.kind = (enum event_kind)kind};
    const bool is_drop = kind == EVENT_QUEUE_DROP || kind == EVENT_GROUP_DROP;
    if (is_drop && prng_chance(drawer->prng, 90000))
        return;
    draw_target(drawer);
    for (unsigned i = 0; i < layout->field_count; i++)
        draw_value(drawer, &layout->fields[i], (uint8_t *)&event + layout->fields[i].at);
    draft_add(drawer->draft, &event);
}

/* Otherwise a frame of several would hardly ever be whole. */
static void draw_sound_event(struct drawer *drawer) {
    struct event event = {.kind = EVENT_ENQUEUE};
    draw_target(drawer);
    if (drawer->queue == NULL || drawer->queue->next_seq > 1 << 26)
        return;
    event.enqueue.queue = drawer->queue->number;
    event.enqueue.seq = drawer->queue->next_seq + prng_below(drawer->prng, 3);
    event.enqueue.due_us = prng_below(drawer->prng, 2) * draw_number(drawer->prng, 5000);
    draft_add(drawer->draft, &event);
}

/* A queue and a group of it, or what could pass for that. */
static void draw_sound_queue(struct drawer *drawer) {
    struct event event = {.kind = EVENT_QUEUE_SET};
    struct event group = {.kind = EVENT_GROUP_SET};
    char text[8];
    (void)snprintf(text, sizeof text, "n%u", (unsigned)prng_below(drawer->prng, 20));
    const struct event_bytes name = {(const uint8_t *)text, strlen(text)};
    event.queue_set.queue = drawer->state->queue_count + prng_below(drawer->prng, 3);
    event.queue_set.name = name;
    group.group_set.queue = event.queue_set.queue;
    group.group_set.group = drawer->state->group_count + prng_below(drawer->prng, 3);
    group.group_set.start = prng_below(drawer->prng, 3);
    group.group_set.name = name;
    draft_add(drawer->draft, &event);
    draft_add(drawer->draft, &group);
}

struct state_frame nonsense_frame(struct prng *prng, struct draft *draft,
                                  const struct state *state) {
    struct drawer drawer = {.prng = prng, .draft = draft, .state = state};
    draft_begin(draft, state->applied_lsn, state->time_us + prng_below(prng, 100000));
    for (uint64_t events = 1 + prng_below(prng, 5); events > 0; events--) {
        switch (prng_below(prng, 5)) {
        case 0: draw_sound_event(&drawer); break;
        case 1:
            if (prng_chance(prng, 10000))
                draw_sound_queue(&drawer);
            break;
        default: draw_event(&drawer); break;
        }
    }
    return draft_frame(draft);
}

void nonsense_damage(struct prng *prng, uint8_t *bytes, size_t size) {
    for (uint64_t flips = 1 + prng_below(prng, 3); flips > 0 && size > 0; flips--)
        bytes[prng_below(prng, size)] ^= (uint8_t)(1U << prng_below(prng, 8));
}

#include "dump.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- The text ---- */

static void __attribute__((format(printf, 2, 3)))
dump_add(struct dump *dump, const char *format, ...) {
    enum { LINE = 1024 };
    if (dump->capacity - dump->bytes < LINE) {
        dump->capacity = dump->capacity * 2 + LINE;
        dump->text = realloc(dump->text, dump->capacity);
        if (dump->text == NULL)
            abort();
    }
    va_list arguments;
    va_start(arguments, format);
    const int bytes = vsnprintf(dump->text + dump->bytes, LINE, format, arguments);
    va_end(arguments);
    dump->bytes += (size_t)bytes;
}

/* Numbers by hand: they are nearly all there is, and printf() takes its time. */
static void dump_numbers(struct dump *dump, const char *name, const uint64_t *numbers,
                         unsigned count) {
    dump_add(dump, "%s", name);
    for (unsigned i = 0; i < count; i++) {
        char digits[24];
        unsigned at = sizeof digits;
        uint64_t rest = numbers[i];
        do
            digits[--at] = (char)('0' + rest % 10);
        while ((rest /= 10) != 0);
        digits[--at] = ' ';
        memcpy(dump->text + dump->bytes, &digits[at], sizeof digits - at);
        dump->bytes += sizeof digits - at;
    }
    dump->text[dump->bytes++] = '\n';
}

static void dump_policy(struct dump *dump, const struct policy *policy) {
    uint64_t values[SETTING_LIMIT];
    for (unsigned i = 0; i < SETTING_LIMIT; i++)
        values[i] = (uint64_t)policy->values[i];
    dump_numbers(dump, " policy", values, SETTING_LIMIT);
}

static void dump_set(struct dump *dump, unsigned end, const struct seqset *set) {
    dump_add(dump, "  ended %u:", end);
    for (uint64_t from = seqset_next(set, 0); from != SEQSET_NONE;) {
        const uint64_t to = seqset_next_absent(set, from);
        dump_add(dump, " %" PRIu64 "-%" PRIu64, from, to - 1);
        from = seqset_next(set, to);
    }
    dump_add(dump, "\n");
}

struct collection {
    struct entry **entries;
    size_t count;
};

static void collect(void *context, struct entry *entry) {
    struct collection *collection = context;
    collection->entries[collection->count++] = entry;
}

static int by_seq(const void *one, const void *other) {
    const struct entry *const *a = one, *const *b = other;
    return (*a)->seq < (*b)->seq ? -1 : (*a)->seq > (*b)->seq;
}

static void dump_entry(struct dump *dump, const struct entry *entry) {
    const uint64_t numbers[] = {
        entry->seq,      entry->state,      entry->priority, entry->flags,
        entry->when_ms,  entry->slot,       entry->releases, entry->fence,
        entry->delay_ms, entry->deliveries, entry->attempts, entry->failure_lsn,
    };
    dump_numbers(dump, "  entry", numbers, sizeof numbers / sizeof numbers[0]);
}

static void dump_entries(struct dump *dump, struct entries *entries) {
    struct collection all = {malloc((entries->count + 1) * sizeof(struct entry *)), 0};
    if (all.entries == NULL)
        abort();
    entries_each(entries, collect, &all);
    qsort(all.entries, all.count, sizeof(struct entry *), by_seq);
    for (size_t i = 0; i < all.count; i++)
        dump_entry(dump, all.entries[i]);
    free(all.entries);
}

static void dump_group(struct dump *dump, struct group *group) {
    dump_add(dump, " group %u of %u '%s' paused %d '%s' start %" PRIu64 " floor %" PRIu64,
             group->number, group->queue, group->name, group->is_paused, group->why, group->start,
             group->floor);
    dump_add(dump,
             " kept from %" PRIu64 " redelivered %" PRIu64 " recovered %" PRIu64 " pending %u\n",
             group->kept_from, group->redelivered, group->recovered, group->pending);
    dump_policy(dump, &group->policy);
    for (unsigned i = 0; i < GROUP_PRIORITIES; i++)
        dump_add(dump, " %" PRIu64, group->positions[i]);
    for (unsigned i = 0; i < ENTRY_STATES; i++)
        dump_add(dump, " state %u: %u", i, group->state_count[i]);
    for (unsigned i = 0; i < GROUP_ENDS; i++) {
        dump_add(dump, "\n  ended %" PRIu64 "\n", group->ended_count[i]);
        dump_set(dump, i, &group->ended[i]);
    }
    dump_entries(dump, &group->entries);
}

static void dump_queue(struct dump *dump, const struct queue *queue) {
    dump_add(dump,
             "queue %u '%s' paused %d '%s' next %" PRIu64 " limit %" PRIu64 " enqueued %" PRIu64
             " pending %" PRIu64 "\n",
             queue->number, queue->name, queue->is_paused, queue->why, queue->next_seq,
             queue->seq_limit, queue->enqueued, queue->pending_seq);
    dump_policy(dump, &queue->policy);
    for (struct group *group = queue->groups; group != NULL; group = group->next)
        dump_group(dump, group);
}

void dump_state(struct dump *dump, const struct state *state) {
    dump->bytes = 0;
    dump_add(dump,
             "lsn %" PRIu64 " time %" PRIu64 " epoch %" PRIu64 " fence %" PRIu64 " format %" PRIu64
             " nonsense %" PRIu64 " queues %u named %u groups %u boot ",
             state->applied_lsn, state->time_us, state->epoch, state->next_fence, state->format,
             state->nonsense, state->queue_count, state->name_count, state->group_count);
    for (size_t i = 0; i < sizeof state->boot_id; i++)
        dump_add(dump, "%02x", state->boot_id[i]);
    for (unsigned i = 0; i <= SHARED_SLOTS; i++) {
        const struct session *session = i == 0 ? NULL : &state->sessions[i - 1];
        if (state->leases[i] != 0)
            dump_add(dump, "\nslot %u leases %u", i, state->leases[i]);
        if (session != NULL && session->lsn != 0)
            dump_add(dump, "\nsession %u: %" PRIu64 " %u '%s' '%s' '%s'", i, session->lsn,
                     session->pid, session->host, session->command, session->version);
    }
    dump_add(dump, "\n");
    for (uint32_t i = 0; i < state->queue_count; i++) {
        if (state->queues[i] != NULL)
            dump_queue(dump, state->queues[i]);
    }
    for (uint32_t i = 0; i < state->name_count; i++)
        dump_add(dump, "named %s %u\n", state->by_name[i]->name, state->by_name[i]->number);
}

bool dump_is_same(const struct dump *one, const struct dump *other) {
    return one->bytes == other->bytes && memcmp(one->text, other->text, one->bytes) == 0;
}

void dump_free(struct dump *dump) {
    free(dump->text);
    *dump = (struct dump){0};
}

/* ---- The audit ---- */

struct count {
    struct group *group;
    char *complaint;
    uint32_t states[ENTRY_STATES];
    uint32_t leases[SHARED_SLOTS + 1];
    uint64_t above_floor;
    const struct entry *first_ready, *first_timer;
    uint64_t newest;
};

#define COMPLAIN(complaint, ...) (void)snprintf(complaint, COMPLAINT_BYTES, __VA_ARGS__)

static bool goes_before(const struct entry *one, const struct entry *other) {
    if (other == NULL)
        return true;
    if (one->state == ENTRY_READY && one->priority != other->priority)
        return one->priority > other->priority;
    if (one->state != ENTRY_READY && one->when_ms != other->when_ms)
        return one->when_ms < other->when_ms;
    return one->seq < other->seq;
}

static void count_entry(void *context, struct entry *entry) {
    struct count *count = context;
    count->states[entry->state]++;
    count->above_floor += entry->seq >= count->group->floor;
    if (entry->state == ENTRY_LEASED)
        count->leases[entry->slot]++;
    if (entry->seq > count->newest)
        count->newest = entry->seq;
    if (entry->state == ENTRY_READY && goes_before(entry, count->first_ready))
        count->first_ready = entry;
    if (entry->state != ENTRY_READY && entry->state != ENTRY_DEAD &&
        goes_before(entry, count->first_timer))
        count->first_timer = entry;
    if (group_end_of(count->group, entry->seq) != GROUP_ENDS)
        COMPLAIN(count->complaint, "G1: %" PRIu64 " is settled and has an entry",
                 (uint64_t)entry->seq);
    if (entry->state == ENTRY_DEAD && entry->seq == count->group->floor)
        COMPLAIN(count->complaint, "G2: a dead one holds the floor back");
}

static bool audit_sets(const struct queue *queue, const struct group *group, char *complaint,
                       uint64_t *ret_above_floor) {
    uint64_t above = 0;
    for (unsigned end = 0; end < GROUP_ENDS; end++) {
        const struct seqset *set = &group->ended[end];
        uint64_t from = seqset_next(set, 0), count = 0;
        above += set->count - seqset_count_below(set, group->floor);
        while (from != SEQSET_NONE) {
            const uint64_t to = seqset_next_absent(set, from);
            for (unsigned other = end + 1; other < GROUP_ENDS; other++) {
                if (seqset_next(&group->ended[other], from) < to)
                    COMPLAIN(complaint, "G1: two sets have %" PRIu64 " or later", from);
            }
            if (to > queue->next_seq)
                COMPLAIN(complaint, "G3: what is settled was never enqueued");
            if (group->floor >= from && group->floor < to)
                COMPLAIN(complaint, "G2: the floor is settled");
            count += to - from;
            from = seqset_next(set, to);
        }
        if (count != set->count)
            COMPLAIN(complaint, "a set's count is wrong");
    }
    *ret_above_floor = above;
    return complaint[0] == '\0';
}

/* S2: what is neither settled nor has an entry is backlog, and lies above the floor. */
static bool audit_sum(const struct queue *queue, const struct group *group,
                      const struct count *count, uint64_t settled_above) {
    uint64_t sum = queue->next_seq - group->floor - settled_above - count->above_floor;
    for (unsigned end = 0; end < GROUP_NEVER; end++)
        sum += group->ended_count[end];
    for (unsigned state = 0; state < ENTRY_STATES; state++)
        sum += count->states[state];
    return sum == queue->enqueued;
}

static bool audit_group(const struct queue *queue, struct group *group, uint32_t *leases,
                        char *complaint) {
    uint64_t settled_above = 0;
    struct count count = {.group = group, .complaint = complaint};
    entries_each(&group->entries, count_entry, &count);
    for (unsigned slot = 0; slot <= SHARED_SLOTS; slot++)
        leases[slot] += count.leases[slot];
    if (memcmp(count.states, group->state_count, sizeof count.states) != 0)
        COMPLAIN(complaint, "G3: states of group %u are counted wrong", group->number);
    if (count.newest >= queue->next_seq && count.newest > 0)
        COMPLAIN(complaint, "%" PRIu64 " is under way and was never enqueued", count.newest);
    if (entries_first_ready(&group->entries) != count.first_ready ||
        entries_first_timer(&group->entries) != count.first_timer)
        COMPLAIN(complaint, "N2: the entries of group %u are in no order", group->number);
    if (group->floor > queue->next_seq || group->kept_from > group->floor)
        COMPLAIN(complaint, "the floor of group %u is nowhere", group->number);
    if (group->queue != queue->number || group->pending != 0)
        COMPLAIN(complaint, "group %u is reserved for, or of another queue", group->number);
    if (!audit_sets(queue, group, complaint, &settled_above))
        return false;
    if (!audit_sum(queue, group, &count, settled_above))
        COMPLAIN(complaint, "S2 does not hold in group %u", group->number);
    return complaint[0] == '\0';
}

bool audit_state(const struct state *state, char *ret_complaint) {
    uint32_t leases[SHARED_SLOTS + 1] = {0};
    ret_complaint[0] = '\0';
    uint32_t named = 0;
    for (uint32_t i = 0; i < state->queue_count; i++) {
        const struct queue *queue = state->queues[i];
        if (queue == NULL)
            continue;
        named++;
        if (state_queue_named(state, queue->name) != queue || queue->pending_seq != 0)
            COMPLAIN(ret_complaint, "queue %u is not found by its name", queue->number);
        for (struct group *group = queue->groups; group != NULL; group = group->next) {
            if (!audit_group(queue, group, leases, ret_complaint))
                return false;
            if (group->next != NULL && group->next->number <= group->number)
                COMPLAIN(ret_complaint, "groups of queue %u do not ascend", queue->number);
        }
    }
    if (memcmp(leases, state->leases, sizeof leases) != 0)
        COMPLAIN(ret_complaint, "G3: leases are counted wrong");
    if (named != state->name_count || state->spare_groups != NULL || state->spare_queues != NULL ||
        state->reserved_groups != NULL || state->reserved_queues != NULL)
        COMPLAIN(ret_complaint, "something is left of a frame, or of a name");
    return ret_complaint[0] == '\0';
}

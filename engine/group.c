#include "group.h"

/* A time of 48 bits reaches to the year 10889; what is later is then. */
#define WHEN_MAX ((UINT64_C(1) << 48) - 1)

/* A delay that is no shorter than an entry can tell. */
#define DELAY_MAX UINT32_MAX

enum { SKIPPED_AT_ONCE = 64 };

static uint64_t when_of(uint64_t ms) {
    return ms < WHEN_MAX ? ms : WHEN_MAX;
}

void group_init(struct group *group, struct os *os, uint32_t *leases) {
    *group = (struct group){.entries = {.os = os}, .leases = leases};
    for (unsigned i = 0; i < GROUP_ENDS; i++)
        group->ended[i].os = os;
    policy_init_override(&group->policy);
}

void group_deinit(struct group *group) {
    for (unsigned i = 0; i < GROUP_ENDS; i++)
        seqset_deinit(&group->ended[i]);
    entries_deinit(&group->entries);
}

enum group_end group_end_of(const struct group *group, uint64_t seq) {
    unsigned end = 0;
    while (end < GROUP_ENDS && !seqset_has(&group->ended[end], seq))
        end++;
    return (enum group_end)end;
}

bool group_has_ended(const struct group *group, uint64_t seq) {
    if (entries_find(&group->entries, seq) != NULL)
        return false;
    return seq < group->floor || group_end_of(group, seq) != GROUP_ENDS;
}

static void lower_offset(void *context, struct entry *entry) {
    uint64_t *offset = context;
    if (entry->state != ENTRY_DEAD && entry->seq < *offset)
        *offset = entry->seq;
}

uint64_t group_offset(struct group *group) {
    uint64_t offset = group->floor;
    entries_each(&group->entries, lower_offset, &offset);
    return offset;
}

/* ---- Entries ---- */

/* Takes the entry out of the counts. */
static void group_forget(struct group *group, struct entry *entry) {
    group->state_count[entry->state]--;
    if (entry->state == ENTRY_LEASED)
        group->leases[entry->slot]--;
    entry->slot = 0;
}

static void group_become(struct group *group, struct entry *entry, enum entry_state state,
                         uint64_t when_ms) {
    group_forget(group, entry);
    group->state_count[state]++;
    entry->state = state & 0xf;
    entry->when_ms = when_of(when_ms) & WHEN_MAX;
    if (state != ENTRY_WAITING && state != ENTRY_DELAYED)
        entry->delay_ms = 0;
    entries_place(&group->entries, entry);
}

/* The entry of a message, which may be backlog until now. */
static struct entry *group_touch(struct group *group, uint64_t seq, uint64_t traits) {
    struct entry *entry = entries_find(&group->entries, seq);
    if (entry != NULL)
        return entry;
    entry = entries_add(&group->entries, seq);
    entry->priority = traits & EVENT_TRAIT_PRIORITY;
    entry->flags = (traits & EVENT_TRAIT_KEYED) != 0 ? ENTRY_KEYED : 0;
    entry->state = ENTRY_READY;
    group->state_count[ENTRY_READY]++;
    return entry;
}

static void group_drop_entry(struct group *group, struct entry *entry) {
    group_forget(group, entry);
    entries_remove(&group->entries, entry);
}

/* The first seq from `from` on that is neither settled nor dead. */
static uint64_t group_next_alive(const struct group *group, uint64_t from) {
    uint64_t before;
    do {
        before = from;
        for (unsigned end = 0; end < GROUP_ENDS; end++)
            from = seqset_next_absent(&group->ended[end], from);
        const struct entry *entry = entries_find(&group->entries, from);
        if (entry != NULL && entry->state == ENTRY_DEAD)
            from++;
    } while (from != before);
    return from;
}

/* Moves the floor on over what is settled or dead, and forgets how messages below it ended. */
static void group_advance(struct group *group) {
    group->floor = group_next_alive(group, group->floor);
    if (group->floor / SEQSET_PAGE_NUMBERS == group->kept_from / SEQSET_PAGE_NUMBERS)
        return;
    group->kept_from = group->floor / SEQSET_PAGE_NUMBERS * SEQSET_PAGE_NUMBERS;
    for (unsigned end = 0; end < GROUP_ENDS; end++)
        seqset_trim(&group->ended[end], group->floor);
}

/* ---- Outcomes ---- */

static bool traits_are_sound(uint64_t traits) {
    return (traits & EVENT_TRAIT_PRIORITY) < GROUP_PRIORITIES;
}

bool group_deliver(struct group *group, const struct group_delivery *delivery) {
    if (delivery->attempt == 0 || !traits_are_sound(delivery->traits) ||
        group_has_ended(group, delivery->seq))
        return false;
    struct entry *entry = group_touch(group, delivery->seq, delivery->traits);
    if (entry->state == ENTRY_LEASED || entry->state == ENTRY_DEAD)
        return false;
    entry->fence = delivery->fence;
    entry->deliveries = delivery->delivery;
    entry->attempts = delivery->attempt - 1;
    group->redelivered += delivery->delivery > 1;
    group_become(group, entry, ENTRY_LEASED, delivery->until_ms);
    entry->slot = delivery->slot & 0xff;
    group->leases[entry->slot]++;
    return true;
}

bool group_extend(struct group *group, uint64_t seq, uint64_t until_ms) {
    struct entry *entry = entries_find(&group->entries, seq);
    if (entry == NULL || entry->state != ENTRY_LEASED)
        return false;
    entry->when_ms = when_of(until_ms) & WHEN_MAX;
    entries_place(&group->entries, entry);
    return true;
}

/* Due later, or at once. */
static void group_put_back(struct group *group, struct entry *entry, uint64_t due_ms,
                           uint32_t delay_ms) {
    group_become(group, entry, due_ms == 0 ? ENTRY_READY : ENTRY_WAITING, due_ms);
    if (due_ms != 0)
        entry->delay_ms = delay_ms;
}

bool group_holds(const struct group *group, uint64_t seq, uint64_t fence) {
    const struct entry *entry = entries_find(&group->entries, seq);
    return entry != NULL && entry->fence == fence && fence != 0;
}

bool group_retry(struct group *group, uint64_t seq, uint32_t attempts, uint64_t due_ms,
                 uint32_t delay_ms, uint64_t failure_lsn, bool is_settled) {
    struct entry *entry = entries_find(&group->entries, seq);
    if (entry == NULL || entry->state != ENTRY_LEASED)
        return false;
    entry->attempts = attempts;
    entry->failure_lsn = failure_lsn;
    entry->releases = 0;
    if (is_settled)
        entry->fence = 0;
    group_put_back(group, entry, due_ms, delay_ms);
    return true;
}

bool group_release(struct group *group, uint64_t seq, uint64_t due_ms, uint32_t delay_ms,
                   bool is_suspect) {
    struct entry *entry = entries_find(&group->entries, seq);
    if (entry == NULL || entry->state != ENTRY_LEASED)
        return false;
    if (is_suspect)
        entry->flags |= ENTRY_SUSPECT;
    else
        entry->fence = 0;
    if (entry->releases < UINT8_MAX)
        entry->releases++;
    group_put_back(group, entry, due_ms, delay_ms);
    return true;
}

bool group_delay(struct group *group, uint64_t seq, uint64_t traits, uint64_t due_ms,
                 uint32_t delay_ms) {
    if (!traits_are_sound(traits) || group_has_ended(group, seq))
        return false;
    struct entry *entry = group_touch(group, seq, traits);
    if (entry->state == ENTRY_LEASED || entry->state == ENTRY_DEAD)
        return false;
    const bool is_fresh = entry->deliveries == 0;
    const enum entry_state later = is_fresh ? ENTRY_DELAYED : ENTRY_WAITING;
    group_become(group, entry, due_ms == 0 ? ENTRY_READY : later, due_ms);
    if (due_ms != 0)
        entry->delay_ms = delay_ms;
    return true;
}

bool group_bury(struct group *group, uint64_t seq, uint64_t traits, uint32_t attempts,
                uint64_t died_ms, uint64_t failure_lsn) {
    if (!traits_are_sound(traits) || group_has_ended(group, seq))
        return false;
    struct entry *entry = group_touch(group, seq, traits);
    if (entry->state == ENTRY_DEAD)
        return false;
    entry->attempts = attempts;
    entry->failure_lsn = failure_lsn;
    entry->fence = 0;
    group_become(group, entry, ENTRY_DEAD, died_ms);
    group_advance(group);
    return true;
}

bool group_redrive(struct group *group, uint64_t seq) {
    struct entry *entry = entries_find(&group->entries, seq);
    if (entry == NULL || entry->state != ENTRY_DEAD)
        return false;
    entry->attempts = 0;
    entry->releases = 0;
    entry->flags = (entry->flags | ENTRY_REDRIVEN) & ~(unsigned)ENTRY_SUSPECT & 0xff;
    group_become(group, entry, ENTRY_READY, 0);
    return true;
}

/* Those without an entry of [first, last) are backlog, and end. */
static void group_end_backlog(struct group *group, uint64_t first, uint64_t last,
                              enum group_end end, uint64_t record_from) {
    group->ended_count[end] += last - first;
    if (first < record_from)
        first = record_from;
    if (first < last)
        (void)seqset_add(&group->ended[end], first, last - first);
}

static bool group_end_entry(struct group *group, struct entry *entry, enum group_end end,
                            uint64_t record_from) {
    const uint64_t seq = entry->seq;
    if ((entry->state == ENTRY_DEAD) != (end == GROUP_PURGED))
        return false;
    group->recovered += end == GROUP_ACKED && (entry->flags & ENTRY_REDRIVEN) != 0;
    group_drop_entry(group, entry);
    group_end_backlog(group, seq, seq + 1, end, record_from);
    return true;
}

/* The first seq from `from` on that is settled by a set, or `last`. */
static uint64_t group_next_ended(const struct group *group, uint64_t from, uint64_t last) {
    for (unsigned end = 0; end < GROUP_ENDS; end++) {
        const uint64_t next = seqset_next(&group->ended[end], from);
        last = next < last ? next : last;
    }
    return last;
}

/* The end of the run from `from` on, below `last`, that is all settled, or all backlog. */
static uint64_t group_run_end(const struct group *group, uint64_t from, uint64_t last,
                              bool *ret_is_backlog) {
    *ret_is_backlog = false;
    uint64_t settled = group->floor;
    for (unsigned end = 0; end < GROUP_ENDS && settled <= from; end++)
        settled = seqset_next_absent(&group->ended[end], from);
    if (settled <= from) {
        *ret_is_backlog = true;
        settled = group_next_ended(group, from, last);
    }
    last = settled < last ? settled : last;
    if (group->entries.count == 0)
        return last;
    uint64_t seq = from + 1;
    while (seq < last && entries_find(&group->entries, seq) == NULL)
        seq++;
    return seq;
}

/* How a message below `record_from` ended is not kept. */
static uint64_t group_settle_from(struct group *group, uint64_t first, uint64_t last,
                                  enum group_end end, uint64_t record_from) {
    uint64_t settled = 0;
    for (uint64_t seq = first; seq < last;) {
        bool is_backlog;
        struct entry *entry = entries_find(&group->entries, seq);
        if (entry != NULL) {
            settled += group_end_entry(group, entry, end, record_from);
            seq++;
            continue;
        }
        const uint64_t run_end = group_run_end(group, seq, last, &is_backlog);
        if (is_backlog && end != GROUP_PURGED) {
            group_end_backlog(group, seq, run_end, end, record_from);
            settled += run_end - seq;
        }
        seq = run_end;
    }
    return settled;
}

uint64_t group_settle(struct group *group, uint64_t first, uint64_t count, enum group_end end) {
    const uint64_t settled = group_settle_from(group, first, first + count, end, group->kept_from);
    group_advance(group);
    return settled;
}

void group_gap(struct group *group, uint64_t first, uint64_t count) {
    group_end_backlog(group, first, first + count, GROUP_NEVER, group->kept_from);
    group_advance(group);
}

/* Those that are alive below `to`. */
struct below {
    uint64_t to;
    uint64_t seqs[SKIPPED_AT_ONCE];
    unsigned count;
};

static void below_add(void *context, struct entry *entry) {
    struct below *below = context;
    if (entry->state != ENTRY_DEAD && entry->seq < below->to && below->count < SKIPPED_AT_ONCE)
        below->seqs[below->count++] = entry->seq;
}

/* What was redriven is alive below the floor too. */
static void group_skip_below_floor(struct group *group, uint64_t to) {
    struct below below;
    do {
        below = (struct below){.to = to < group->floor ? to : group->floor};
        entries_each(&group->entries, below_add, &below);
        for (unsigned i = 0; i < below.count; i++)
            (void)group_settle_from(group, below.seqs[i], below.seqs[i] + 1, GROUP_SKIPPED,
                                    group->kept_from);
    } while (below.count == SKIPPED_AT_ONCE);
}

uint64_t group_skip_kept_from(const struct group *group, uint64_t to) {
    const uint64_t page = to / SEQSET_PAGE_NUMBERS * SEQSET_PAGE_NUMBERS;
    return page > group->kept_from ? page : group->kept_from;
}

void group_skip_to(struct group *group, uint64_t to) {
    group_skip_below_floor(group, to);
    if (to > group->floor) {
        (void)group_settle_from(group, group->floor, to, GROUP_SKIPPED,
                                group_skip_kept_from(group, to));
        group->floor = to;
        group_advance(group);
    }
    for (unsigned priority = 0; priority < GROUP_PRIORITIES; priority++) {
        if (group->positions[priority] < to)
            group->positions[priority] = to;
    }
}

bool group_read_on(struct group *group, uint64_t priority, uint64_t position) {
    if (priority >= GROUP_PRIORITIES || position < group->positions[priority])
        return false;
    group->positions[priority] = position;
    return true;
}

struct rebase {
    struct group *group;
    uint64_t now_ms;
};

/* A delay too long to be told is not known here, and what it delays stays where it is. */
static void rebase_entry(void *context, struct entry *entry) {
    const struct rebase *rebase = context;
    const uint64_t latest = when_of(rebase->now_ms + entry->delay_ms);
    if ((entry->state != ENTRY_WAITING && entry->state != ENTRY_DELAYED) ||
        entry->delay_ms == DELAY_MAX || entry->when_ms <= latest)
        return;
    entry->when_ms = latest & WHEN_MAX;
    entries_place(&rebase->group->entries, entry);
}

void group_rebase(struct group *group, uint64_t now_ms) {
    struct rebase rebase = {group, now_ms};
    entries_each(&group->entries, rebase_entry, &rebase);
}

static void end_lease(void *context, struct entry *entry) {
    const struct group *group = context;
    if (entry->state == ENTRY_LEASED)
        group->leases[entry->slot]--;
}

void group_end_leases(struct group *group) {
    entries_each(&group->entries, end_lease, group);
}

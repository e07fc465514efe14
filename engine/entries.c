#include "entries.h"

#include "check.h"

#include <string.h>

enum {
    CHUNK_ENTRIES = 64,
    CHUNKS_FIRST = 4,
    SLOTS_FIRST = 16,
    HEAP_FIRST = 16,
    HEAP_NOWHERE = UINT32_MAX >> 1,
    ENTRIES_MAX = 1 << 30,
};

STATIC_CHECK(sizeof(struct entry) == 48, "an entry is as small as is promised");

static struct entry *entry_at(const struct entries *entries, uint32_t id) {
    return &entries->chunks[(id - 1) / CHUNK_ENTRIES][(id - 1) % CHUNK_ENTRIES];
}

void entries_deinit(struct entries *entries) {
    for (uint32_t i = 0; i < entries->chunk_count; i++)
        os_release(entries->os, entries->chunks[i], CHUNK_ENTRIES * sizeof(struct entry));
    os_release(entries->os, entries->chunks, entries->chunk_capacity * sizeof *entries->chunks);
    os_release(entries->os, entries->slots, entries->slot_count * sizeof *entries->slots);
    os_release(entries->os, entries->heap, entries->heap_capacity * sizeof *entries->heap);
    *entries = (struct entries){.os = entries->os};
}

/* ---- By seq ---- */

static uint32_t slot_of(uint64_t seq, uint32_t slot_count) {
    return (uint32_t)(seq * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (slot_count - 1);
}

/* Where the id of `seq` is, or where it would have to be. */
static uint32_t slot_find(const struct entries *entries, uint64_t seq) {
    uint32_t slot = slot_of(seq, entries->slot_count);
    while (entries->slots[slot] != 0 && entry_at(entries, entries->slots[slot])->seq != seq)
        slot = (slot + 1) & (entries->slot_count - 1);
    return slot;
}

/* Empties a slot and moves those behind it up, so that no search ends too early. */
static void slot_clear(struct entries *entries, uint32_t slot) {
    const uint32_t mask = entries->slot_count - 1;
    uint32_t hole = slot;
    for (uint32_t at = (slot + 1) & mask; entries->slots[at] != 0; at = (at + 1) & mask) {
        const uint32_t home =
            slot_of(entry_at(entries, entries->slots[at])->seq, entries->slot_count);
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            entries->slots[hole] = entries->slots[at];
            hole = at;
        }
    }
    entries->slots[hole] = 0;
}

struct entry *entries_find(const struct entries *entries, uint64_t seq) {
    if (entries->count == 0)
        return NULL;
    const uint32_t id = entries->slots[slot_find(entries, seq)];
    return id == 0 ? NULL : entry_at(entries, id);
}

/* ---- The two orders ---- */

struct heap {
    struct entries *entries;
    bool is_ready; /* else the timers */
};

static uint32_t *heap_cell(const struct heap *heap, uint32_t at) {
    struct entries *entries = heap->entries;
    return heap->is_ready ? &entries->heap[entries->heap_capacity - 1 - at] : &entries->heap[at];
}

static uint32_t *heap_count(const struct heap *heap) {
    return heap->is_ready ? &heap->entries->ready_count : &heap->entries->timer_count;
}

static bool entry_goes_before(const struct heap *heap, const struct entry *one,
                              const struct entry *other) {
    if (heap->is_ready && one->priority != other->priority)
        return one->priority > other->priority;
    if (!heap->is_ready && one->when_ms != other->when_ms)
        return one->when_ms < other->when_ms;
    return one->seq < other->seq;
}

/* heap_at holds the place and, in its top bit, which of the two it is. */
static void heap_put(const struct heap *heap, uint32_t at, uint32_t id) {
    *heap_cell(heap, at) = id;
    entry_at(heap->entries, id)->heap_at = at | (heap->is_ready ? 1U << 31 : 0);
}

static void heap_rise(const struct heap *heap, uint32_t at, uint32_t id) {
    const struct entry *entry = entry_at(heap->entries, id);
    while (at > 0) {
        const uint32_t above = (at - 1) / 2;
        const uint32_t other = *heap_cell(heap, above);
        if (!entry_goes_before(heap, entry, entry_at(heap->entries, other)))
            break;
        heap_put(heap, at, other);
        at = above;
    }
    heap_put(heap, at, id);
}

static void heap_sink(const struct heap *heap, uint32_t at, uint32_t id) {
    const uint32_t count = *heap_count(heap);
    const struct entry *entry = entry_at(heap->entries, id);
    for (uint32_t below = 2 * at + 1; below < count; below = 2 * at + 1) {
        if (below + 1 < count &&
            entry_goes_before(heap, entry_at(heap->entries, *heap_cell(heap, below + 1)),
                              entry_at(heap->entries, *heap_cell(heap, below))))
            below++;
        const uint32_t other = *heap_cell(heap, below);
        if (!entry_goes_before(heap, entry_at(heap->entries, other), entry))
            break;
        heap_put(heap, at, other);
        at = below;
    }
    heap_put(heap, at, id);
}

/* Takes the entry out of the order it is in. */
static void heap_leave(struct entries *entries, struct entry *entry) {
    if (entry->heap_at == HEAP_NOWHERE)
        return;
    const struct heap heap = {entries, (entry->heap_at & 1U << 31) != 0};
    const uint32_t at = entry->heap_at & ~(1U << 31);
    entry->heap_at = HEAP_NOWHERE;
    const uint32_t last = *heap_cell(&heap, --*heap_count(&heap));
    if (at == *heap_count(&heap))
        return;
    const uint32_t above = at == 0 ? 0 : (at - 1) / 2;
    if (at > 0 && entry_goes_before(&heap, entry_at(entries, last),
                                    entry_at(entries, *heap_cell(&heap, above))))
        heap_rise(&heap, at, last);
    else
        heap_sink(&heap, at, last);
}

void entries_place(struct entries *entries, struct entry *entry) {
    const struct heap heap = {entries, entry->state == ENTRY_READY};
    heap_leave(entries, entry);
    if (entry->state != ENTRY_DEAD)
        heap_rise(&heap, (*heap_count(&heap))++, entries->slots[slot_find(entries, entry->seq)]);
}

struct entry *entries_first_ready(const struct entries *entries) {
    return entries->ready_count == 0 ? NULL
                                     : entry_at(entries, entries->heap[entries->heap_capacity - 1]);
}

struct entry *entries_first_timer(const struct entries *entries) {
    return entries->timer_count == 0 ? NULL : entry_at(entries, entries->heap[0]);
}

/* ---- Room ---- */

static void *room_for(struct entries *entries, size_t bytes) {
    return os_allocate(entries->os, bytes);
}

static bool slots_grow(struct entries *entries, uint32_t slot_count) {
    uint32_t *slots = room_for(entries, slot_count * sizeof *slots);
    if (slots == NULL)
        return false;
    memset(slots, 0, slot_count * sizeof *slots);
    for (uint32_t i = 0; i < entries->slot_count; i++) {
        const uint32_t id = entries->slots[i];
        if (id == 0)
            continue;
        uint32_t slot = slot_of(entry_at(entries, id)->seq, slot_count);
        while (slots[slot] != 0)
            slot = (slot + 1) & (slot_count - 1);
        slots[slot] = id;
    }
    os_release(entries->os, entries->slots, entries->slot_count * sizeof *slots);
    entries->slots = slots;
    entries->slot_count = slot_count;
    return true;
}

static bool heap_grow(struct entries *entries, uint32_t capacity) {
    uint32_t *heap = room_for(entries, capacity * sizeof *heap);
    if (heap == NULL)
        return false;
    if (entries->heap_capacity > 0) {
        memcpy(heap, entries->heap, entries->timer_count * sizeof *heap);
        memcpy(&heap[capacity - entries->ready_count],
               &entries->heap[entries->heap_capacity - entries->ready_count],
               entries->ready_count * sizeof *heap);
    }
    os_release(entries->os, entries->heap, entries->heap_capacity * sizeof *heap);
    entries->heap = heap;
    entries->heap_capacity = capacity;
    return true;
}

static bool chunk_add(struct entries *entries) {
    if (entries->chunk_count == entries->chunk_capacity) {
        const uint32_t capacity =
            entries->chunk_capacity == 0 ? CHUNKS_FIRST : entries->chunk_capacity * 2;
        struct entry **chunks = room_for(entries, capacity * sizeof(struct entry *));
        if (chunks == NULL)
            return false;
        if (entries->chunk_count > 0)
            memcpy(chunks, entries->chunks, entries->chunk_count * sizeof(struct entry *));
        os_release(entries->os, entries->chunks, entries->chunk_capacity * sizeof(struct entry *));
        entries->chunks = chunks;
        entries->chunk_capacity = capacity;
    }
    struct entry *chunk = room_for(entries, CHUNK_ENTRIES * sizeof *chunk);
    if (chunk == NULL)
        return false;
    entries->chunks[entries->chunk_count++] = chunk;
    return true;
}

/* The next size from `have` on, by halves, that holds `need`. */
static uint32_t grown(uint32_t have, uint32_t least, uint32_t need) {
    uint32_t size = have == 0 ? least : have;
    while (size < need)
        size += size / 2;
    return size;
}

static bool room_make(struct entries *entries, uint32_t need) {
    uint32_t slot_count = entries->slot_count == 0 ? SLOTS_FIRST : entries->slot_count;
    while (slot_count - slot_count / 8 < need + 1)
        slot_count *= 2;
    if (slot_count != entries->slot_count && !slots_grow(entries, slot_count))
        return false;
    if (entries->heap_capacity < need &&
        !heap_grow(entries, grown(entries->heap_capacity, HEAP_FIRST, need)))
        return false;
    while (entries->chunk_count * CHUNK_ENTRIES < need) {
        if (!chunk_add(entries))
            return false;
    }
    return true;
}

pawl_status entries_reserve(struct entries *entries, uint32_t more, pawl_error *error) {
    if (more > ENTRIES_MAX - entries->count)
        return error_set(error, PAWL_TOO_LARGE, "more than %d messages of a group are under way",
                         ENTRIES_MAX);
    if (!room_make(entries, entries->count + more))
        return error_set(error, PAWL_NO_MEMORY, "no memory for %u messages under way",
                         entries->count + more);
    return PAWL_OK;
}

/* ---- Adding and removing ---- */

struct entry *entries_add(struct entries *entries, uint64_t seq) {
    uint32_t id = entries->free_id;
    if (id != 0)
        entries->free_id = entry_at(entries, id)->heap_at;
    else
        id = ++entries->used;
    struct entry *entry = entry_at(entries, id);
    *entry = (struct entry){.heap_at = HEAP_NOWHERE};
    entry->seq = seq & ((UINT64_C(1) << 48) - 1);
    entries->slots[slot_find(entries, seq)] = id;
    entries->count++;
    return entry;
}

void entries_remove(struct entries *entries, struct entry *entry) {
    heap_leave(entries, entry);
    const uint32_t slot = slot_find(entries, entry->seq);
    const uint32_t id = entries->slots[slot];
    slot_clear(entries, slot);
    *entry = (struct entry){.heap_at = entries->free_id};
    entries->free_id = id;
    entries->count--;
}

void entries_each(struct entries *entries, entries_visit visit, void *context) {
    for (uint32_t i = 0; i < entries->slot_count; i++) {
        if (entries->slots[i] != 0)
            visit(context, entry_at(entries, entries->slots[i]));
    }
}

/* entries: what a group knows of each message that was touched and is not settled: leased, waiting,
 * delayed, ready again, dead. All others are known by numbers alone (seqset.h, positions).
 *
 * An entry is found by its seq, by what is next among the ready ones, and by whose time comes next
 * among those that wait for one. 48 bytes each, and at most 16 for finding it. What one that is
 * removed took is kept for those to come, until entries_deinit().
 *
 * Adding and removing can't fail: what they need is reserved before.
 *
 * Invariants
 * N1  A seq has at most one entry.
 * N2  An entry is among the ready ones exactly when its state is READY, among the timers exactly
 *     when it is LEASED, WAITING or DELAYED, as of its last entries_place().
 *
 * Threads: the caller's.
 */
#ifndef PAWL_ENGINE_ENTRIES_H
#define PAWL_ENGINE_ENTRIES_H

#include "os.h"
#include "status.h"

#include <stdbool.h>
#include <stdint.h>

enum entry_state {
    ENTRY_READY,   /* came back: a retry that is due, a lapse, a release, a redrive */
    ENTRY_DELAYED, /* due at `when`, as its producer asked for */
    ENTRY_WAITING, /* due at `when`, after a retry or a release with a delay */
    ENTRY_LEASED,  /* until `when` */
    ENTRY_DEAD,    /* since `when` */
};

enum entry_flags {
    ENTRY_SUSPECT = 1 << 0,  /* its session died holding several: given alone from now on */
    ENTRY_KEYED = 1 << 1,    /* it has an ordering key */
    ENTRY_REDRIVEN = 1 << 2, /* it was dead before */
};

/* No seq is as great as this. */
#define ENTRY_SEQ_MAX (UINT64_C(1) << 48)

struct entry {
    uint64_t seq : 48;
    uint64_t priority : 4;
    uint64_t state : 4; /* an entry_state */
    uint64_t flags : 8;
    uint64_t when_ms : 48; /* store time */
    uint64_t slot : 8;     /* LEASED: the session's slot plus 1; 0: detached */
    uint64_t releases : 8; /* in a row */
    uint64_t fence;        /* of its newest delivery; 0: none yet */
    uint64_t failure_lsn;  /* of the frame with its newest failure; 0: none */
    uint32_t delay_ms;     /* WAITING, DELAYED: as it was asked for */
    uint32_t deliveries;
    uint32_t attempts; /* that have failed and count */
    uint32_t heap_at;  /* this room's own */
};

struct entries {
    struct os *os;
    struct entry **chunks; /* entries by id; ids are from 1 */
    uint32_t chunk_count, chunk_capacity;
    uint32_t count;      /* in use */
    uint32_t used;       /* ids that ever were */
    uint32_t free_id;    /* the first of those given back; 0: none */
    uint32_t *slots;     /* by hash of the seq: ids, 0 where there is none */
    uint32_t slot_count; /* a power of two */
    uint32_t *heap;      /* timers from its front, ready ones from its back */
    uint32_t heap_capacity, timer_count, ready_count;
};

/* Zeroed but for `os` it is empty. */
void entries_deinit(struct entries *entries);

/* Room for `more` entries beside those that are there. PAWL_NO_MEMORY, or PAWL_TOO_LARGE when there
 * would be more than 2^30: nothing has changed, and what was reserved before still is. */
pawl_status entries_reserve(struct entries *entries, uint32_t more, pawl_error *error);

struct entry *entries_find(const struct entries *entries, uint64_t seq);

/* A new entry, all zero but its seq; in neither order before entries_place(). Reserved before. The
 * seq is below ENTRY_SEQ_MAX and has no entry. */
struct entry *entries_add(struct entries *entries, uint64_t seq);
void entries_remove(struct entries *entries, struct entry *entry);

/* Puts the entry where its state, priority and time belong. To be called when they have changed. */
void entries_place(struct entries *entries, struct entry *entry);

/* The ready one of the highest priority, of these the lowest seq; NULL: none is ready. */
struct entry *entries_first_ready(const struct entries *entries);

/* The one whose time comes first, of these the lowest seq; NULL: none waits for a time. */
struct entry *entries_first_timer(const struct entries *entries);

/* Calls `visit` for each, in no order. It may change an entry and place it, but not add or remove
 * any. */
typedef void (*entries_visit)(void *context, struct entry *entry);
void entries_each(struct entries *entries, entries_visit visit, void *context);

#endif

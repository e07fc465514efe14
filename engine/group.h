/* group: one reader of a queue, and what has become of every message for it.
 *
 * A message is under way, with an entry; or settled: above the floor it is in a set then, below it
 * everything without an entry is; or none of these: then it is backlog, of which nothing is kept
 * but one reading position for each priority. What lies at or above the position of its priority
 * has not been read. A dead message has an entry and does not hold the floor back.
 *
 * These functions carry outcomes out and decide nothing. They need no memory: room for entries and
 * for the sets is reserved before. One that answers false was asked for what makes no sense here,
 * and has changed nothing; only a wrong writer of the log can bring that about.
 *
 * Invariants
 * G1  A seq is in at most one settled set, and has no entry then.
 *
 * G2  No seq at or above the floor is settled but by its set, and none below it is backlog.
 *
 * G3  The counts are what counting would give: under way by state, settled by outcome since the
 *     group's start, leases by session.
 *
 * Threads: the caller's.
 */
#ifndef PAWL_ENGINE_GROUP_H
#define PAWL_ENGINE_GROUP_H

#include "entries.h"
#include "event.h"
#include "policy.h"
#include "seqset.h"

enum {
    GROUP_PRIORITIES = 10,
    GROUP_NAME_BYTES_MAX = 128,
    GROUP_WHY_BYTES_MAX = 256,
    ENTRY_STATES = ENTRY_DEAD + 1,
};

/* How a message has ended. NEVER: there is none of that number; numbers jump after a power cut. */
enum group_end {
    GROUP_ACKED,
    GROUP_PURGED,
    GROUP_EXPIRED,
    GROUP_DROPPED,
    GROUP_CANCELLED,
    GROUP_SKIPPED,
    GROUP_NEVER,
    GROUP_ENDS,
};

struct group {
    struct group *next; /* of the queue's */
    uint32_t number;
    uint32_t queue; /* the number of its queue */
    char name[GROUP_NAME_BYTES_MAX + 1];
    char why[GROUP_WHY_BYTES_MAX + 1]; /* it is paused */
    bool is_paused;
    struct policy policy; /* what it overrides */
    uint64_t start;       /* its first seq: what lies before it was skipped */
    uint64_t floor;       /* settled or under way below it */
    uint64_t kept_from;   /* the sets tell from here on how a message has ended */
    uint64_t positions[GROUP_PRIORITIES];
    struct seqset ended[GROUP_ENDS];
    struct entries entries;

    uint32_t *leases; /* of each session, by entry.slot; the state's */
    uint64_t ended_count[GROUP_ENDS];
    uint32_t state_count[ENTRY_STATES];
    uint64_t redelivered; /* deliveries that were not a message's first */
    uint64_t recovered;   /* redriven ones that were then acked */
    uint32_t pending;     /* entries that the frame in hand may add */
    struct group *next_reserved;
};

void group_init(struct group *group, struct os *os, uint32_t *leases);
void group_deinit(struct group *group);

/* How it ended; GROUP_ENDS: it has not, or nothing tells any more. */
enum group_end group_end_of(const struct group *group, uint64_t seq);

/* Is it settled? */
bool group_has_ended(const struct group *group, uint64_t seq);

/* The offset as people know it: everything below it is settled, or dead. */
uint64_t group_offset(struct group *group);

/* ---- Outcomes ---- */

/* What a delivery gave. */
struct group_delivery {
    uint64_t seq, fence;
    uint32_t attempt, delivery;
    uint64_t traits; /* of one that nothing was kept of: event_traits */
    uint64_t until_ms;
    uint32_t slot; /* the session's plus 1; 0: detached */
};

/* Does a receipt with that fence hold good? It does from the delivery on, until the consumer gives
 * the message back, or it has died or ended; that its lease has lapsed does not matter. */
bool group_holds(const struct group *group, uint64_t seq, uint64_t fence);

bool group_deliver(struct group *group, const struct group_delivery *delivery);
bool group_extend(struct group *group, uint64_t seq, uint64_t until_ms);

/* Of a leased one: due at `due_ms`, or, with 0, ready. `attempts` is how many have failed now.
 * The receipt is used up, unless the lease only lapsed or its process died: then `is_settled` is
 * false. A release of a suspect leaves it good likewise. */
bool group_retry(struct group *group, uint64_t seq, uint32_t attempts, uint64_t due_ms,
                 uint32_t delay_ms, uint64_t failure_lsn, bool is_settled);
bool group_release(struct group *group, uint64_t seq, uint64_t due_ms, uint32_t delay_ms,
                   bool is_suspect);
/* One that nothing was kept of has the traits that are told. */
bool group_delay(struct group *group, uint64_t seq, uint64_t traits, uint64_t due_ms,
                 uint32_t delay_ms);
bool group_bury(struct group *group, uint64_t seq, uint64_t traits, uint32_t attempts,
                uint64_t died_ms, uint64_t failure_lsn);
bool group_redrive(struct group *group, uint64_t seq);

/* What is under way or backlog of [first, first + count) ends so; what is dead can only be purged,
 * and only that. Returns how many did. */
uint64_t group_settle(struct group *group, uint64_t first, uint64_t count, enum group_end end);

/* There are no messages of those numbers for the group. Nothing was known of them. */
void group_gap(struct group *group, uint64_t first, uint64_t count);

/* Everything below `to` that is not dead ends as skipped, and reading goes on from there. How is
 * kept, and wants room in the set, from group_skip_kept_from() on. */
void group_skip_to(struct group *group, uint64_t to);
uint64_t group_skip_kept_from(const struct group *group, uint64_t to);

/* Reading goes on at `position`, and not earlier than before. */
bool group_read_on(struct group *group, uint64_t priority, uint64_t position);

/* A new boot at `now_ms`: nothing is later than its own delay from now. */
void group_rebase(struct group *group, uint64_t now_ms);

/* Its queue is dropped: its leases count no more. */
void group_end_leases(struct group *group);

#endif

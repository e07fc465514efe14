/* state: what a store's log means: its queues, groups and sessions. state_apply() is the only
 * function that changes it, live and in replay alike.
 *
 * It holds what is under way, and numbers for the rest; no payload, no backlog, no file, no clock.
 * What it applies is a whole frame: state_reserve() looks whether the frame makes sense here and
 * gets all the memory that it needs; after that state_apply() can't fail, and state_abandon() takes
 * the reservation back when the frame came to nothing.
 *
 * Invariants
 * S1  Between two frames the state is a function of the frames applied, from the first on.
 *
 * S2  For every group, enqueued = backlog + entries + ended, each message in one of them.
 *
 * S3  A number of a queue, of a group, a seq and a fence are never given to another.
 *
 * Threads: the caller's: one changes it at a time, and nobody reads it then.
 */
#ifndef PAWL_ENGINE_STATE_H
#define PAWL_ENGINE_STATE_H

#include "event.h"
#include "group.h"
#include "shared.h"

enum {
    STATE_NAME_BYTES_MAX = 128,
    STATE_FENCE_BITS = 40, /* of the counter; above it the epoch */
    STATE_SEQ_GAP_MAX = 1 << 24,
};

struct queue {
    struct queue *next; /* of the spare ones */
    uint32_t number;
    char name[STATE_NAME_BYTES_MAX + 1];
    char why[GROUP_WHY_BYTES_MAX + 1]; /* it takes no enqueues */
    bool is_paused;
    struct policy policy;
    uint64_t next_seq;
    uint64_t seq_limit; /* no seq from here on may be used before it is raised durably */
    uint64_t enqueued;
    uint64_t pending_seq; /* next_seq after the frame in hand; 0: it enqueues nothing here */
    struct queue *next_reserved;
    struct group *groups; /* by number, the newest last */
};

struct session {
    uint64_t lsn; /* which session it is; 0: the slot is free */
    uint32_t pid;
    char host[64], command[64], version[16];
};

struct state {
    struct os *os;
    uint64_t applied_lsn; /* where the next frame begins */
    uint64_t time_us;     /* of the newest frame that has records about queues */
    uint64_t epoch;
    uint64_t next_fence;
    uint64_t format;
    uint8_t boot_id[OS_BOOT_ID_BYTES];
    struct session sessions[SHARED_SLOTS];
    uint32_t leases[SHARED_SLOTS + 1]; /* how many each holds, by slot plus 1; 0: detached ones */
    struct queue **queues;             /* by number - 1; NULL: dropped */
    struct queue **by_name;            /* those that are there, sorted */
    uint32_t queue_count, name_count, queue_capacity;
    uint32_t group_count;       /* the newest group's number */
    struct queue *spare_queues; /* made for the frame in hand */
    struct group *spare_groups;
    struct queue *reserved_queues; /* that the frame in hand counts on */
    struct group *reserved_groups;
    uint64_t nonsense; /* records that made no sense where they stand: 0 unless a writer is wrong */
};

/* A frame to be applied. */
struct state_frame {
    uint64_t lsn, end_lsn;
    uint64_t time_us;
    const void *metadata;
    size_t metadata_bytes;
};

void state_init(struct state *state, struct os *os, uint64_t first_lsn);
void state_deinit(struct state *state);

/* PAWL_DAMAGED: a record of a queue or group that is not there, or bytes that are no record; only a
 * wrong writer can have written them; the error has the frame's LSN. PAWL_VERSION: a record that is
 * not known and may not be passed over. PAWL_NO_MEMORY. Nothing has changed on failure, and nothing
 * that can be seen on success. */
pawl_status state_reserve(struct state *state, const struct state_frame *frame, pawl_error *error);

/* Reserved before, with nothing between. What makes no sense where it stands changes nothing and is
 * counted in `nonsense`. */
void state_apply(struct state *state, const struct state_frame *frame);
void state_abandon(struct state *state);

/* NULL: there is none. */
struct queue *state_queue(const struct state *state, uint64_t number);
struct queue *state_queue_named(const struct state *state, const char *name);
struct group *queue_group(const struct queue *queue, uint64_t number);
struct group *queue_group_named(const struct queue *queue, const char *name);

/* How many messages of the group are of `state`. READY counts the backlog too. */
uint64_t group_count_of(const struct queue *queue, const struct group *group,
                        enum entry_state state);

#endif

/* model: what a store's queues mean, as simply as it can be said: one struct for each message of
 * each group, with a state of its own, and what can be counted is counted. Written from the
 * contract; it uses nothing of the engine but its limits.
 *
 * The operations are the legal ones: who calls them has looked. All times are in milliseconds.
 */
#ifndef PAWL_TESTS_MODEL_MODEL_H
#define PAWL_TESTS_MODEL_MODEL_H

#include "policy.h"
#include "shared.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    MODEL_QUEUES = 5,
    MODEL_GROUPS = 4,
    MODEL_PRIORITIES = 10,
    MODEL_TOUCHED = 256,
    MODEL_NAME_BYTES = 32,
};

enum model_life {
    MODEL_NONE, /* not of this group: there is none of that number, and there was none */
    MODEL_BACKLOG,
    MODEL_READY,
    MODEL_DELAYED,
    MODEL_WAITING,
    MODEL_LEASED,
    MODEL_DEAD,
    MODEL_ACKED,
    MODEL_PURGED,
    MODEL_EXPIRED,
    MODEL_DROPPED,
    MODEL_CANCELLED,
    MODEL_SKIPPED,
    MODEL_NEVER,
    MODEL_ABSENT, /* it had ended in every group before this one began */
    MODEL_LIVES,
};

struct model_message {
    enum model_life life;
    bool is_suspect, is_redriven;
    bool is_receipt_good; /* its newest delivery's receipt still settles it */
    uint32_t attempts, deliveries, releases;
    uint64_t fence;
    uint64_t when_ms, delay_ms;
    uint64_t failure_lsn;
    uint32_t slot;
    uint32_t live_at; /* where `live` has it */
};

struct model_group {
    uint32_t number; /* 0: none is here */
    char name[MODEL_NAME_BYTES], why[MODEL_NAME_BYTES];
    bool is_paused;
    int64_t settings[SETTING_LIMIT];
    uint64_t start;
    uint64_t positions[MODEL_PRIORITIES];
    struct model_message *messages; /* by seq */
    uint64_t capacity;
    uint64_t counts[MODEL_LIVES]; /* recounted by model_count() */
    uint64_t *live;               /* the seqs from READY to DEAD */
    uint32_t live_count, live_capacity;
    uint64_t redelivered, recovered;
};

/* What is the same for all groups. */
struct model_birth {
    bool is_there, is_keyed;
    uint8_t priority;
    uint64_t due_ms, delay_ms;
};

struct model_queue {
    uint32_t number; /* 0: none is here */
    char name[MODEL_NAME_BYTES], why[MODEL_NAME_BYTES];
    bool is_paused;
    int64_t settings[SETTING_LIMIT];
    uint64_t next_seq, seq_limit, enqueued;
    struct model_birth *births; /* by seq */
    uint64_t capacity;
    struct model_group groups[MODEL_GROUPS];
};

struct model_touch {
    uint32_t queue, group;
    uint64_t seq;
};

struct model {
    struct model_queue queues[MODEL_QUEUES];
    uint32_t queue_count, group_count; /* the newest numbers */
    uint64_t sessions[SHARED_SLOTS];   /* LSNs */
    uint64_t next_fence, epoch, format;
    uint64_t time_us;
    uint8_t boot_id[OS_BOOT_ID_BYTES];
    struct model_touch touched[MODEL_TOUCHED];
    uint32_t touched_count; /* at MODEL_TOUCHED there were more */
};

void model_init(struct model *model);
void model_deinit(struct model *model);

/* Into a free place. */
struct model_queue *model_queue_new(struct model *model, uint32_t number);
void model_queue_drop(struct model_queue *queue);
/* With `has_all`, it is told of the messages that have ended in every other group as well. */
struct model_group *model_group_new(struct model *model, struct model_queue *queue, uint32_t number,
                                    uint64_t start, bool has_all);
void model_group_drop(struct model_group *group);

/* Numbers between the last and this one are never given. */
void model_enqueue(struct model *model, struct model_queue *queue, uint64_t seq,
                   const struct model_birth *birth);

/* What an operation is about. */
struct model_at {
    struct model *model;
    struct model_queue *queue;
    struct model_group *group;
};

struct model_message *model_message(const struct model_at *at, uint64_t seq);

void model_deliver(const struct model_at *at, uint64_t seq, uint64_t fence, uint32_t slot,
                   uint64_t until_ms);
void model_extend(const struct model_at *at, uint64_t seq, uint64_t until_ms);
void model_retry(const struct model_at *at, uint64_t seq, uint64_t due_ms, uint64_t delay_ms,
                 uint64_t lsn, bool is_by_consumer);
void model_release(const struct model_at *at, uint64_t seq, uint64_t due_ms, uint64_t delay_ms,
                   bool is_suspect);
void model_bury(const struct model_at *at, uint64_t seq, uint32_t attempts, uint64_t lsn);
void model_redrive(const struct model_at *at, uint64_t seq);
void model_delay(const struct model_at *at, uint64_t seq, uint64_t due_ms, uint64_t delay_ms);
void model_end(const struct model_at *at, uint64_t seq, enum model_life life);
void model_seek(const struct model_at *at, uint64_t to);
void model_boot(struct model *model, uint64_t time_us);

bool model_is_live(enum model_life life);

/* Leases of a slot plus 1, counted. */
uint32_t model_leases(const struct model *model, uint32_t slot);

/* The first seq that is neither settled nor dead. */
uint64_t model_offset(const struct model_queue *queue, const struct model_group *group);

/* Counts again, one by one. */
void model_count(const struct model_queue *queue, const struct model_group *group,
                 uint64_t *ret_counts);

#endif

/* generator: draws operations that are legal as things stand, carries them out on the model, and
 * writes them as the events of a frame. */
#ifndef PAWL_TESTS_MODEL_GENERATOR_H
#define PAWL_TESTS_MODEL_GENERATOR_H

#include "draft.h"
#include "model.h"
#include "prng.h"

/* Faults to be planted, to see that they are found. */
enum canary {
    CANARY_NONE,
    CANARY_ACK,      /* the event leaves an ack out */
    CANARY_ATTEMPTS, /* the model does not count a failed attempt */
    CANARY_PRIORITY, /* a delivery of what was backlog tells another priority */
    CANARY_REBASE,   /* the model leaves what is due as it is over a reboot */
    CANARY_COUNT,
};

#define GENERATOR_OPERATIONS(X)                                                                    \
    X(queue_new, 3)                                                                                \
    X(queue_set, 2)                                                                                \
    X(queue_drop, 1)                                                                               \
    X(group_new, 4)                                                                                \
    X(group_set, 2)                                                                                \
    X(group_drop, 1)                                                                               \
    X(seek, 2)                                                                                     \
    X(enqueue, 60)                                                                                 \
    X(gap, 1)                                                                                      \
    X(attempt, 60)                                                                                 \
    X(extend, 8)                                                                                   \
    X(ack, 45)                                                                                     \
    X(retry, 20)                                                                                   \
    X(release, 12)                                                                                 \
    X(bury, 10)                                                                                    \
    X(bury_backlog, 3)                                                                             \
    X(redrive, 5)                                                                                  \
    X(purge, 5)                                                                                    \
    X(replace, 2)                                                                                  \
    X(cancel, 3)                                                                                   \
    X(due, 8)                                                                                      \
    X(expire, 3)                                                                                   \
    X(drop, 2)                                                                                     \
    X(session_open, 4)                                                                             \
    X(session_end, 2)                                                                              \
    X(boot, 1)                                                                                     \
    X(format_set, 1)

enum generator_operation {
#define X(name, weight) GENERATE_##name,
    GENERATOR_OPERATIONS(X)
#undef X
        GENERATOR_OPERATION_COUNT
};

struct generator {
    struct prng prng;
    struct model model;
    struct draft draft;
    uint64_t next_lsn;
    enum canary canary;
    uint8_t absent[DRAFT_LIST_BYTES * 2];
    uint64_t done[GENERATOR_OPERATION_COUNT];
};

const char *generator_operation_name(unsigned operation);

void generator_init(struct generator *generator, uint64_t seed, enum canary canary);
void generator_deinit(struct generator *generator);

/* The next frame, in `draft`. */
struct state_frame generator_next(struct generator *generator);

#endif

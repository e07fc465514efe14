/* check: assertions about our own code, and the switches that prove the order of our steps.
 *
 * What it is not: a judgement on bytes from a disk or arguments from a caller; those get a status.
 * A library may not end its host, so a failed check in a release build comes back as PAWL_INTERNAL
 * and the handle does no more. Builds for tests (PAWL_TESTING) stop at once, where it happened.
 * Threads: nothing here has a state.
 */
#ifndef PAWL_ENGINE_CHECK_H
#define PAWL_ENGINE_CHECK_H

#include "status.h"

#define STATIC_CHECK(condition, why) _Static_assert(condition, why)

#ifdef PAWL_TESTING
#define CHECK_STOP() __builtin_trap()
#else
#define CHECK_STOP() ((void)0)
#endif

/* In a function that returns a status: leaves it with PAWL_INTERNAL when `condition` is false. */
#define CHECK(condition, error)                                                                    \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            CHECK_STOP();                                                                          \
            return error_set(error, PAWL_INTERNAL, "check failed in %s: %s", __func__,             \
                             #condition);                                                          \
        }                                                                                          \
    } while (0)

/* Every step whose place in the order of things makes the log durable or safe. `make mutants`
 * builds the simulator once for each with that one step left out, and the simulator must find it
 * missing. */
#define STEP_MAP(X)                                                                                \
    X(STEP_COMMIT_SYNC)            /* sync what a group wrote before telling it so */              \
    X(STEP_COMMIT_SYNC_FIRST)      /* a group over two segments: the earlier one too */            \
    X(STEP_COMMIT_FAIL_ALL)        /* a failed sync latches the store for everybody */             \
    X(STEP_COMMIT_REWRITE)         /* write a dead leader's range again before syncing it */       \
    X(STEP_COMMIT_DEAD_WRITER)     /* and what a dead writer left that is not durable */           \
    X(STEP_COMMIT_OWED)            /* that stays owed until it has succeeded */                    \
    X(STEP_COMMIT_BOUND)           /* durable reaches what was written before the sync began */    \
    X(STEP_APPEND_MARK_INTENT)     /* say where, before writing a frame */                         \
    X(STEP_APPEND_SETTLE)          /* look at what a dead owner left before appending */           \
    X(STEP_APPEND_CHECK_FAILED)    /* a latched store takes no frame */                            \
    X(STEP_APPEND_VERIFY_ADOPTED)  /* adopt a dead owner's frame only if it is whole */            \
    X(STEP_SEGMENT_SYNC_FILE)      /* a new segment's bytes before its name is used */             \
    X(STEP_SEGMENT_SYNC_NAME)      /* a new segment's name before its first frame */               \
    X(STEP_SEGMENT_RENEW)          /* a found file's header is written again before use */         \
    X(STEP_SEGMENT_HERALD)         /* the next segment's file before this one's first frame */     \
    X(STEP_SUPPLY_RETRACT)         /* take back what is ready before working on it */              \
    X(STEP_RESERVE_SYNC_HEADER)    /* a reserve's new header before its new name */                \
    X(STEP_RECOVERY_SYNC_FILE)     /* what the cache shows must be on the disk */                  \
    X(STEP_RECOVERY_DROP_CACHE)    /* read the disk, not what a failed sync left in memory */      \
    X(STEP_RECOVERY_PROOF)         /* later frames prove that an earlier place was durable */      \
    X(STEP_RECOVERY_CHECK_PAYLOAD) /* a frame at the tail is whole only with its payload */        \
    X(STEP_RECOVERY_NEW_SEGMENT)   /* never write behind a cut in the same segment */              \
    X(STEP_RECOVERY_REMOVE)        /* files behind a cut go before their names are used again */   \
    X(STEP_RECOVERY_REMOVE_SYNC)   /* the higher ones for good, before the next is made again */   \
    X(STEP_CREATE_SYNC_START)      /* the first segment's start */                                 \
    X(STEP_CREATE_SYNC_LOG)        /* and the names in log/, before identity says store */         \
    X(STEP_CREATE_SYNC_IDENTITY)   /* identity durable before anything is promised */              \
    X(STEP_CREATE_SYNC_STORE)      /* the names log/ and identity */                               \
    X(STEP_CREATE_SYNC_PARENT)     /* and the store's own name */                                  \
    X(STEP_OPEN_SYNC_IDENTITY)     /* who is alone syncs identity before trusting it */            \
    X(STEP_OPEN_DROP_IDENTITY)     /* and reads it from the disk */                                \
    X(STEP_MARK_SYNC)              /* a mark is proof only on the disk */                          \
    X(STEP_MARK_AFTER_SYNC)        /* a mark tells what a sync has returned for */                 \
    X(STEP_SHARED_ANEW)            /* who is alone makes `shared` anew */                          \
    X(STEP_SLOT_GENERATION)        /* a slot taken again is another session */                     \
    X(STEP_CLOSE_SYNC)             /* closing syncs what it wrote */

enum step {
    STEP_NONE,
#define X(name) name,
    STEP_MAP(X)
#undef X
        STEP_COUNT
};

#ifndef PAWL_STEP_OFF
#define PAWL_STEP_OFF STEP_NONE
#endif

/* True in every build but the one made to leave this step out. */
#define STEP_IS_ON(name) ((name) != PAWL_STEP_OFF)

#endif

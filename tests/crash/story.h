/* story: what the players append, and the driver's account of it.
 *
 * Every frame says which process appended it and as how many-th of its own, and goes on with bytes
 * that follow from that, so that it can be compared byte for byte with what it must be. A process
 * counts its frames from 1 and appends the next only after the one before has succeeded. So its
 * frames in the log are 1, 2, 3 and so on, in that order, as many as it has reported, and one more
 * at most: the one it was at when it was killed.
 */
#ifndef PAWL_CRASH_STORY_H
#define PAWL_CRASH_STORY_H

#include "log.h"
#include "players.h"

enum {
    STORY_FILLER_MAX = 256 * 1024,
    STORY_PROCESSES_MAX = 64,
};

struct story {
    uint32_t process;
    uint32_t filler_bytes;
    uint64_t counter;
};

/* What the append of it needs from log_lock(). */
uint64_t story_frame_bytes(const struct story *story);

/* log_append() of it. The lock is held. */
pawl_status story_append(struct log *log, const struct story *story, bool needs_sync,
                         uint64_t *ret_lsn, uint64_t *ret_end_lsn, pawl_error *error);

/* Reads on to the next frame that tells a story; PAWL_EMPTY at the tail. PAWL_INTERNAL: a frame is
 * not what its process wrote, or LSNs are not dense. */
pawl_status story_read(struct log_reader *reader, struct story *ret_story, uint64_t *ret_lsn,
                       uint64_t *ret_end_lsn, pawl_error *error);

/* ---- The account ---- */

struct account_frame {
    uint64_t lsn, end_lsn;
};

struct account_process {
    struct account_frame *frames; /* reported, by counter from 1 */
    uint64_t count, capacity;
    uint64_t found;     /* in the log, by the check that is under way */
    bool may_have_more; /* it was killed: one frame may have been appended and not reported */
};

struct account {
    struct account_process processes[STORY_PROCESSES_MAX];
    uint64_t reported, found;
    uint64_t adopted; /* found and not reported */
};

void account_release(struct account *account);

/* A process said that it has appended this. False, with a word: its counting has a hole. */
bool account_append(struct account *account, const struct report *report);

void account_killed(struct account *account, uint32_t process);

/* Reads the whole log and compares. False, with a word, when anything is missing, twice, out of
 * order or other than it was. */
bool account_check(struct account *account, struct log *log);

/* Opens the store alone, account_check(), closes it. */
bool account_check_store(struct account *account, const char *path,
                         const struct log_options *options);

#endif

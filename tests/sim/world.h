/* world: a machine of one processor in one thread: processes, their threads, time, power, faults.
 *
 * Each simulated process has an os of its own (os.h) over one disk. Its threads are fibers; one
 * runs at a time, and at every call of the seam (and at every os_step) the seed decides whether
 * another goes on instead, whether the process is killed, stopped, or the power fails. Time is
 * virtual: it moves with every call, and jumps when all wait. One 64-bit seed decides everything
 * and replays bit for bit.
 *
 * A killed process never runs again: its descriptors close, its locks go, its memory is freed.
 * Inside a write it leaves a prefix. A stopped one keeps its locks until it is continued or killed.
 */
#ifndef PAWL_TESTS_SIM_WORLD_H
#define PAWL_TESTS_SIM_WORLD_H

#include "disk.h"
#include "os.h"
#include "prng.h"

#include <stdio.h>

/* X(name): what can be injected, each with its chance and its count. */
#define FAULT_MAP(X)                                                                               \
    X(FAULT_KILL)          /* a process dies between two calls */                                  \
    X(FAULT_KILL_IN_WRITE) /* inside a write: a prefix stays */                                    \
    X(FAULT_STOP)          /* a process stops, and goes on later */                                \
    X(FAULT_POWER)         /* the power is cut */                                                  \
    X(FAULT_SYNC)          /* a sync fails; the pages are clean, the disk is as it was */          \
    X(FAULT_SYNC_TOLD)     /* and whoever else has the file open is told too */                    \
    X(FAULT_DIR_SYNC)      /* a directory's sync fails */                                          \
    X(FAULT_READ)          /* a read fails */                                                      \
    X(FAULT_WRITE)         /* a write fails after any byte, or after the last */                   \
    X(FAULT_SPACE)         /* the disk is full */                                                  \
    X(FAULT_OPEN)          /* no descriptor */                                                     \
    X(FAULT_NAME)          /* a rename or an unlink fails */                                       \
    X(FAULT_MEMORY)        /* no memory */                                                         \
    X(FAULT_WALL_CLOCK)    /* the wall clock jumps */                                              \
    X(FAULT_KILL_OTHER)    /* a process dies while another one runs: in a wait, or stopped */      \
    X(FAULT_SPLIT_WRITE)   /* others run while half of a write is there */                         \
    X(FAULT_WRITE_BACK)    /* the disk fails before the sync does, which tells of it later */      \
    X(FAULT_EVICT)         /* the cache forgets clean pages, or a closed inode with its errors */  \
    X(FAULT_WAKE)          /* a wait ends for no reason */                                         \
    X(FAULT_ORDER)         /* names are listed, waiters woken in another order */                  \
    X(FAULT_GARBAGE)       /* a sector in flight at a power cut is neither old nor new: D2 broken */

enum fault {
#define X(name) name,
    FAULT_MAP(X)
#undef X
        FAULT_COUNT
};

const char *fault_name(enum fault fault);

/* X(name): the calls of the seam that can fail by themselves, for sweeps. */
enum call {
    CALL_DIR_OPEN,
    CALL_DIR_LIST,
    CALL_DIR_SYNC,
    CALL_FILE_OPEN,
    CALL_FILE_STAT,
    CALL_FILE_READ,
    CALL_FIND_DATA,
    CALL_FILE_WRITE,
    CALL_FILE_SYNC,
    CALL_ZERO_FILL,
    CALL_TRUNCATE,
    CALL_DROP_CACHE,
    CALL_MAP,
    CALL_RENAME,
    CALL_UNLINK,
    CALL_DIR_HOLD,
    CALL_LOCK_TAKE,
    CALL_LOCK_FIND,
    CALL_ENTROPY,
    CALL_ALLOCATE,
    CALL_FILE_CLOSE,
    CALL_COUNT,
};

const char *call_name(enum call call);

enum {
    WORLD_PROCESSES = 12,
    WORLD_FIBERS = 32,
    WORLD_TRACE = 1024,
};

struct world;
struct process;

typedef void (*process_main)(struct process *process, void *context);

enum world_news {
    WORLD_QUIET,    /* every process has ended */
    WORLD_DIED,     /* a process was killed */
    WORLD_POWER,    /* the power was cut: every process is gone */
    WORLD_STRANDED, /* somebody waits, and nothing will ever happen by itself */
    WORLD_ENDLESS,  /* more calls than the limit */
    WORLD_BROKEN,   /* the seam was misused; see complaint */
};

struct world_options {
    uint64_t seed;
    uint64_t blocks_max;           /* of the disk, 4 KiB each */
    unsigned switching;            /* chance, in 100,000, that another fiber goes on at a call */
    unsigned chances[FAULT_COUNT]; /* in 100,000 calls that could meet it */
    uint64_t calls_max;
};

struct world *world_make(const struct world_options *options);
void world_free(struct world *world);

struct disk *world_disk(struct world *world);
uint64_t world_fault_count(const struct world *world, enum fault fault);
const char *world_complaint(const struct world *world);
uint64_t world_hash(const struct world *world); /* of every call so far, see trace.h */
uint64_t world_calls(const struct world *world);

/* No fault any more; who is stopped goes on. An error that is still to be told will be, to whoever
 * has the file open. */
void world_heal(struct world *world);

/* A process that runs `main` and then ends; -1 when there are too many. */
int world_spawn(struct world *world, process_main main, void *context);

/* A further thread of a process, from within it. */
void process_thread(struct process *process, process_main main, void *context);

struct os *process_os(struct process *process);
int process_id(const struct process *process);

/* Runs until there is news. */
enum world_news world_run(struct world *world);
bool world_is_alive(const struct world *world, int process);
void world_cut_power(struct world *world);

/* The same from within a process, which does not come back. */
_Noreturn void process_cut_power(struct process *process);

/* From outside, between two runs: as FAULT_KILL, and as FAULT_STOP but until it is continued. */
void world_kill_process(struct world *world, int process);
void world_stop_process(struct world *world, int process);
void world_continue_process(struct world *world, int process);

/* The limit of calls is so many more than there were; after WORLD_ENDLESS the next run goes on. */
void world_limit_calls(struct world *world, uint64_t more);

/* For sweeps: the fault strikes when it could for the time `number` from now on (from 1), whatever
 * its chance. 0: not so. world_openings() says how often it could have since: every call for
 * FAULT_KILL and FAULT_POWER, every write for FAULT_KILL_IN_WRITE, and so on. */
void world_plan_fault(struct world *world, enum fault fault, uint64_t number);
uint64_t world_openings(const struct world *world, enum fault fault);

/* For sweeps: call number `number` of its kind (from 1) fails with `os_errno`, once or from then
 * on. 0: none does. world_call_count() says how many there have been since. */
void world_fail_call(struct world *world, enum call call, uint64_t number, int os_errno,
                     bool for_ever);
uint64_t world_call_count(const struct world *world, enum call call);

/* The last calls, oldest first. */
void world_print_trace(const struct world *world, FILE *out);
/* Every thread that has not ended and what it waits for: of use after WORLD_STRANDED. */
void world_print_threads(const struct world *world, FILE *out);

#endif

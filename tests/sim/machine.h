/* machine: the parts of a world that scheduler (world.c) and seam (machine.c) share. */
#ifndef PAWL_TESTS_SIM_MACHINE_H
#define PAWL_TESTS_SIM_MACHINE_H

#include "fiber.h"
#include "trace.h"
#include "world.h"

/* Memory of a process, in a list so that a kill can free it. 64 bytes, so that what follows is
 * aligned. */
struct block {
    struct block *previous, *next;
    size_t bytes;
    uint64_t magic;
    uint8_t reserved[32];
};

struct os_dir {
    struct process *process;
    int inode;
};

struct os_file {
    struct process *process;
    struct os_file *next; /* of the process */
    int inode;
    unsigned how;
    uint64_t errors_told; /* of the inode's */
};

struct mapping {
    struct mapping *next; /* of the process */
    int inode;
    void *address;
};

struct lock {
    int inode;
    uint64_t byte;
    struct os_file *file;
};

/* A directory that is held. */
struct hold {
    const struct os_dir *dir;
    const struct process *process;
    int inode;
    bool is_alone;
};

enum process_state { PROCESS_FREE, PROCESS_RUNS, PROCESS_STOPPED, PROCESS_DEAD };

struct process {
    struct os os;
    struct world *world;
    int id;
    uint32_t pid;
    enum process_state state;
    uint64_t continues_at; /* when stopped */
    struct block *blocks;
    struct os_file *files;
    struct mapping *mappings;
    unsigned fibers; /* that have not ended */
};

enum fiber_state { FIBER_FREE, FIBER_READY, FIBER_WAITS, FIBER_ENDED };

struct thread {
    enum fiber_state state;
    struct process *process;
    struct fiber *fiber;
    process_main main;
    void *context;
    _Atomic uint32_t *word; /* NULL: a pause */
    uint64_t deadline;
    bool was_woken;
};

enum { LOCKS_MAX = 64 };

struct world {
    struct world_options options;
    struct prng scheduling, faults, contents;
    struct disk disk;
    struct process processes[WORLD_PROCESSES];
    struct thread threads[WORLD_FIBERS];
    struct thread *current; /* NULL: the scheduler */
    struct lock locks[LOCKS_MAX];
    size_t lock_count;
    struct hold holds[LOCKS_MAX];
    size_t hold_count;
    uint64_t clock_ns, wall_us;
    uint8_t boot_id[OS_BOOT_ID_BYTES];
    uint64_t calls;
    uint32_t pids;
    enum world_news news;
    uint64_t fault_counts[FAULT_COUNT];
    struct {
        uint64_t openings, planned;
    } plans[FAULT_COUNT];
    struct {
        uint64_t count, number;
        int os_errno;
        bool for_ever;
    } fail[CALL_COUNT];
    struct trace trace;
    char complaint[256];
};

extern const struct os_ops machine_ops;

/* Ends the running thread of a process that has just been killed, or that the power cut took. */
_Noreturn void world_leave_for_good(struct world *world);

/* Lets the scheduler run; comes back when this thread's turn comes again. */
void world_yield(struct world *world);

void world_kill(struct world *world, struct process *process);
void world_stop(struct world *world, struct process *process);
/* Takes it into the trace; `process` may be NULL, `inode` -1. */
void world_trace(struct world *world, const struct process *process, unsigned what, int inode,
                 uint64_t offset, uint64_t bytes, int result);
void world_complain(struct world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static inline struct process *machine_process(struct os *os) {
    return (struct process *)(void *)os;
}

/* What may happen between any two calls: time passes, and the seed may kill, stop, or let another
 * go on. Does not return when this process is dead. */
void machine_pass(struct process *process);

/* The errno with which a sweep wants this call to fail, or 0. */
int machine_swept(struct world *world, enum call call);

/* Takes a call into the trace; gives its result. */
int machine_note(struct process *process, unsigned call, int inode, uint64_t offset, uint64_t bytes,
                 int result);

/* Does the fault strike, here where it could? */
static inline bool world_meets(struct world *world, enum fault fault) {
    const bool is_planned = ++world->plans[fault].openings == world->plans[fault].planned;
    const bool meets = prng_chance(&world->faults, world->options.chances[fault]) || is_planned;
    world->fault_counts[fault] += meets;
    return meets;
}

#endif

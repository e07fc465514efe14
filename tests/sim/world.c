#include "locks.h"
#include "machine.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t stop_ns_max = 8000000000U;

const char *fault_name(enum fault fault) {
    static const char *const names[FAULT_COUNT] = {
#define X(name) #name,
        FAULT_MAP(X)
#undef X
    };
    return names[fault];
}

const char *call_name(enum call call) {
    static const char *const names[CALL_COUNT] = {
        "dir_open",  "dir_list",   "dir_sync",   "file_open", "file_stat", "file_read",
        "find_data", "file_write", "file_sync",  "zero_fill", "truncate",  "drop_cache",
        "map",       "rename",     "unlink",     "dir_hold",  "lock_take", "lock_find",
        "entropy",   "allocate",   "file_close",
    };
    return names[call];
}

/* ---- Making and freeing ---- */

static void world_boot(struct world *world) {
    for (size_t i = 0; i < sizeof world->boot_id; i++)
        world->boot_id[i] = (uint8_t)prng_next(&world->contents);
    world->clock_ns = 1000000000U + prng_below(&world->contents, 1000000000U);
}

struct world *world_make(const struct world_options *options) {
    struct world *world = calloc(1, sizeof *world);
    if (world == NULL)
        abort();
    world->options = *options;
    world->scheduling = prng_stream(options->seed, 1);
    world->faults = prng_stream(options->seed, 2);
    world->contents = prng_stream(options->seed, 3);
    world->wall_us = UINT64_C(1700000000000000);
    world->pids = 100;
    disk_init(&world->disk, options->blocks_max);
    world_boot(world);
    return world;
}

static void process_release(struct world *world, struct process *process) {
    for (struct block *block = process->blocks, *next; block != NULL; block = next) {
        next = block->next;
        free(block);
    }
    for (struct os_file *file = process->files, *next; file != NULL; file = next) {
        next = file->next;
        locks_drop_all(world, file);
        disk_close(&world->disk, file->inode);
        free(file);
    }
    for (struct mapping *mapping = process->mappings, *next; mapping != NULL; mapping = next) {
        next = mapping->next;
        disk_close(&world->disk, mapping->inode);
        free(mapping);
    }
    locks_end_process(world, process);
    process->blocks = NULL;
    process->files = NULL;
    process->mappings = NULL;
}

static void threads_release(struct world *world, const struct process *process) {
    for (size_t i = 0; i < WORLD_FIBERS; i++) {
        struct thread *thread = &world->threads[i];
        if (thread->state != FIBER_FREE && thread->process == process && thread != world->current) {
            fiber_free(thread->fiber);
            thread->state = FIBER_FREE;
        }
    }
}

void world_free(struct world *world) {
    world->current = NULL;
    for (size_t i = 0; i < WORLD_PROCESSES; i++) {
        if (world->processes[i].state != PROCESS_FREE) {
            threads_release(world, &world->processes[i]);
            process_release(world, &world->processes[i]);
        }
    }
    disk_deinit(&world->disk);
    free(world);
}

struct disk *world_disk(struct world *world) {
    return &world->disk;
}

uint64_t world_fault_count(const struct world *world, enum fault fault) {
    return world->fault_counts[fault];
}

const char *world_complaint(const struct world *world) {
    return world->complaint;
}

uint64_t world_hash(const struct world *world) {
    return world->trace.hash;
}

uint64_t world_calls(const struct world *world) {
    return world->calls;
}

void world_trace(struct world *world, const struct process *process, unsigned what, int inode,
                 uint64_t offset, uint64_t bytes, int result) {
    struct trace_entry *entry = trace_begin(&world->trace);
    entry->at_ns = world->clock_ns;
    entry->offset = offset;
    entry->bytes = bytes;
    entry->what = what;
    entry->process = process == NULL ? -1 : process->id;
    entry->thread = -1;
    if (world->current != NULL && world->current->process == process)
        entry->thread = (int)(world->current - world->threads);
    entry->result = result;
    if (inode < 0)
        memset(entry->file, 0, sizeof entry->file);
    else
        memcpy(entry->file, world->disk.inodes[inode].name, sizeof entry->file);
    trace_end(&world->trace);
}

void world_complain(struct world *world, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (world->complaint[0] == '\0')
        (void)vsnprintf(world->complaint, sizeof world->complaint, format, arguments);
    va_end(arguments);
    world->news = WORLD_BROKEN;
}

static void process_continue(struct process *process) {
    process->state = PROCESS_RUNS;
    world_trace(process->world, process, TRACE_CONTINUED, -1, 0, 0, 0);
}

void world_heal(struct world *world) {
    memset(world->options.chances, 0, sizeof world->options.chances);
    memset(world->fail, 0, sizeof world->fail);
    memset(world->plans, 0, sizeof world->plans);
    world->disk.blocks_max = UINT64_MAX / 2;
    disk_forget_errors(&world->disk);
    for (size_t i = 0; i < WORLD_PROCESSES; i++) {
        if (world->processes[i].state == PROCESS_STOPPED)
            process_continue(&world->processes[i]);
    }
}

/* ---- Processes and threads ---- */

static void thread_body(void *context) {
    struct thread *thread = context;
    thread->main(thread->process, thread->context);
    thread->state = FIBER_ENDED;
    fiber_leave_for_good(thread->fiber);
}

static void thread_start(struct world *world, struct process *process, process_main main,
                         void *context) {
    for (size_t i = 0; i < WORLD_FIBERS; i++) {
        struct thread *thread = &world->threads[i];
        if (thread->state != FIBER_FREE)
            continue;
        *thread = (struct thread){
            .state = FIBER_READY, .process = process, .main = main, .context = context};
        thread->fiber = fiber_make(thread_body, thread);
        process->fibers++;
        world_trace(world, process, TRACE_BEGIN, -1, 0, 0, 0);
        return;
    }
    abort();
}

int world_spawn(struct world *world, process_main main, void *context) {
    for (int i = 0; i < WORLD_PROCESSES; i++) {
        struct process *process = &world->processes[i];
        if (process->state != PROCESS_FREE)
            continue;
        *process = (struct process){.os = {&machine_ops},
                                    .world = world,
                                    .id = i,
                                    .pid = world->pids++,
                                    .state = PROCESS_RUNS};
        thread_start(world, process, main, context);
        return i;
    }
    return -1;
}

void process_thread(struct process *process, process_main main, void *context) {
    thread_start(process->world, process, main, context);
}

struct os *process_os(struct process *process) {
    return &process->os;
}

int process_id(const struct process *process) {
    return process->id;
}

bool world_is_alive(const struct world *world, int process) {
    return world->processes[process].state == PROCESS_RUNS ||
           world->processes[process].state == PROCESS_STOPPED;
}

/* The running thread's own stack is freed by the scheduler, once it is left. */
void world_kill(struct world *world, struct process *process) {
    world_trace(world, process, TRACE_KILLED, -1, 0, 0, 0);
    threads_release(world, process);
    process_release(world, process);
    process->state = PROCESS_DEAD;
    world->news = WORLD_DIED;
}

void world_stop(struct world *world, struct process *process) {
    process->state = PROCESS_STOPPED;
    process->continues_at = world->clock_ns + prng_below(&world->faults, stop_ns_max);
    world_trace(world, process, TRACE_STOPPED, -1, 0, 0, 0);
}

void world_kill_process(struct world *world, int process) {
    if (world_is_alive(world, process))
        world_kill(world, &world->processes[process]);
}

void world_stop_process(struct world *world, int process) {
    if (!world_is_alive(world, process))
        return;
    world->processes[process].state = PROCESS_STOPPED;
    world->processes[process].continues_at = OS_NO_DEADLINE;
    world_trace(world, &world->processes[process], TRACE_STOPPED, -1, 0, 0, 0);
}

void world_continue_process(struct world *world, int process) {
    if (world->processes[process].state == PROCESS_STOPPED)
        process_continue(&world->processes[process]);
}

void world_limit_calls(struct world *world, uint64_t more) {
    world->options.calls_max = world->calls + more;
}

void world_cut_power(struct world *world) {
    for (size_t i = 0; i < WORLD_PROCESSES; i++) {
        if (world->processes[i].state != PROCESS_FREE && world->processes[i].state != PROCESS_DEAD)
            world_kill(world, &world->processes[i]);
    }
    world_trace(world, NULL, TRACE_POWER, -1, 0, 0, 0);
    world->disk.garbage = world->options.chances[FAULT_GARBAGE];
    disk_crash(&world->disk, &world->contents);
    world->fault_counts[FAULT_GARBAGE] = world->disk.garbage_count;
    world_boot(world);
    world->news = WORLD_POWER;
}

_Noreturn void world_leave_for_good(struct world *world) {
    world->current->state = FIBER_ENDED;
    fiber_leave_for_good(world->current->fiber);
    abort();
}

_Noreturn void process_cut_power(struct process *process) {
    process->world->news = WORLD_POWER;
    world_leave_for_good(process->world);
}

/* ---- The scheduler ---- */

void world_yield(struct world *world) {
    fiber_leave(world->current->fiber);
}

static bool thread_is_ready(const struct world *world, const struct thread *thread) {
    if (thread->process->state != PROCESS_RUNS)
        return false;
    return thread->state == FIBER_READY ||
           (thread->state == FIBER_WAITS &&
            (thread->was_woken || thread->deadline <= world->clock_ns));
}

static struct thread *world_choose(struct world *world) {
    struct thread *ready[WORLD_FIBERS];
    size_t count = 0;
    for (size_t i = 0; i < WORLD_FIBERS; i++) {
        if (world->threads[i].state != FIBER_FREE && thread_is_ready(world, &world->threads[i]))
            ready[count++] = &world->threads[i];
    }
    return count == 0 ? NULL : ready[prng_below(&world->scheduling, count)];
}

/* Who was stopped long enough goes on, or is killed as it stands. */
static void world_continue(struct world *world) {
    for (size_t i = 0; i < WORLD_PROCESSES; i++) {
        struct process *process = &world->processes[i];
        if (process->state != PROCESS_STOPPED || process->continues_at > world->clock_ns)
            continue;
        if (prng_below(&world->faults, 4) == 0) {
            world->fault_counts[FAULT_KILL]++;
            world_kill(world, process);
        } else {
            process_continue(process);
        }
    }
}

/* Time jumps to what comes next. False: nothing ever will. */
static bool world_jump(struct world *world) {
    uint64_t next = OS_NO_DEADLINE;
    for (size_t i = 0; i < WORLD_FIBERS; i++) {
        const struct thread *thread = &world->threads[i];
        if (thread->state == FIBER_WAITS && thread->process->state == PROCESS_RUNS &&
            thread->deadline < next)
            next = thread->deadline;
    }
    for (size_t i = 0; i < WORLD_PROCESSES; i++) {
        const struct process *process = &world->processes[i];
        if (process->state == PROCESS_STOPPED && process->continues_at < next)
            next = process->continues_at;
    }
    if (next == OS_NO_DEADLINE)
        return false;
    if (next > world->clock_ns)
        world->clock_ns = next;
    return true;
}

static void thread_end(struct world *world, struct thread *thread) {
    struct process *process = thread->process;
    if (process->state != PROCESS_DEAD)
        world_trace(world, process, TRACE_END, -1, 0, 0, 0);
    fiber_free(thread->fiber);
    thread->state = FIBER_FREE;
    if (process->state == PROCESS_DEAD || world->news == WORLD_POWER || --process->fibers > 0)
        return;
    size_t bytes = 0;
    for (const struct block *block = process->blocks; block != NULL; block = block->next)
        bytes += block->bytes;
    if (process->blocks != NULL)
        world_complain(world, "p%d ended and did not release %zu bytes", process->id, bytes);
    if (process->files != NULL)
        world_complain(world, "p%d ended and did not close %s", process->id,
                       world->disk.inodes[process->files->inode].name);
    if (process->mappings != NULL)
        world_complain(world, "p%d ended and did not unmap %s", process->id,
                       world->disk.inodes[process->mappings->inode].name);
    process_release(world, process);
    process->state = PROCESS_FREE;
}

static bool world_is_quiet(struct world *world) {
    bool is_quiet = true;
    for (size_t i = 0; i < WORLD_PROCESSES; i++) {
        struct process *process = &world->processes[i];
        if (process->state == PROCESS_DEAD)
            process->state = PROCESS_FREE;
        is_quiet &= process->state == PROCESS_FREE;
    }
    return is_quiet;
}

enum world_news world_run(struct world *world) {
    world->news = WORLD_QUIET;
    for (;;) {
        if (world->news != WORLD_QUIET)
            return world->news;
        if (world_is_quiet(world))
            return WORLD_QUIET;
        if (world->calls > world->options.calls_max)
            return WORLD_ENDLESS;
        world_continue(world);
        struct thread *thread = world_choose(world);
        if (thread == NULL) {
            if (world->news == WORLD_QUIET && !world_jump(world))
                return WORLD_STRANDED;
            continue;
        }
        world->current = thread;
        fiber_enter(thread->fiber);
        world->current = NULL;
        if (thread->state == FIBER_ENDED)
            thread_end(world, thread);
        if (world->news == WORLD_POWER)
            world_cut_power(world);
    }
}

/* ---- Sweeps and traces ---- */

void world_fail_call(struct world *world, enum call call, uint64_t number, int os_errno,
                     bool for_ever) {
    world->fail[call].count = 0;
    world->fail[call].number = number;
    world->fail[call].os_errno = os_errno;
    world->fail[call].for_ever = for_ever;
}

void world_plan_fault(struct world *world, enum fault fault, uint64_t number) {
    world->plans[fault].openings = 0;
    world->plans[fault].planned = number;
}

uint64_t world_openings(const struct world *world, enum fault fault) {
    return world->plans[fault].openings;
}

uint64_t world_call_count(const struct world *world, enum call call) {
    return world->fail[call].count;
}

void world_print_trace(const struct world *world, FILE *out) {
    trace_print(&world->trace, out);
}

void world_print_threads(const struct world *world, FILE *out) {
    for (size_t i = 0; i < WORLD_FIBERS; i++) {
        const struct thread *thread = &world->threads[i];
        if (thread->state == FIBER_FREE)
            continue;
        const bool is_stopped = thread->process->state == PROCESS_STOPPED;
        fprintf(out, "p%d thread %zu: %s%s", thread->process->id, i, is_stopped ? "stopped, " : "",
                thread->state == FIBER_READY ? "could run"
                : thread->word == NULL       ? "pauses"
                                             : "waits");
        if (thread->state == FIBER_WAITS && thread->deadline != OS_NO_DEADLINE)
            fprintf(out, " until %.6f", (double)thread->deadline / 1e9);
        if (thread->state == FIBER_WAITS && thread->word != NULL)
            fprintf(out, " on a word that is %u", (unsigned)atomic_load(thread->word));
        fputc('\n', out);
    }
}

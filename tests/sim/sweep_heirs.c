#include "sweep.h"

#include "stage.h"
#include "status.h"

#include <errno.h>
#include <stdio.h>

/* A process appends and dies at a given call; before, the system failed to write back one of its
 * writes, and told nobody. Another, which has had the store open all the time, goes on, is told
 * that its own frame is durable, and then the power is cut. Or, before it goes on, a third one has
 * the dead one's slot for a while, and then a call fails under the heir, which has to try again. */

/* How the one who dies appends. */
struct manner {
    const char *name;
    bool is_durable;
    enum fault fault; /* beside the kill */
    bool is_followed; /* by one who takes the dead one's slot */
};

static const struct manner manners[] = {
    {"appends", false, FAULT_WRITE_BACK, false},
    {"appends and syncs", true, FAULT_WRITE_BACK, false},
    {"fails to sync", true, FAULT_SYNC, false},
    {"appends and is followed", false, FAULT_WRITE_BACK, true},
    {"fails to sync and is followed", true, FAULT_SYNC, true},
};

/* A call that fails under the heir: what it has not done is still to be done. */
static const struct failure {
    enum call call;
    int os_errno;
} failures[] = {{CALL_FILE_OPEN, EMFILE}, {CALL_FILE_READ, EIO}, {CALL_ALLOCATE, ENOMEM}};

struct trial {
    const struct manner *manner;
    struct stage *stage;
    uint64_t kill_at;  /* the call at which it dies */
    uint64_t fault_at; /* the chance at which the fault strikes; 0: it does not */
    const struct failure *failure;
    uint64_t failure_at; /* which such call of the heir's fails; 0: none */
    bool was_killed, was_faulty, has_failed;
    _Atomic uint32_t is_dead; /* what the heir waits for */
};

static void prepare(struct stage *stage, void *context) {
    (void)context;
    if (stage_open(stage) != PAWL_OK)
        oracle_complain(&stage->oracle, "preparing: %s", stage->error.sentence);
    else
        stage_fill(stage, 1);
    if (oracle_is_content(&stage->oracle))
        (void)stage_close(stage);
}

static void inherit(struct process *process, void *context) {
    struct trial *trial = context;
    struct stage *stage = trial->stage;
    struct os *os = process_os(process);
    stage->os = os;
    if (stage_open(stage) != PAWL_OK) {
        oracle_complain(&stage->oracle, "the heir's opening: %s", stage->error.sentence);
        return;
    }
    struct log *log = stage->log;
    while (atomic_load(&trial->is_dead) == 0)
        (void)os_futex_wait(os, &trial->is_dead, 0, OS_NO_DEADLINE);
    stage->os = os;
    stage->log = log;
    if (trial->failure_at != 0) {
        world_fail_call(stage->world, trial->failure->call, trial->failure_at,
                        trial->failure->os_errno, false);
        (void)stage_append(stage, 300, true, LOG_ORDINARY); /* may fail */
        trial->has_failed =
            world_call_count(stage->world, trial->failure->call) >= trial->failure_at;
        world_fail_call(stage->world, trial->failure->call, 0, 0, false);
    }
    const pawl_status status = stage_append(stage, 300, true, LOG_ORDINARY);
    /* Who died may have had the time to latch the store. */
    const bool is_explained =
        trial->was_faulty && (status == PAWL_FAILED || status == PAWL_FAILED_SYNC);
    if (status != PAWL_OK && !is_explained)
        oracle_complain(&stage->oracle, "the heir's append: %s", stage->error.sentence);
    if (status == PAWL_OK && stage_read_all(stage) != PAWL_OK)
        oracle_complain(&stage->oracle, "the heir's reading: %s", stage->error.sentence);
    stage_cut_power(stage);
}

static void die(struct process *process, void *context) {
    struct trial *trial = context;
    struct stage *stage = trial->stage;
    stage->os = process_os(process);
    if (stage_open(stage) != PAWL_OK) {
        oracle_complain(&stage->oracle, "opening: %s", stage->error.sentence);
        return;
    }
    world_plan_fault(stage->world, trial->manner->fault, trial->fault_at);
    world_plan_fault(stage->world, FAULT_KILL, trial->kill_at);
    for (int i = 0; i < 6; i++)
        (void)stage_append(stage, 900, trial->manner->is_durable && i % 2 == 0, LOG_ORDINARY);
    world_plan_fault(stage->world, FAULT_KILL, 0);
    world_plan_fault(stage->world, trial->manner->fault, 0);
    (void)stage_close(stage); /* may tell of the fault */
}

static void wake(struct process *process, void *context) {
    struct trial *trial = context;
    struct stage *stage = trial->stage;
    stage->os = process_os(process);
    if (trial->manner->is_followed && stage_open(stage) == PAWL_OK)
        (void)stage_close(stage); /* may tell that the store is latched */
    atomic_store(&trial->is_dead, 1);
    os_futex_wake(process_os(process), &trial->is_dead, UINT32_MAX);
}

/* With the power back, everything that was confirmed must be there, and go on. */
static void judge(struct stage *stage, void *context) {
    (void)context;
    if (stage_open(stage) != PAWL_OK) {
        oracle_complain(&stage->oracle, "can't be opened afterwards: %s", stage->error.sentence);
        return;
    }
    oracle_recovered(&stage->oracle, stage->opening.recovered_lsn);
    if (stage_append(stage, 100, true, LOG_ORDINARY) != PAWL_OK || stage_read_all(stage) != PAWL_OK)
        oracle_complain(&stage->oracle, "afterwards: %s", stage->error.sentence);
    (void)stage_close(stage); /* said above, if anything is wrong */
}

static void perform(struct trial *trial, struct sweep_report *report) {
    struct stage stage;
    stage_init(&stage, trial->kill_at);
    trial->stage = &stage;
    stage_run(&stage, prepare, NULL);
    struct world *world = stage.world;
    (void)world_spawn(world, inherit, trial);
    (void)world_run(world); /* stranded: the heir waits */
    const uint64_t faults = world_fault_count(world, trial->manner->fault);
    (void)world_spawn(world, die, trial);
    trial->was_killed = world_run(world) == WORLD_DIED;
    world_plan_fault(world, trial->manner->fault, 0);
    disk_forget_errors(world_disk(world)); /* its inode was evicted meanwhile */
    trial->was_faulty = world_fault_count(world, trial->manner->fault) > faults;
    (void)world_spawn(world, wake, trial);
    (void)world_run(world);
    stage_run(&stage, judge, NULL);
    report->tried++;
    if (!oracle_is_content(&stage.oracle) && report->failed++ < 8)
        printf("who %s dies at call %llu, fault %llu, %s %llu of the heir fails: %s\n",
               trial->manner->name, (unsigned long long)trial->kill_at,
               (unsigned long long)trial->fault_at,
               trial->failure == NULL ? "call" : call_name(trial->failure->call),
               (unsigned long long)trial->failure_at, stage.oracle.complaint);
    stage_deinit(&stage);
}

/* Each call of the heir's that may fail, once. */
static void sweep_failures(const struct trial *found, struct sweep_report *report) {
    for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
        struct trial trial;
        uint64_t failure_at = 0;
        do {
            trial = (struct trial){.manner = found->manner,
                                   .kill_at = found->kill_at,
                                   .fault_at = found->fault_at,
                                   .failure = &failures[i],
                                   .failure_at = ++failure_at};
            perform(&trial, report);
        } while (trial.has_failed);
    }
}

/* Every call at which it may die, with the fault at one of its chances. */
static void sweep_kills(const struct manner *manner, uint64_t fault_at, struct sweep_report *report,
                        bool *ret_was_faulty) {
    bool was_killed = true, was_faulty = fault_at == 0;
    for (uint64_t kill_at = 1; was_killed; kill_at++) {
        if (report->alike++ % report->every != 0 && fault_at != 0)
            continue;
        struct trial trial = {.manner = manner, .kill_at = kill_at, .fault_at = fault_at};
        perform(&trial, report);
        was_killed = trial.was_killed;
        was_faulty |= trial.was_faulty;
        if (manner->is_followed && trial.was_killed && trial.was_faulty)
            sweep_failures(&trial, report);
    }
    *ret_was_faulty = was_faulty;
}

void sweep_heirs(struct sweep_report *report) {
    for (size_t i = 0; i < sizeof manners / sizeof manners[0]; i++) {
        bool was_faulty = true;
        for (uint64_t fault_at = 0; was_faulty; fault_at++)
            sweep_kills(&manners[i], fault_at, report, &was_faulty);
    }
}

#include "sweep.h"

#include "stage.h"
#include "status.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* What is done while a call fails; it may fail itself, but must say so and leave nothing wrong. */
struct operation {
    const char *name;
    bool needs_store; /* there is one, closed */
    bool is_unclean;  /* and the power was cut before it was closed */
    bool is_open;     /* it is open before the call fails */
    pawl_status (*run)(struct stage *stage);
};

static pawl_status run_open(struct stage *stage) {
    return stage_open(stage);
}

static pawl_status run_append(struct stage *stage) {
    return stage_append(stage, 300, false, LOG_ORDINARY);
}

static pawl_status run_append_durable(struct stage *stage) {
    return stage_append(stage, 300, true, LOG_ORDINARY);
}

static pawl_status run_append_finishing(struct stage *stage) {
    return stage_append(stage, 300, true, LOG_FINISHING);
}

/* Large enough to need a segment of its own. */
static pawl_status run_append_large(struct stage *stage) {
    return stage_append(stage, 20000, true, LOG_ORDINARY);
}

static pawl_status run_roll(struct stage *stage) {
    pawl_status status = PAWL_OK;
    for (int i = 0; i < 12 && status == PAWL_OK; i++)
        status = stage_append(stage, 900, false, LOG_FINISHING);
    return status;
}

static pawl_status run_upkeep(struct stage *stage) {
    return log_maintain(stage->log, &stage->error);
}

static pawl_status run_mark(struct stage *stage) {
    return log_mark(stage->log, 0, OS_NO_DEADLINE, &stage->error);
}

static pawl_status run_close(struct stage *stage) {
    const pawl_status status = stage_close(stage);
    stage->log = NULL;
    return status;
}

static const struct operation operations[] = {
    {"create", false, false, false, run_open},
    {"open", true, false, false, run_open},
    {"recover", true, true, false, run_open},
    {"append", true, false, true, run_append},
    {"append durable", true, false, true, run_append_durable},
    {"append finishing", true, false, true, run_append_finishing},
    {"append large", true, false, true, run_append_large},
    {"roll", true, false, true, run_roll},
    {"read", true, false, true, stage_read_all},
    {"upkeep", true, false, true, run_upkeep},
    {"mark", true, false, true, run_mark},
    {"close", true, false, true, run_close},
};

/* One failing call. */
struct trial {
    const struct operation *operation;
    enum call call;
    uint64_t number;
    int os_errno;
    bool for_ever;
    bool was_reached;
};

static int errno_of(enum call call) {
    switch (call) {
    case CALL_ZERO_FILL:
    case CALL_TRUNCATE: return ENOSPC;
    case CALL_FILE_OPEN:
    case CALL_DIR_OPEN: return EMFILE;
    case CALL_ALLOCATE:
    case CALL_MAP: return ENOMEM;
    default: return EIO;
    }
}

static void prepare(struct stage *stage, void *context) {
    const struct operation *operation = context;
    if (!operation->needs_store)
        return;
    if (stage_open(stage) != PAWL_OK)
        oracle_complain(&stage->oracle, "preparing: %s", stage->error.sentence);
    else
        stage_fill(stage, 2);
    if (oracle_is_content(&stage->oracle) && !operation->is_unclean)
        (void)stage_close(stage);
    if (operation->is_unclean)
        stage_cut_power(stage);
}

static void try_it(struct stage *stage, void *context) {
    struct trial *trial = context;
    const struct operation *operation = trial->operation;
    stage->log = NULL;
    if (operation->is_open && stage_open(stage) != PAWL_OK) {
        oracle_complain(&stage->oracle, "opening before: %s", stage->error.sentence);
        return;
    }
    world_fail_call(stage->world, trial->call, trial->number, trial->os_errno, trial->for_ever);
    const pawl_status status = operation->run(stage);
    trial->was_reached = world_call_count(stage->world, trial->call) >= trial->number;
    world_fail_call(stage->world, trial->call, 0, 0, false);
    if (status == PAWL_DAMAGED || status == PAWL_INTERNAL || status == PAWL_VERSION)
        oracle_complain(&stage->oracle, "it says %s: %s", status_name(status),
                        stage->error.sentence);
    const bool is_open = operation->is_open || status == PAWL_OK;
    if (is_open && stage->log != NULL)
        (void)stage_close(stage); /* may tell of the same fault */
}

/* With no fault any more everything must be there, and go on. */
static void judge(struct stage *stage, void *context) {
    const struct trial *trial = context;
    if (stage_open(stage) != PAWL_OK) {
        oracle_complain(&stage->oracle, "can't be opened afterwards: %s", stage->error.sentence);
        return;
    }
    stage->oracle.may_lose |= trial->call == CALL_FILE_SYNC;
    oracle_recovered(&stage->oracle, stage->opening.recovered_lsn);
    if (stage_append(stage, 100, true, LOG_ORDINARY) != PAWL_OK || stage_read_all(stage) != PAWL_OK)
        oracle_complain(&stage->oracle, "afterwards: %s", stage->error.sentence);
    if (stage_close(stage) != PAWL_OK)
        oracle_complain(&stage->oracle, "closing afterwards: %s", stage->error.sentence);
}

static void perform(struct trial *trial, struct sweep_report *report) {
    struct stage stage;
    stage_init(&stage, 1);
    stage_run(&stage, prepare, (void *)(uintptr_t)trial->operation);
    stage_run(&stage, try_it, trial);
    stage_run(&stage, judge, trial);
    report->tried++;
    if (!oracle_is_content(&stage.oracle) && report->failed++ < 8)
        printf("%s, %s number %llu fails%s: %s\n", trial->operation->name, call_name(trial->call),
               (unsigned long long)trial->number, trial->for_ever ? " from then on" : "",
               stage.oracle.complaint);
    stage_deinit(&stage);
}

void sweep_errors(struct sweep_report *report) {
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        for (int call = 0; call < CALL_COUNT; call++) {
            for (int for_ever = 0; for_ever < 2; for_ever++) {
                struct trial trial = {.operation = &operations[i],
                                      .call = (enum call)call,
                                      .os_errno = errno_of((enum call)call),
                                      .for_ever = for_ever != 0};
                do {
                    trial.number++;
                    perform(&trial, report);
                } while (trial.was_reached);
            }
        }
    }
}

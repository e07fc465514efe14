#include "sweep.h"

#include "recovery.h"
#include "segment.h"
#include "stage.h"
#include "status.h"

#include <stdio.h>

/* The power fails while a log is opened that a power cut has left with an end in the midst of its
 * segments, and again while what the first opening left is opened. */

enum {
    BASES = 16,       /* logs */
    BASE_SEEDS = 400, /* are enough to find so many */
    CHOICES = 3,      /* of what survives a cut at one call */
    SPAN = 5000,      /* a payload of which a segment holds one */
    ORDINALS = 64,
};

struct base {
    struct stage stage;
    uint64_t seed;
    uint64_t calls; /* of the opening and the appends after it */
};

struct trial {
    uint64_t cut_at;   /* the call of the first opening at which the power is cut; 0: at none */
    uint64_t again_at; /* of the second */
    bool has_removed;  /* the opening removed segments */
    uint64_t calls;    /* there were so many calls */
    uint64_t last_tail_lsn; /* the log's end, as the last opening saw it */
};

/* Unsynced frames in several segments, of which any may survive. */
static void make_store(struct stage *stage, void *context) {
    (void)context;
    if (stage_open(stage) != PAWL_OK) {
        oracle_complain(&stage->oracle, "making: %s", stage->error.sentence);
        return;
    }
    for (uint32_t i = 0; i < 30; i++) {
        if (stage_append(stage, 300 + i % 9 * 200, i < 3, LOG_ORDINARY) != PAWL_OK)
            oracle_complain(&stage->oracle, "filling: %s", stage->error.sentence);
    }
    stage_cut_power(stage);
}

static bool is_written(const struct disk_inode *inode) {
    for (size_t i = SEGMENT_DATA_AT; i < inode->seen_bytes; i++) {
        if (inode->seen[i] != 0)
            return true;
    }
    return false;
}

/* Up to the last that has begun there is no gap. Blank ones behind it are nothing to anybody. */
static void check_names(struct stage *stage) {
    const struct disk *disk = world_disk(stage->world);
    bool is_there[ORDINALS] = {false};
    uint64_t ordinal, last = 0;
    for (size_t i = 0; i < disk->live_count; i++) {
        if (!segment_parse_name(disk->live[i].name, &ordinal) || ordinal >= ORDINALS)
            continue;
        is_there[ordinal] = true;
        if (ordinal > last && is_written(&disk->inodes[disk->live[i].inode]))
            last = ordinal;
    }
    for (ordinal = 1; ordinal <= last; ordinal++) {
        if (!is_there[ordinal])
            oracle_complain(&stage->oracle, "segment %llu is not there, and %llu has begun",
                            (unsigned long long)ordinal, (unsigned long long)last);
    }
}

/* Opens the log, whose end must be what the oracle lets it be. */
static bool open_and_look(struct stage *stage, const char *when) {
    if (stage_open(stage) != PAWL_OK) {
        oracle_complain(&stage->oracle, "%s: can't be opened: %s", when, stage->error.sentence);
        return false;
    }
    oracle_recovered(&stage->oracle, stage->opening.recovered_lsn);
    check_names(stage);
    if (stage_read_all(stage) != PAWL_OK)
        oracle_complain(&stage->oracle, "%s: reading: %s", when, stage->error.sentence);
    return true;
}

/* One frame in each of the segments that the cut may have left something in. */
static void append_over(struct stage *stage) {
    for (uint32_t i = 0; i < 4; i++) {
        if (stage_append(stage, SPAN + i, i % 2 == 1, LOG_ORDINARY) != PAWL_OK)
            oracle_complain(&stage->oracle, "appending: %s", stage->error.sentence);
    }
}

static void open_and_append(struct stage *stage, void *context) {
    struct trial *trial = context;
    world_fail_call(stage->world, CALL_UNLINK, 0, 0, false); /* counts from here on */
    world_plan_fault(stage->world, FAULT_POWER, trial->cut_at);
    if (stage_open(stage) != PAWL_OK) {
        oracle_complain(&stage->oracle, "it can't be opened: %s", stage->error.sentence);
        return;
    }
    oracle_recovered(&stage->oracle, stage->opening.recovered_lsn);
    trial->has_removed = world_call_count(stage->world, CALL_UNLINK) > 0;
    append_over(stage);
    trial->calls = world_openings(stage->world, FAULT_POWER);
    world_plan_fault(stage->world, FAULT_POWER, 0);
    (void)stage_close(stage); /* nothing fails here */
}

static void open_only(struct stage *stage, void *context) {
    const struct trial *trial = context;
    world_plan_fault(stage->world, FAULT_POWER, trial->again_at);
    if (open_and_look(stage, "after the cut"))
        (void)stage_close(stage); /* as for an opening that appends nothing */
}

/* Twice, with nothing between: the second opening finds what the first one said. */
static void judge(struct stage *stage, void *context) {
    struct trial *trial = context;
    for (int i = 0; i < 2; i++) {
        if (!open_and_look(stage, i == 0 ? "then" : "once more"))
            return;
        const enum recovery_row row = stage->opening.row;
        if (i == 1 && row != RECOVERY_CLEAN)
            oracle_complain(&stage->oracle, "after a closing: %s", recovery_row_name(row));
        if (i == 1 && stage->opening.recovered_lsn < trial->last_tail_lsn)
            oracle_complain(&stage->oracle, "it ended at %llu, then at %llu",
                            (unsigned long long)trial->last_tail_lsn,
                            (unsigned long long)stage->opening.recovered_lsn);
        trial->last_tail_lsn = log_tail(stage->log);
        if (i == 1)
            append_over(stage);
        if (stage_close(stage) != PAWL_OK)
            oracle_complain(&stage->oracle, "closing: %s", stage->error.sentence);
    }
}

static void judge_last(struct stage *stage, void *context) {
    (void)context;
    if (open_and_look(stage, "at last"))
        (void)stage_close(stage); /* nothing is appended after it */
}

/* No more cuts are planned; what was not synced may be gone. */
static void after_cut(struct stage *stage) {
    world_plan_fault(stage->world, FAULT_POWER, 0);
    stage->oracle.may_lose = true;
}

static void perform(struct base *base, struct trial *trial, uint64_t choice,
                    struct sweep_report *report) {
    struct stage stage;
    stage_init(&stage, base->seed * 1000 + choice);
    disk_copy(world_disk(stage.world), world_disk(base->stage.world));
    oracle_borrow(&stage.oracle, &base->stage.oracle);
    stage.oracle.may_lose = true;
    stage_run(&stage, open_and_append, trial);
    if (trial->cut_at != 0) {
        after_cut(&stage);
        stage_run(&stage, open_only, trial);
        after_cut(&stage);
        stage_run(&stage, judge, trial);
        world_cut_power(stage.world);
        after_cut(&stage);
        stage_run(&stage, judge_last, NULL);
        report->tried++;
    }
    if (!oracle_is_content(&stage.oracle) && report->failed++ < 8)
        printf("log %llu, power cut at call %llu, then %llu, choice %llu: %s\n",
               (unsigned long long)base->seed, (unsigned long long)trial->cut_at,
               (unsigned long long)trial->again_at, (unsigned long long)choice,
               stage.oracle.complaint);
    stage_deinit(&stage);
}

/* A log from which the opening has something to remove. False: this seed gives none. */
static bool base_init(struct base *base, uint64_t seed, struct sweep_report *report) {
    *base = (struct base){.seed = seed};
    stage_init(&base->stage, seed);
    stage_run(&base->stage, make_store, NULL);
    struct trial trial = {0};
    perform(base, &trial, 0, report);
    base->calls = trial.calls;
    if (trial.has_removed)
        return true;
    stage_deinit(&base->stage);
    return false;
}

static void sweep_base(struct base *base, struct sweep_report *report) {
    struct prng prng = prng_stream(base->seed, 1);
    for (uint64_t cut_at = 1; cut_at <= base->calls; cut_at++) {
        for (uint64_t choice = 0; choice < CHOICES; choice++) {
            /* The first choice lets the second opening end. */
            const uint64_t again_at = choice == 0 ? 0 : prng_between(&prng, 1, base->calls);
            if (report->alike++ % report->every != 0)
                continue;
            struct trial trial = {.cut_at = cut_at, .again_at = again_at};
            perform(base, &trial, 1 + cut_at * CHOICES + choice, report);
        }
    }
}

void sweep_recovery(struct sweep_report *report) {
    unsigned bases = 0;
    for (uint64_t seed = 1; seed <= BASE_SEEDS && bases < BASES; seed++) {
        struct base base;
        if (!base_init(&base, seed, report))
            continue;
        bases++;
        sweep_base(&base, report);
        stage_deinit(&base.stage);
    }
    if (bases < BASES) {
        report->failed++;
        printf("only %u of %d seeds give a log with something to remove\n", bases, BASE_SEEDS);
    }
}

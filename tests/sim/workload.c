#include "workload.h"

#include "act.h"
#include "footer.h"
#include "log.h"
#include "oracle.h"
#include "segment.h"
#include "swarm.h"

#include <stdlib.h>
#include <string.h>

enum {
    ACTORS_MAX = 4,
    PAYLOAD_BYTES_MAX = 20000,
    OPEN_TRIES = 400,
};

struct run {
    struct world *world;
    struct oracle oracle;
    struct prng prng; /* of what the actors do */
    struct workload_report *report;
    uint64_t segment_bytes, reserve_bytes;
    uint32_t payload_bytes_max;
    unsigned sync_per_100;
    bool is_healed, has_stops;
    size_t operations;     /* of each actor between opening and closing */
    uint64_t syncs_failed; /* before the last recovery */
    uint64_t recovery;     /* the last one */
    uint64_t marked_lsn;   /* a mark was confirmed that proves so much */
    uint64_t latched;      /* the recovery since which somebody was told that a sync failed */
};

/* One process; its second thread uses the same handle. */
struct actor {
    struct run *run;
    struct os *os;
    struct log *log;
    uint64_t recovery;        /* since which the handle is open */
    uint64_t appended_lsn;    /* the end of what it has appended */
    _Atomic uint32_t helpers; /* threads that use the handle, but the first */
};

/* A status that no fault explains is a bug. */
static void expect_explained(struct run *run, const char *what, pawl_status status,
                             const pawl_error *error) {
    if (status == PAWL_DAMAGED || status == PAWL_INTERNAL || status == PAWL_VERSION ||
        status == PAWL_INVALID || status == PAWL_NOT_FOUND)
        oracle_complain(&run->oracle, "%s: %s: %s", what, status_name(status), error->sentence);
    const bool is_quiet = run->is_healed && status != PAWL_FAILED && status != PAWL_FAILED_SYNC;
    if (is_quiet && status != PAWL_OK && status != PAWL_EMPTY && status != PAWL_PENDING &&
        status != PAWL_BUSY)
        oracle_complain(&run->oracle, "%s, with no fault left: %s: %s", what, status_name(status),
                        error->sentence);
}

/* ---- Reading ---- */

/* All of the log, against the oracle. */
static void read_all(struct run *run, struct log *log) {
    uint64_t proved_lsn;
    pawl_error error;
    const uint64_t marked_lsn = run->marked_lsn;
    const pawl_status status = act_read_all(&run->oracle, log, &proved_lsn, &error);
    expect_explained(run, "reading", status, &error);
    if (status == PAWL_OK && proved_lsn < marked_lsn)
        oracle_complain(&run->oracle, "%llu was marked as durable, and the log proves %llu",
                        (unsigned long long)marked_lsn, (unsigned long long)proved_lsn);
}

/* ---- What an actor does ---- */

/* What a call that promises durability up to `lsn` has said. */
static void note_promise(struct actor *actor, pawl_status status, uint64_t lsn) {
    if (status == PAWL_OK)
        oracle_confirmed(&actor->run->oracle, lsn);
    if (status == PAWL_FAILED_SYNC || status == PAWL_FAILED)
        actor->run->latched = actor->recovery;
}

/* One frame, with the lock held. */
static pawl_status append_one(struct actor *actor, uint32_t bytes, uint16_t flags,
                              uint64_t *ret_end_lsn) {
    pawl_error error;
    const pawl_status status =
        act_append(&actor->run->oracle, actor->log, bytes, flags, ret_end_lsn, &error);
    if (status == PAWL_OK && *ret_end_lsn > actor->appended_lsn)
        actor->appended_lsn = *ret_end_lsn;
    expect_explained(actor->run, "appending", status, &error);
    return status;
}

static uint32_t draw_payload_bytes(struct run *run) {
    const uint32_t most = prng_below(&run->prng, 8) == 0 ? run->payload_bytes_max : 600;
    return (uint32_t)prng_between(&run->prng, ORACLE_PAYLOAD_BYTES_MIN, most);
}

static pawl_status do_append(struct actor *actor) {
    struct run *run = actor->run;
    const uint32_t bytes = draw_payload_bytes(run);
    const bool is_durable = prng_below(&run->prng, 100) < run->sync_per_100;
    const enum log_class class = prng_below(&run->prng, 4) == 0 ? LOG_FINISHING : LOG_ORDINARY;
    const uint16_t flags = is_durable ? FRAME_NEEDS_SYNC : 0;
    const unsigned count = prng_below(&run->prng, 6) == 0 ? 3 : 1;
    uint64_t end_lsn = 0;
    pawl_error error;
    for (unsigned i = 0; i < count; i++) {
        const bool was_latched = run->latched == actor->recovery;
        pawl_status status =
            log_lock(actor->log, act_frame_bytes(bytes), class, act_deadline(actor->os), &error);
        if (status == PAWL_OK && was_latched)
            oracle_complain(&run->oracle, "appending goes on after a failed sync");
        expect_explained(run, "locking", status, &error);
        if (status == PAWL_BUSY && !run->has_stops)
            oracle_complain(&run->oracle, "busy, and nobody was stopped: %s", error.sentence);
        TRY(status);
        status = append_one(actor, bytes, flags, &end_lsn);
        log_unlock(actor->log);
        TRY(status);
    }
    if (!is_durable)
        return PAWL_OK;
    const uint64_t deadline = prng_below(&run->prng, 10) == 0
                                  ? os_clock_boot(actor->os) + prng_below(&run->prng, 300000)
                                  : OS_NO_DEADLINE;
    const pawl_status status = log_wait_durable(actor->log, end_lsn, deadline, &error);
    note_promise(actor, status, end_lsn);
    expect_explained(run, "waiting", status, &error);
    return status == PAWL_PENDING ? PAWL_OK : status;
}

static pawl_status do_upkeep(struct actor *actor) {
    pawl_error error;
    const pawl_status status = log_maintain(actor->log, &error);
    expect_explained(actor->run, "upkeep", status, &error);
    note_promise(actor, status, 0);
    return status;
}

static pawl_status do_mark(struct actor *actor) {
    pawl_error error;
    const uint64_t tail = log_tail(actor->log);
    const pawl_status status = log_mark(actor->log, 0, act_deadline(actor->os), &error);
    note_promise(actor, status, tail);
    if (status == PAWL_OK && tail > actor->run->marked_lsn)
        actor->run->marked_lsn = tail;
    expect_explained(actor->run, "marking", status, &error);
    return status;
}

/* A few frames of what is confirmable, from somewhere that a reader knows. */
static pawl_status do_follow(struct actor *actor) {
    struct run *run = actor->run;
    struct log_reader *reader;
    pawl_error error;
    pawl_status status = log_reader_open(actor->log, log_first(actor->log), &reader, &error);
    if (status != PAWL_OK)
        return status;
    struct oracle_reading *reading = oracle_read_begin(&run->oracle);
    uint64_t proved_lsn = 0;
    for (unsigned i = 0; i < 20 && status == PAWL_OK; i++)
        status = act_read(&run->oracle, reading, reader, LOG_TO_CONFIRMABLE, &proved_lsn, &error);
    expect_explained(run, "following", status, &error);
    log_reader_close(reader);
    return status == PAWL_EMPTY ? PAWL_OK : status;
}

static pawl_status do_wait_for_more(struct actor *actor) {
    pawl_error error;
    const uint64_t until = os_clock_boot(actor->os) + prng_below(&actor->run->prng, 200000000U);
    const pawl_status status = log_wait_tail(actor->log, log_tail(actor->log), until, &error);
    expect_explained(actor->run, "waiting for more", status, &error);
    return status == PAWL_EMPTY ? PAWL_OK : status;
}

static pawl_status do_something(struct actor *actor) {
    /* What anybody sees as durable must be there after any crash. */
    oracle_confirmed(&actor->run->oracle, log_durable(actor->log));
    switch (prng_below(&actor->run->prng, 16)) {
    case 0: return do_upkeep(actor);
    case 1: return do_mark(actor);
    case 2: return do_follow(actor);
    case 3: return do_wait_for_more(actor);
    default: return do_append(actor);
    }
}

/* Is the handle of no more use? Everything else may be tried again. */
static bool is_final(pawl_status status) {
    return status == PAWL_FAILED || status == PAWL_FAILED_SYNC || status == PAWL_INTERNAL ||
           status == PAWL_DAMAGED;
}

static void do_operations(struct actor *actor, size_t count) {
    for (size_t i = 0; i < count && oracle_is_content(&actor->run->oracle); i++) {
        if (is_final(do_something(actor)))
            return;
    }
}

static void helper_main(struct process *process, void *context) {
    (void)process;
    struct actor *actor = context;
    do_operations(actor, actor->run->operations);
    atomic_fetch_sub(&actor->helpers, 1);
}

/* ---- Opening and closing ---- */

static void note_opening(struct run *run, const struct log_opening *opening) {
    run->report->openings++;
    if (opening->was_alone)
        run->report->rows[opening->row]++;
    /* Who recovered may have died before it could say so: the first to come after it does. */
    if (opening->recovery == run->recovery)
        return;
    run->recovery = opening->recovery;
    /* A sync that failed may have been told to one who died of it. */
    const uint64_t syncs_failed =
        world_fault_count(run->world, FAULT_SYNC) + world_fault_count(run->world, FAULT_WRITE_BACK);
    run->oracle.may_lose |= syncs_failed != run->syncs_failed;
    run->syncs_failed = syncs_failed;
    run->report->recoveries++;
    oracle_recovered(&run->oracle, opening->recovered_lsn);
}

static pawl_status actor_open(struct actor *actor, bool is_exclusive) {
    struct run *run = actor->run;
    struct log_options options = act_options(run->segment_bytes, run->reserve_bytes);
    options.exclusive = is_exclusive;
    pawl_status status = PAWL_BUSY;
    pawl_error error;
    for (int i = 0; i < OPEN_TRIES && status != PAWL_OK; i++) {
        struct log_opening opening;
        status = log_open(actor->os, act_store, &options, &actor->log, &opening, &error);
        if (status == PAWL_OK) {
            note_opening(run, &opening);
            actor->recovery = opening.recovery;
            actor->appended_lsn = 0;
        }
        expect_explained(run, "opening", status, &error);
        if (!oracle_is_content(&run->oracle))
            return status;
    }
    return status;
}

static void actor_close(struct actor *actor) {
    pawl_error error;
    /* Closing syncs what was written through the handle. */
    const uint64_t appended_lsn = actor->appended_lsn;
    const pawl_status status = log_close(actor->log, &error);
    note_promise(actor, status, appended_lsn);
    expect_explained(actor->run, "closing", status, &error);
}

static void actor_main(struct process *process, void *context) {
    struct actor actor = {.run = context, .os = process_os(process)};
    struct run *run = actor.run;
    const uint64_t rounds = prng_between(&run->prng, 1, 3);
    for (uint64_t round = 0; round < rounds && oracle_is_content(&run->oracle); round++) {
        if (actor_open(&actor, prng_below(&run->prng, 12) == 0) != PAWL_OK)
            return;
        if (prng_below(&run->prng, 3) == 0) {
            atomic_store(&actor.helpers, 1);
            process_thread(process, helper_main, &actor);
        }
        do_operations(&actor, run->operations);
        while (atomic_load(&actor.helpers) > 0)
            os_pause(actor.os, 100000);
        if (prng_below(&run->prng, 4) == 0)
            read_all(run, actor.log);
        actor_close(&actor);
    }
}

/* ---- The last look ---- */

static void judge_main(struct process *process, void *context) {
    struct actor actor = {.run = context, .os = process_os(process)};
    struct run *run = actor.run;
    uint64_t tails[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        if (actor_open(&actor, false) != PAWL_OK) {
            oracle_complain(&run->oracle, "the store can't be opened, with no fault left");
            return;
        }
        tails[i] = log_tail(actor.log);
        read_all(run, actor.log);
        if (i == 1 && do_append(&actor) != PAWL_OK)
            oracle_complain(&run->oracle, "nothing can be appended, with no fault left");
        if (i == 1)
            read_all(run, actor.log);
        actor_close(&actor);
    }
    /* The first closing may have written a mark, and for it gone on to another segment. */
    const uint64_t closing =
        frame_bytes(0, 0) + frame_bytes(FOOTER_METADATA_BYTES, 0) + SEGMENT_START_FRAME_BYTES;
    if (tails[1] < tails[0] || tails[1] > tails[0] + closing)
        oracle_complain(&run->oracle, "opened twice: the log ends at %llu, then at %llu",
                        (unsigned long long)tails[0], (unsigned long long)tails[1]);
}

/* ---- A seed ---- */

static void choose(struct run *run, struct world_options *options) {
    static const uint64_t segments[] = {SEGMENT_BYTES_MIN, 12 * 1024, 16 * 1024, 32 * 1024,
                                        64 * 1024};
    struct prng *prng = &run->prng;
    run->segment_bytes = segments[prng_below(prng, 5)];
    run->reserve_bytes = prng_below(prng, 2) * 8192;
    run->payload_bytes_max = prng_below(prng, 4) == 0 ? PAYLOAD_BYTES_MAX : 3000;
    run->sync_per_100 = (unsigned)prng_below(prng, 4) * 30;
    run->operations = (size_t)prng_between(prng, 4, 40);
    swarm_choose(options, prng);
    run->has_stops = options->chances[FAULT_STOP] > 0;
}

static void complain_of_news(struct run *run, enum world_news news) {
    if (swarm_complaint(news) != NULL)
        oracle_complain(&run->oracle, "%s %s", swarm_complaint(news), world_complaint(run->world));
}

/* Lets everybody come to an end; who dies is replaced for a while. */
static void run_actors(struct run *run, size_t actors) {
    size_t replaced = 0;
    for (size_t i = 0; i < actors; i++)
        (void)world_spawn(run->world, actor_main, run);
    while (oracle_is_content(&run->oracle)) {
        const enum world_news news = world_run(run->world);
        complain_of_news(run, news);
        if (news == WORLD_QUIET || !oracle_is_content(&run->oracle))
            return;
        if (news == WORLD_POWER)
            run->oracle.may_lose = true;
        const size_t wanted = news == WORLD_POWER ? actors : 1;
        for (size_t i = 0; i < wanted && replaced < 12; i++, replaced++)
            (void)world_spawn(run->world, actor_main, run);
    }
}

/* Turns one bit of a frame that was confirmed. */
static void plant_canary(struct run *run) {
    struct disk *disk = world_disk(run->world);
    const int inode = disk_lookup(disk, disk_lookup(disk, disk_lookup(disk, 0, act_store), "log"),
                                  "0000000001.seg");
    disk_flip(disk, inode, SEGMENT_DATA_AT + 20, 3);
}

void workload_run(uint64_t seed, enum workload_trick trick, FILE *trace,
                  struct workload_report *ret_report) {
    memset(ret_report, 0, sizeof *ret_report);
    struct run run = {.report = ret_report, .prng = prng_stream(seed, 10)};
    struct world_options options = {.seed = seed};
    oracle_init(&run.oracle);
    choose(&run, &options);
    run.world = world_make(&options);
    const size_t actors = (size_t)prng_between(&run.prng, 1, ACTORS_MAX);
    run_actors(&run, actors);
    if (oracle_is_content(&run.oracle) && prng_below(&run.prng, 2) == 0) {
        world_cut_power(run.world);
        run.oracle.may_lose = true;
    }
    world_heal(run.world);
    run.is_healed = true;
    if (trick == WORKLOAD_CANARY)
        plant_canary(&run);
    if (oracle_is_content(&run.oracle)) {
        (void)world_spawn(run.world, judge_main, &run);
        complain_of_news(&run, world_run(run.world));
    }
    if (!oracle_is_content(&run.oracle) && trace != NULL)
        world_print_trace(run.world, trace);
    memcpy(ret_report->complaint, run.oracle.complaint, sizeof run.oracle.complaint);
    ret_report->calls = world_calls(run.world);
    ret_report->frames = run.oracle.count;
    ret_report->confirmed = run.oracle.confirmed_lsn;
    ret_report->hash = world_hash(run.world);
    for (int i = 0; i < FAULT_COUNT; i++)
        ret_report->faults[i] = world_fault_count(run.world, (enum fault)i);
    world_free(run.world);
    oracle_deinit(&run.oracle);
}

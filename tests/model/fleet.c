#include "fleet.h"

#include "act.h"
#include "compare.h"
#include "frame.h"
#include "replica.h"
#include "swarm.h"
#include "truth.h"

#include <string.h>

enum {
    ACTORS_MAX = 4,
    OPEN_TRIES = 400,
    REPLACED_MAX = 12,
    METADATA_BYTES_MAX = 2048, /* what is drawn and is larger is not tried */
    PAYLOAD_BYTES_MAX = 3000,
};

struct fleet {
    struct world *world;
    struct oracle oracle;
    struct truth truth;
    struct prng prng; /* of what the processes do */
    struct fleet_report *report;
    uint64_t segment_bytes;
    unsigned sync_per_100;
    size_t operations; /* of each process between opening and closing */
    bool is_healed;
    uint64_t syncs_failed; /* before the last recovery */
    uint64_t recovery;     /* the last one */
};

/* One process. */
struct member {
    struct fleet *fleet;
    struct os *os;
    struct log *log;
    struct replica replica;
    bool has_compared; /* all of it, since it was opened */
};

/* A status that no fault explains is a bug. */
static void expect_explained(struct fleet *fleet, const char *what, pawl_status status,
                             const pawl_error *error) {
    const bool is_never_right = status == PAWL_DAMAGED || status == PAWL_INTERNAL ||
                                status == PAWL_VERSION || status == PAWL_INVALID ||
                                status == PAWL_NOT_FOUND;
    if (status != PAWL_OK && (is_never_right || fleet->is_healed))
        oracle_complain(&fleet->oracle, "%s%s: %s: %s", what,
                        fleet->is_healed ? ", with no fault left" : "", status_name(status),
                        error->sentence);
}

/* ---- The model ---- */

/* Is the frame that was tried in the log? Nobody appends meanwhile. */
static pawl_status find_tried(struct member *member, bool *ret_is_there, uint64_t *ret_end_lsn,
                              pawl_error *error) {
    const struct truth *truth = &member->fleet->truth;
    struct log_reader *reader;
    struct log_view view;
    *ret_is_there = false;
    if (log_tail(member->log) <= truth->tried.lsn)
        return PAWL_OK;
    TRY(log_reader_open(member->log, truth->tried.lsn, &reader, error));
    const pawl_status status = log_reader_next(reader, LOG_TO_TAIL, &view, error);
    if (status == PAWL_OK) {
        *ret_is_there =
            view.header.metadata_bytes == truth->frame.metadata_bytes &&
            memcmp(view.metadata, truth->frame.metadata, truth->frame.metadata_bytes) == 0;
        *ret_end_lsn = log_reader_lsn(reader);
    }
    log_reader_close(reader);
    return status;
}

/* Whoever tried a frame and did not live to see what became of it. */
static pawl_status settle_tried(struct member *member, pawl_error *error) {
    struct fleet *fleet = member->fleet;
    bool is_there;
    uint64_t end_lsn = 0;
    if (!fleet->truth.is_trying)
        return PAWL_OK;
    TRY(find_tried(member, &is_there, &end_lsn, error));
    if (is_there)
        truth_take(&fleet->truth, fleet->truth.tried.lsn, end_lsn);
    else
        truth_refuse(&fleet->truth);
    fleet->report->adopted += is_there;
    fleet->report->given_up += !is_there;
    return PAWL_OK;
}

/* With the lock held the state must be what the model says. */
static void compare(struct member *member, bool at_all) {
    struct fleet *fleet = member->fleet;
    const struct model *model = &fleet->truth.generator->model;
    const struct state *state = &member->replica.state;
    char complaint[COMPLAINT_BYTES] = "";
    if (fleet->truth.count == 0)
        return; /* the model's clock is ahead of a state that has seen no frame */
    fleet->report->compared++;
    const bool is_same = at_all
                             ? compare_all(model, state, complaint) && audit_state(state, complaint)
                             : compare_touched(model, state, complaint);
    if (!is_same)
        oracle_complain(&fleet->oracle, "at %llu: %s", (unsigned long long)state->applied_lsn,
                        complaint);
    if (state->nonsense != 0)
        oracle_complain(&fleet->oracle, "a record made no sense");
    member->has_compared |= at_all;
}

/* ---- What a process does ---- */

/* One frame, with the lock held and the state the model's. */
static pawl_status append_drawn(struct member *member, uint16_t flags, uint64_t *ret_end_lsn,
                                pawl_error *error) {
    static const uint8_t payload[PAYLOAD_BYTES_MAX];
    struct fleet *fleet = member->fleet;
    const uint64_t lsn = log_tail(member->log);
    const struct state_frame frame = truth_try(&fleet->truth, prng_next(&fleet->prng), lsn);
    const struct log_draft draft = {
        .metadata = frame.metadata,
        .metadata_bytes = (uint32_t)frame.metadata_bytes,
        .payload = payload,
        .payload_bytes = (uint32_t)prng_below(&fleet->prng, PAYLOAD_BYTES_MAX),
        .record_count = 1,
        .flags = flags,
        .time_us = frame.time_us,
    };
    if (frame.metadata_bytes > METADATA_BYTES_MAX) {
        truth_refuse(&fleet->truth);
        return PAWL_OK;
    }
    const pawl_status status = replica_append(&member->replica, &draft, ret_end_lsn, error);
    if (status == PAWL_OK) {
        truth_take(&fleet->truth, lsn, *ret_end_lsn);
        compare(member, false);
    } else if (status != PAWL_FAILED_SYNC) {
        truth_refuse(&fleet->truth); /* else it may be there */
    }
    return status;
}

static pawl_status do_change(struct member *member, uint16_t flags, uint64_t *ret_end_lsn,
                             pawl_error *error) {
    struct fleet *fleet = member->fleet;
    const enum log_class class = prng_below(&fleet->prng, 3) == 0 ? LOG_FINISHING : LOG_ORDINARY;
    const uint64_t bytes = frame_bytes(METADATA_BYTES_MAX, PAYLOAD_BYTES_MAX);
    TRY(replica_lock(&member->replica, bytes, class, act_deadline(member->os), error));
    pawl_status status = settle_tried(member, error);
    if (status == PAWL_OK) {
        compare(member, !member->has_compared || prng_below(&fleet->prng, 16) == 0);
        status = append_drawn(member, flags, ret_end_lsn, error);
    }
    replica_unlock(&member->replica);
    return status;
}

static pawl_status do_append(struct member *member, pawl_error *error) {
    struct fleet *fleet = member->fleet;
    const bool is_durable = prng_below(&fleet->prng, 100) < fleet->sync_per_100;
    uint64_t end_lsn = 0;
    TRY(do_change(member, is_durable ? FRAME_NEEDS_SYNC : 0, &end_lsn, error));
    if (!is_durable)
        return PAWL_OK;
    TRY(log_wait_durable(member->log, end_lsn, act_deadline(member->os), error));
    oracle_confirmed(&fleet->oracle, end_lsn);
    return PAWL_OK;
}

/* Is the handle of no more use? Everything else may be tried again. */
static bool is_final(pawl_status status) {
    return status == PAWL_FAILED || status == PAWL_FAILED_SYNC || status == PAWL_DAMAGED;
}

static pawl_status do_something(struct member *member) {
    struct fleet *fleet = member->fleet;
    pawl_error error;
    pawl_status status;
    /* What anybody sees as durable must be there after any crash. */
    oracle_confirmed(&fleet->oracle, log_durable(member->log));
    switch (prng_below(&fleet->prng, 12)) {
    case 0: status = log_maintain(member->log, &error); break;
    case 1: status = log_mark(member->log, 0, act_deadline(member->os), &error); break;
    case 2: status = replica_catch_up(&member->replica, &error); break;
    default: status = do_append(member, &error); break;
    }
    expect_explained(fleet, "working", status, &error);
    return status;
}

/* ---- Opening and closing ---- */

static void note_opening(struct fleet *fleet, const struct log_opening *opening) {
    fleet->report->openings++;
    /* Who recovered may have died before it could say so: the first to come after it does. */
    if (opening->recovery == fleet->recovery)
        return;
    fleet->recovery = opening->recovery;
    const uint64_t syncs_failed = world_fault_count(fleet->world, FAULT_SYNC) +
                                  world_fault_count(fleet->world, FAULT_WRITE_BACK);
    fleet->oracle.may_lose |= syncs_failed != fleet->syncs_failed;
    fleet->syncs_failed = syncs_failed;
    fleet->report->recoveries++;
    const size_t had = fleet->truth.count;
    truth_cut(&fleet->truth, opening->recovered_lsn);
    fleet->report->lost += had - fleet->truth.count;
}

static pawl_status member_open(struct member *member) {
    struct fleet *fleet = member->fleet;
    const struct log_options options = act_options(fleet->segment_bytes, 8192);
    pawl_status status = PAWL_BUSY;
    for (int i = 0; i < OPEN_TRIES && status != PAWL_OK; i++) {
        struct log_opening opening;
        pawl_error error;
        status = log_open(member->os, act_store, &options, &member->log, &opening, &error);
        if (status == PAWL_OK) {
            note_opening(fleet, &opening);
            status = replica_open(&member->replica, member->os, member->log, &error);
            if (status != PAWL_OK)
                (void)log_close(member->log, NULL);
        }
        expect_explained(fleet, "opening", status, &error);
        if (!oracle_is_content(&fleet->oracle))
            return status;
    }
    member->has_compared = false;
    return status;
}

static void member_close(struct member *member) {
    pawl_error error;
    replica_close(&member->replica);
    expect_explained(member->fleet, "closing", log_close(member->log, &error), &error);
}

static void member_main(struct process *process, void *context) {
    struct fleet *fleet = context;
    struct member member = {.fleet = fleet, .os = process_os(process)};
    const uint64_t rounds = prng_between(&fleet->prng, 1, 3);
    for (uint64_t round = 0; round < rounds && oracle_is_content(&fleet->oracle); round++) {
        if (member_open(&member) != PAWL_OK)
            return;
        for (size_t i = 0; i < fleet->operations && oracle_is_content(&fleet->oracle); i++) {
            if (is_final(do_something(&member)))
                break;
        }
        member_close(&member);
    }
}

/* ---- The last look ---- */

/* Opened by who slept through everything, twice; the store goes on. */
static void judge_main(struct process *process, void *context) {
    struct fleet *fleet = context;
    struct member member = {.fleet = fleet, .os = process_os(process)};
    for (int i = 0; i < 2 && oracle_is_content(&fleet->oracle); i++) {
        uint64_t end_lsn;
        pawl_error error;
        if (member_open(&member) != PAWL_OK)
            return;
        for (int j = 0; j < 3 && oracle_is_content(&fleet->oracle); j++)
            expect_explained(fleet, "working", do_change(&member, 0, &end_lsn, &error), &error);
        if (!member.has_compared)
            oracle_complain(&fleet->oracle, "nothing was compared at the end");
        member_close(&member);
    }
}

/* ---- A seed ---- */

static void fleet_choose(struct fleet *fleet, struct world_options *options) {
    struct prng *prng = &fleet->prng;
    fleet->segment_bytes = UINT64_C(8192) << prng_below(prng, 4);
    fleet->sync_per_100 = (unsigned)prng_below(prng, 4) * 30;
    fleet->operations = (size_t)prng_between(prng, 4, 40);
    swarm_choose(options, prng);
}

static void hear(struct fleet *fleet, enum world_news news) {
    if (swarm_complaint(news) != NULL)
        oracle_complain(&fleet->oracle, "%s %s", swarm_complaint(news),
                        world_complaint(fleet->world));
    fleet->oracle.may_lose |= news == WORLD_POWER;
}

/* Lets everybody come to an end; who dies is replaced for a while. */
static void fleet_sail(struct fleet *fleet) {
    const size_t members = (size_t)prng_between(&fleet->prng, 1, ACTORS_MAX);
    size_t wanted = members, replaced = 0;
    while (oracle_is_content(&fleet->oracle)) {
        for (; wanted > 0; wanted--)
            (void)world_spawn(fleet->world, member_main, fleet);
        const enum world_news news = world_run(fleet->world);
        hear(fleet, news);
        if (news == WORLD_QUIET)
            return;
        wanted = news == WORLD_POWER ? members : 1;
        if (replaced >= REPLACED_MAX)
            wanted = 0;
        replaced += wanted;
    }
}

static void fleet_judge(struct fleet *fleet) {
    if (oracle_is_content(&fleet->oracle) && prng_below(&fleet->prng, 2) == 0) {
        world_cut_power(fleet->world);
        fleet->oracle.may_lose = true;
    }
    world_heal(fleet->world);
    fleet->is_healed = true;
    if (!oracle_is_content(&fleet->oracle))
        return;
    (void)world_spawn(fleet->world, judge_main, fleet);
    hear(fleet, world_run(fleet->world));
}

void fleet_run(uint64_t seed, enum canary canary, FILE *trace, struct fleet_report *ret_report) {
    *ret_report = (struct fleet_report){0};
    struct fleet fleet = {.report = ret_report, .prng = prng_stream(seed, 20)};
    struct world_options options = {.seed = seed};
    oracle_init(&fleet.oracle);
    truth_init(&fleet.truth, seed, canary, &fleet.oracle);
    fleet_choose(&fleet, &options);
    fleet.world = world_make(&options);
    fleet_sail(&fleet);
    fleet_judge(&fleet);
    if (!oracle_is_content(&fleet.oracle) && trace != NULL)
        world_print_trace(fleet.world, trace);
    memcpy(ret_report->complaint, fleet.oracle.complaint, sizeof fleet.oracle.complaint);
    ret_report->calls = world_calls(fleet.world);
    ret_report->frames = fleet.truth.count;
    ret_report->hash = world_hash(fleet.world);
    for (int i = 0; i < FAULT_COUNT; i++)
        ret_report->faults[i] = world_fault_count(fleet.world, (enum fault)i);
    world_free(fleet.world);
    truth_deinit(&fleet.truth);
    oracle_deinit(&fleet.oracle);
}

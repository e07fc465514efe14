#include "actor.h"

#include "os_posix.h"
#include "story.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    GENEROUS_MS = 60 * 1000,
};

struct actor {
    const struct player_side *side;
    const struct actor_role *role;
    struct os *os;
    struct log *log;
    uint64_t counter; /* frames that it has appended */
};

static uint64_t actor_deadline(struct actor *actor, const struct order *order) {
    const uint64_t ms = order->patience_ms == 0 ? GENEROUS_MS : order->patience_ms;
    return os_clock_boot(actor->os) + ms * 1000000;
}

static pawl_status actor_open(struct actor *actor, const struct order *order, struct report *report,
                              pawl_error *error) {
    struct log_options options = actor->role->options;
    struct log_opening opening;
    if (order->patience_ms != 0)
        options.busy_ns = (uint64_t)order->patience_ms * 1000000;
    TRY(log_open(actor->os, actor->role->path, &options, &actor->log, &opening, error));
    report->value = (opening.was_created ? ACTOR_CREATED : 0U) |
                    (opening.was_alone ? ACTOR_ALONE : 0U) |
                    (opening.was_closed ? ACTOR_WAS_CLOSED : 0U);
    report->more = opening.row;
    return PAWL_OK;
}

static pawl_status actor_append_locked(struct actor *actor, const struct order *order,
                                       struct report *report, pawl_error *error) {
    const struct story story = {actor->side->process, order->filler_bytes, actor->counter + 1};
    const pawl_status status =
        story_append(actor->log, &story, true, &report->lsn, &report->end_lsn, error);
    log_unlock(actor->log);
    if (status == PAWL_OK)
        report->counter = ++actor->counter;
    return status;
}

static pawl_status actor_lock(struct actor *actor, const struct order *order, pawl_error *error) {
    const struct story story = {actor->side->process, order->filler_bytes, 0};
    return log_lock(actor->log, story_frame_bytes(&story), order->class,
                    actor_deadline(actor, order), error);
}

static pawl_status actor_append(struct actor *actor, const struct order *order,
                                struct report *report, pawl_error *error) {
    TRY(actor_lock(actor, order, error));
    return actor_append_locked(actor, order, report, error);
}

static pawl_status actor_read(struct actor *actor, struct report *report, pawl_error *error) {
    struct log_reader *reader;
    TRY(log_reader_open(actor->log, log_first(actor->log), &reader, error));
    pawl_status status;
    uint64_t count = 0;
    for (;;) {
        struct story story;
        uint64_t lsn, end_lsn;
        status = story_read(reader, &story, &lsn, &end_lsn, error);
        if (status != PAWL_OK)
            break;
        count++;
    }
    log_reader_close(reader);
    report->value = count;
    return status == PAWL_EMPTY ? PAWL_OK : status;
}

static pawl_status actor_close(struct actor *actor, pawl_error *error) {
    struct log *log = actor->log;
    actor->log = NULL;
    return log == NULL ? PAWL_OK : log_close(log, error);
}

static pawl_status actor_call(struct actor *actor, const struct order *order, struct report *report,
                              pawl_error *error) {
    switch ((enum actor_call)order->call) {
    case ACTOR_OPEN: return actor_open(actor, order, report, error);
    case ACTOR_CLOSE: return actor_close(actor, error);
    case ACTOR_LOCK: return actor_lock(actor, order, error);
    case ACTOR_APPEND: return actor_append(actor, order, report, error);
    case ACTOR_APPEND_LOCKED: return actor_append_locked(actor, order, report, error);
    case ACTOR_WAIT:
        return log_wait_durable(actor->log, log_tail(actor->log), actor_deadline(actor, order),
                                error);
    case ACTOR_MAINTAIN: return log_maintain(actor->log, error);
    case ACTOR_READ: return actor_read(actor, report, error);
    case ACTOR_TRAP: trap_set(&order->trap); return PAWL_OK;
    case ACTOR_STOP: (void)raise(SIGSTOP); return PAWL_OK;
    }
    return error_set(error, PAWL_INVALID, "no such call");
}

static void actor_obey(struct actor *actor, const struct order *order) {
    struct report report = {.kind = order->call};
    pawl_error error = {0};
    for (volatile uint32_t turn = 0; turn < order->spin; turn++)
        continue;
    report.status = actor_call(actor, order, &report, &error);
    report.takeovers = trap_takeovers();
    if (actor->log != NULL)
        report.tail_lsn = log_tail(actor->log);
    if (report.status != PAWL_OK)
        (void)snprintf(report.sentence, sizeof report.sentence, "%s", error.sentence);
    side_report(actor->side, &report);
}

void actor_part(const struct player_side *side, const void *role) {
    struct actor actor = {.side = side, .role = role};
    if (actor.role->file_bytes_max != 0) {
        const struct rlimit limit = {actor.role->file_bytes_max, RLIM_INFINITY};
        (void)signal(SIGXFSZ, SIG_IGN); /* these two have no way to fail for such arguments */
        (void)setrlimit(RLIMIT_FSIZE, &limit);
    }
    if (os_posix_create(&actor.os) != 0)
        _exit(1);
    trap_install(actor.os);
    struct order order;
    while (side_order(side, &order, sizeof order))
        actor_obey(&actor, &order);
    (void)actor_close(&actor, NULL); /* the driver has left */
    os_posix_destroy(actor.os);
}

/* ---- For the driver ---- */

bool actor_do(const struct player *player, const struct order *order, struct report *ret_report) {
    return player_tell(player, order, sizeof *order) && player_hear(player, ret_report);
}

bool actor_must(const struct player *player, enum actor_call call, struct report *ret_report) {
    static const char *const names[] = {
        [ACTOR_OPEN] = "opening",
        [ACTOR_CLOSE] = "closing",
        [ACTOR_LOCK] = "locking",
        [ACTOR_APPEND] = "appending",
        [ACTOR_APPEND_LOCKED] = "appending",
        [ACTOR_WAIT] = "waiting until durable",
        [ACTOR_MAINTAIN] = "upkeep",
        [ACTOR_READ] = "reading",
        [ACTOR_TRAP] = "setting a trap",
        [ACTOR_STOP] = "stopping",
    };
    const struct order order = {.call = call, .filler_bytes = 100};
    return actor_do(player, &order, ret_report) && report_must_be(ret_report, PAWL_OK, names[call]);
}

bool report_must_be(const struct report *report, pawl_status status, const char *what) {
    return report->status == status ||
           wrong("%s by process %u gave %s and should give %s: %s", what, report->process,
                 status_name(report->status), status_name(status), report->sentence);
}

bool report_must_name(const struct report *report, pawl_status status, pid_t pid,
                      const char *what) {
    char named[32];
    (void)snprintf(named, sizeof named, "process %d ", (int)pid);
    return report_must_be(report, status, what) &&
           (strstr(report->sentence, named) != NULL ||
            wrong("%s does not name process %d: %s", what, (int)pid, report->sentence));
}

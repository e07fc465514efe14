/* A process that has the store open forks. */
#include "crash.h"

#include "actor.h"
#include "os_posix.h"
#include "story.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum fork_report {
    FORK_CHILD_CALLED, /* a forked child called the log; the status is what came of it */
    FORK_APPENDED,
    FORK_CHILD_LEFT, /* value: the pid of a child that lives on; the lock is held */
    FORK_FAILED,
};

enum { CHILD_CALLS = 5 };

struct forker {
    const struct player_side *side;
    struct os *os;
    struct log *log;
    uint64_t counter;
};

static void forker_say(const struct forker *forker, enum fork_report kind, pawl_status status,
                       const pawl_error *error) {
    struct report report = {.kind = kind, .status = status};
    if (status != PAWL_OK)
        (void)snprintf(report.sentence, sizeof report.sentence, "%s", error->sentence);
    side_report(forker->side, &report);
}

static uint64_t forker_deadline(const struct forker *forker) {
    return os_clock_boot(forker->os) + 60000000000U;
}

static bool forker_append(struct forker *forker) {
    const struct story story = {forker->side->process, 100, forker->counter + 1};
    struct report report = {.kind = FORK_APPENDED, .counter = story.counter};
    pawl_error error;
    pawl_status status = log_lock(forker->log, story_frame_bytes(&story), LOG_ORDINARY,
                                  forker_deadline(forker), &error);
    if (status == PAWL_OK) {
        status = story_append(forker->log, &story, true, &report.lsn, &report.end_lsn, &error);
        log_unlock(forker->log);
    }
    if (status == PAWL_OK)
        status = log_wait_durable(forker->log, report.end_lsn, forker_deadline(forker), &error);
    if (status != PAWL_OK) {
        forker_say(forker, FORK_FAILED, status, &error);
        return false;
    }
    forker->counter++;
    side_report(forker->side, &report);
    return true;
}

/* Every call refuses, and closing leaves the parent's locks alone. */
static void forker_child_calls(struct forker *forker) {
    struct log *log = forker->log;
    const uint64_t deadline = forker_deadline(forker);
    pawl_error error = {0};
    pawl_status statuses[CHILD_CALLS];
    statuses[0] = log_lock(log, 100, LOG_ORDINARY, deadline, &error);
    statuses[1] = log_wait_durable(log, log_tail(log) + 1, deadline, &error);
    statuses[2] = log_wait_tail(log, log_tail(log), deadline, &error);
    statuses[3] = log_mark(log, 0, deadline, &error);
    statuses[4] = log_maintain(log, &error);
    for (size_t i = 0; i < CHILD_CALLS; i++)
        forker_say(forker, FORK_CHILD_CALLED, statuses[i], &error);
    (void)log_close(log, NULL); /* in a child it only lets go of memory */
    os_posix_destroy(forker->os);
}

static bool forker_fork_and_wait(struct forker *forker) {
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        forker_child_calls(forker);
        _exit(0);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    const pawl_error error = {.sentence = "the forked child did not end well"};
    if (child < 0 || status != 0)
        forker_say(forker, FORK_FAILED, PAWL_INTERNAL, &error);
    return child > 0 && status == 0;
}

/* The child lives until nobody can give it orders any more. */
static void forker_fork_and_leave(struct forker *forker) {
    struct report report = {.kind = FORK_CHILD_LEFT};
    pawl_error error;
    report.status = log_lock(forker->log, 100, LOG_ORDINARY, forker_deadline(forker), &error);
    const pid_t child = fork();
    if (child == 0) {
        uint8_t order;
        (void)close(forker->side->reports);
        while (side_order(forker->side, &order, 1))
            continue;
        _exit(0);
    }
    report.value = (uint64_t)child;
    if (child < 0)
        report.status = PAWL_INTERNAL;
    side_report(forker->side, &report);
    for (;;)
        (void)pause(); /* until it is killed */
}

static void forker_part(const struct player_side *side, const void *context) {
    const struct actor_role *role = context;
    struct forker forker = {.side = side};
    struct log_opening opening;
    pawl_error error;
    if (os_posix_create(&forker.os) != 0)
        _exit(1);
    const pawl_status status =
        log_open(forker.os, role->path, &role->options, &forker.log, &opening, &error);
    if (status != PAWL_OK)
        forker_say(&forker, FORK_FAILED, status, &error);
    else if (forker_append(&forker) && forker_fork_and_wait(&forker) && forker_append(&forker))
        forker_fork_and_leave(&forker);
}

/* ---- The driver ---- */

static bool fork_hear(const struct player *player, enum fork_report kind, pawl_status status,
                      struct report *ret_report) {
    return player_hear(player, ret_report) && report_must_be(ret_report, status, "a fork's call") &&
           (ret_report->kind == kind || wrong("it did another thing: %u", ret_report->kind));
}

static bool fork_children_refuse(struct player *forker, struct account *account) {
    struct report report;
    if (!fork_hear(forker, FORK_APPENDED, PAWL_OK, &report) || !account_append(account, &report))
        return false;
    for (int i = 0; i < CHILD_CALLS; i++) {
        if (!fork_hear(forker, FORK_CHILD_CALLED, PAWL_FORKED, &report))
            return false;
    }
    return fork_hear(forker, FORK_APPENDED, PAWL_OK, &report) && account_append(account, &report);
}

/* The parent dies with the append lock while its child lives. */
static bool fork_parent_dies(struct player *forker, struct player *other, struct account *account,
                             const struct actor_role *role) {
    struct report report, left;
    int status;
    if (!fork_hear(forker, FORK_CHILD_LEFT, PAWL_OK, &left))
        return false;
    const struct player child = {.pid = (pid_t)left.value};
    player_signal(forker, SIGKILL);
    const int orders = dup(forker->orders); /* the end of it would end the child */
    bool is_right = player_bury(forker, &status) && actor_must(other, ACTOR_APPEND, &report) &&
                    account_append(account, &report) && actor_must(other, ACTOR_CLOSE, &report) &&
                    player_dismiss(other) &&
                    account_check_store(account, role->path, &role->options);
    if (is_right && kill(child.pid, 0) != 0)
        is_right = wrong("the child of the dead did not live");
    player_signal(&child, SIGKILL);
    (void)close(orders);
    return is_right;
}

enum crash_result crash_fork(const struct crash_options *options) {
    struct player forker = {0}, other = {0};
    static struct account account;
    struct report report;
    char path[SCENE_PATH_BYTES];
    scene_make(path);
    const struct actor_role role = {
        .path = path,
        .options = {.segment_bytes = 64 * 1024, .busy_ns = 60000000000U, .create = true},
    };
    player_start(&other, "actor", 1, actor_part, &role);
    bool is_right = actor_must(&other, ACTOR_OPEN, &report);
    player_start(&forker, "forker", 2, forker_part, &role);
    is_right = is_right && fork_children_refuse(&forker, &account) &&
               fork_parent_dies(&forker, &other, &account, &role);
    players_kill_all();
    account_release(&account);
    scene_leave(path, !is_right && options->keeps);
    printf("fork: %d calls of a forked child refused; locks of a dead parent free while its child "
           "lives\n",
           CHILD_CALLS);
    return is_right ? CRASH_PASSED : CRASH_FAILED;
}

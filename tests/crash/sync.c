/* A sync fails under several processes. By a trap in the seam, and by strace in the kernel's
 * answer. */
#include "crash.h"

#include "actor.h"
#include "story.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ACTORS = 4,
    ROUNDS_MAX = 500,
    SMALL = 100,
};

struct sync_test {
    struct player actors[ACTORS];
    struct player again; /* opens it when it has failed, without any trap */
    struct account account;
    char path[SCENE_PATH_BYTES];
    struct actor_role role;
    uint64_t rounds;
};

static void sync_begin(struct sync_test *test) {
    memset(test, 0, sizeof *test);
    scene_make(test->path);
    test->role = (struct actor_role){
        .path = test->path,
        .options = {.segment_bytes = 1024 * 1024, .busy_ns = 60000000000U, .create = true},
    };
}

static bool sync_tell_all(struct sync_test *test, enum actor_call call) {
    const struct order order = {.call = call, .filler_bytes = SMALL};
    for (size_t i = 0; i < ACTORS; i++) {
        if (!player_tell(&test->actors[i], &order, sizeof order))
            return false;
    }
    return true;
}

/* Every one appends, then all wait until it is durable. All learn the same. */
static bool sync_round(struct sync_test *test, pawl_status *ret_status) {
    struct report reports[ACTORS];
    if (!sync_tell_all(test, ACTOR_APPEND))
        return false;
    for (size_t i = 0; i < ACTORS; i++) {
        if (!player_hear(&test->actors[i], &reports[i]) ||
            !report_must_be(&reports[i], PAWL_OK, "appending") ||
            !account_append(&test->account, &reports[i]))
            return false;
    }
    if (!sync_tell_all(test, ACTOR_WAIT))
        return false;
    for (size_t i = 0; i < ACTORS; i++) {
        if (!player_hear(&test->actors[i], &reports[i]))
            return false;
    }
    for (size_t i = 1; i < ACTORS; i++) {
        if (!report_must_be(&reports[i], reports[0].status, "waiting for what all wait for"))
            return false;
    }
    test->rounds++;
    *ret_status = reports[0].status;
    return reports[0].status == PAWL_OK ||
           report_must_be(&reports[0], PAWL_FAILED_SYNC, "waiting while a sync fails");
}

static bool sync_must(const struct player *player, enum actor_call call, pawl_status status,
                      const char *what) {
    const struct order order = {.call = call, .filler_bytes = SMALL};
    struct report report;
    return actor_do(player, &order, &report) && report_must_be(&report, status, what);
}

/* Nothing is written any more by anybody, until one opens the store alone. */
static bool sync_is_final(struct sync_test *test) {
    struct player *again = &test->again;
    struct report report;
    for (size_t i = 0; i < ACTORS; i++) {
        if (!sync_must(&test->actors[i], ACTOR_APPEND, PAWL_FAILED, "appending afterwards"))
            return false;
    }
    player_start(again, "actor", ACTORS + 1, actor_part, &test->role);
    if (!sync_must(again, ACTOR_OPEN, PAWL_OK, "joining afterwards") ||
        !sync_must(again, ACTOR_APPEND, PAWL_FAILED, "appending after joining") ||
        !sync_must(again, ACTOR_CLOSE, PAWL_OK, "closing what it wrote nothing to"))
        return false;
    for (size_t i = 0; i < ACTORS; i++) {
        if (!sync_must(&test->actors[i], ACTOR_CLOSE, PAWL_FAILED_SYNC, "closing afterwards"))
            return false;
    }
    return actor_must(again, ACTOR_OPEN, &report) &&
           ((report.value & ACTOR_ALONE) != 0 || wrong("it is not alone")) &&
           actor_must(again, ACTOR_APPEND, &report) && account_append(&test->account, &report) &&
           actor_must(again, ACTOR_WAIT, &report) && actor_must(again, ACTOR_CLOSE, &report);
}

static bool sync_end(struct sync_test *test, bool is_right, bool keeps) {
    for (size_t i = 0; i < ACTORS; i++)
        is_right = is_right && player_dismiss(&test->actors[i]);
    is_right = is_right && player_dismiss(&test->again);
    is_right = is_right && account_check_store(&test->account, test->path, &test->role.options);
    for (size_t i = 0; i < ACTORS; i++) {
        if (test->actors[i].pid != 0 && test->actors[i].orders >= 0) {
            (void)close(test->actors[i].orders); /* ends what strace runs, and with it strace */
            test->actors[i].orders = -1;
        }
    }
    players_kill_all();
    account_release(&test->account);
    scene_leave(test->path, !is_right && keeps);
    return is_right;
}

/* Whoever leads, its sync fails. */
static bool sync_by_trap(struct sync_test *test) {
    const struct order trap = {.call = ACTOR_TRAP, .trap = {.call = TRAP_SYNC, .error = EIO}};
    pawl_status status = PAWL_OK;
    struct report report;
    for (uint32_t i = 0; i < ACTORS; i++) {
        player_start(&test->actors[i], "actor", i + 1, actor_part, &test->role);
        if (!actor_must(&test->actors[i], ACTOR_OPEN, &report))
            return false;
    }
    if (!sync_round(test, &status))
        return false;
    for (uint32_t i = 0; i < ACTORS; i++) {
        if (!actor_do(&test->actors[i], &trap, &report))
            return false;
    }
    return sync_round(test, &status) && (status == PAWL_FAILED_SYNC || wrong("no sync failed")) &&
           sync_is_final(test);
}

enum crash_result crash_sync(const struct crash_options *options) {
    static struct sync_test test;
    sync_begin(&test);
    const bool is_right = sync_end(&test, sync_by_trap(&test), options->keeps);
    printf("sync: %d processes waited for a sync that failed, and were told; final until one "
           "opened alone\n",
           ACTORS);
    return is_right ? CRASH_PASSED : CRASH_FAILED;
}

/* ---- By strace ---- */

/* That sync of a traced process fails: none of its opening, which has fewer. */
#define INJECTION "inject=fdatasync:error=EIO:when=40"

struct traced_role {
    const char *path;
    const char *self;
};

static void traced_part(const struct player_side *side, const void *context) {
    const struct traced_role *role = context;
    char orders[16], reports[16];
    (void)snprintf(orders, sizeof orders, "%d", side->orders);
    (void)snprintf(reports, sizeof reports, "%d", side->reports);
    char process[16];
    (void)snprintf(process, sizeof process, "%u", side->process);
    (void)execlp("strace", "strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", "-e",
                 INJECTION, role->self, "--traced", role->path, process, orders, reports,
                 (char *)NULL);
    _exit(1);
}

int crash_traced_main(const char *path, const char *process, const char *orders,
                      const char *reports) {
    const struct player_side side = {(uint32_t)strtoul(process, NULL, 10),
                                     (int)strtol(orders, NULL, 10), (int)strtol(reports, NULL, 10)};
    const struct actor_role role = {
        .path = path,
        .options = {.segment_bytes = 1024 * 1024, .busy_ns = 60000000000U, .create = true},
    };
    actor_part(&side, &role);
    _exit(0); /* at a usual end a leak checker would want to trace it too */
}

static bool sync_by_strace(struct sync_test *test, const char *self) {
    struct report report;
    pawl_status status = PAWL_OK;
    const struct traced_role traced = {test->path, self};
    for (uint32_t i = 0; i < ACTORS; i++) {
        player_start(&test->actors[i], "traced actor", i + 1, traced_part, &traced);
        if (!actor_must(&test->actors[i], ACTOR_OPEN, &report))
            return false;
    }
    while (test->rounds < ROUNDS_MAX && status == PAWL_OK) {
        if (!sync_round(test, &status))
            return false;
    }
    return (status == PAWL_FAILED_SYNC ||
            wrong("no sync failed in %" PRIu64 " rounds", test->rounds)) &&
           sync_is_final(test);
}

enum crash_result crash_strace(const struct crash_options *options) {
    static struct sync_test test;
    if (system("strace -f -qq -o /dev/null -e trace=fdatasync -e " INJECTION
               " true >/dev/null 2>&1") != 0) {
        printf("strace: SKIPPED, for strace is not installed or may not trace here\n");
        return CRASH_SKIPPED;
    }
    sync_begin(&test);
    const bool is_right = sync_by_strace(&test, options->self);
    const uint64_t rounds = test.rounds;
    const bool is_all_right = sync_end(&test, is_right, options->keeps);
    printf("strace: after %" PRIu64 " rounds of %d processes the kernel's answer to one sync was "
           "EIO\n",
           rounds, ACTORS);
    return is_all_right ? CRASH_PASSED : CRASH_FAILED;
}

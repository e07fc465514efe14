/* Opening and closing: two at once, one against the other, stopped and killed in the midst. */
#include "crash.h"

#include "actor.h"
#include "story.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

enum {
    RACES_PER_ROUND = 3, /* they are quick */
    RACES_PER_STORE = 10,
    KILLS_PER_STORE = 20,
    SPIN_MAX = 200 * 1000,
    USUAL = 1000,
    LARGE = 20000,
    IMPATIENT_MS = 300,
    CALLS_MAX = 500, /* of the seam, in one opening or closing */
};

struct race {
    struct player actors[2];
    struct dice dice;
    struct account account;
    char path[SCENE_PATH_BYTES];
    struct actor_role role;
};

static void race_begin(struct race *race, uint64_t seed) {
    memset(race, 0, sizeof *race);
    race->dice.state = seed;
    scene_make(race->path);
    race->role = (struct actor_role){
        .path = race->path,
        .options = {.segment_bytes = 64 * 1024, .busy_ns = 60000000000U, .create = true},
    };
}

static void race_end(struct race *race, bool is_kept) {
    players_kill_all();
    account_release(&race->account);
    scene_leave(race->path, is_kept);
}

/* Each begins its call at a moment of its own. */
static bool race_both(struct race *race, enum actor_call first, enum actor_call second,
                      struct report ret_reports[2]) {
    const enum actor_call calls[2] = {first, second};
    const size_t earlier = (size_t)dice_below(&race->dice, 2);
    for (size_t i = 0; i < 2; i++) {
        const size_t at = i ^ earlier;
        const struct order order = {
            .call = calls[at],
            .spin = (uint32_t)dice_below(&race->dice, SPIN_MAX),
        };
        if (!player_tell(&race->actors[at], &order, sizeof order))
            return false;
    }
    for (size_t i = 0; i < 2; i++) {
        if (!player_hear(&race->actors[i], &ret_reports[i]) ||
            !report_must_be(&ret_reports[i], PAWL_OK,
                            calls[i] == ACTOR_OPEN ? "opening at once" : "closing at once"))
            return false;
    }
    return true;
}

static bool race_append(struct race *race, size_t index) {
    struct report report;
    return actor_must(&race->actors[index], ACTOR_APPEND, &report) &&
           account_append(&race->account, &report) &&
           actor_must(&race->actors[index], ACTOR_WAIT, &report);
}

/* It reads everything that anybody has appended. */
static bool race_read(struct race *race, size_t index) {
    struct report report;
    return actor_must(&race->actors[index], ACTOR_READ, &report) &&
           (report.value == race->account.reported ||
            wrong("process %u reads %" PRIu64 " frames of %" PRIu64, report.process, report.value,
                  race->account.reported));
}

static bool race_open_both(struct race *race, bool is_new) {
    struct report reports[2];
    if (!race_both(race, ACTOR_OPEN, ACTOR_OPEN, reports))
        return false;
    const uint64_t either = reports[0].value | reports[1].value;
    const uint64_t both = reports[0].value & reports[1].value;
    if ((either & ACTOR_ALONE) == 0 || (both & ACTOR_ALONE) != 0)
        return wrong("%s is alone", (both & ACTOR_ALONE) != 0 ? "each" : "neither");
    if (((either & ACTOR_CREATED) != 0) != is_new || (both & ACTOR_CREATED) != 0)
        return wrong("who created the store: %" PRIu64 ", %" PRIu64, reports[0].value,
                     reports[1].value);
    return is_new || (either & ACTOR_WAS_CLOSED) != 0 ||
           wrong("both had closed it, and it was not found closed");
}

static bool race_play(struct race *race, bool is_new) {
    struct report reports[2];
    if (!race_open_both(race, is_new) || !race_append(race, 0) || !race_append(race, 1) ||
        !race_read(race, 0) || !race_read(race, 1))
        return false;
    if (!actor_must(&race->actors[1], ACTOR_CLOSE, &reports[1]) || !race_append(race, 0) ||
        !race_both(race, ACTOR_CLOSE, ACTOR_OPEN, reports))
        return false;
    return race_read(race, 1) && race_append(race, 1) &&
           actor_must(&race->actors[0], ACTOR_OPEN, &reports[0]) && race_read(race, 0) &&
           race_append(race, 0) && race_both(race, ACTOR_CLOSE, ACTOR_CLOSE, reports);
}

static bool open_race(const struct crash_options *options, unsigned races) {
    static struct race race;
    bool is_right = true;
    for (unsigned i = 0; i < races && is_right; i++) {
        const bool is_new = i % RACES_PER_STORE == 0;
        wrong_set_name("open, seed %" PRIu64 ", race %u", options->seed, i);
        if (is_new) {
            race_begin(&race, options->seed + i);
            for (uint32_t at = 0; at < 2; at++)
                player_start(&race.actors[at], "actor", at + 1, actor_part, &race.role);
        }
        is_right = race_play(&race, is_new);
        if ((i + 1) % RACES_PER_STORE == 0 || i + 1 == races || !is_right) {
            is_right = is_right && player_dismiss(&race.actors[0]) &&
                       player_dismiss(&race.actors[1]) &&
                       account_check_store(&race.account, race.path, &race.role.options);
            race_end(&race, !is_right && options->keeps);
        }
    }
    return is_right;
}

/* ---- Killed ---- */

/* A new process opens the store, or is killed while it does; or closes it, or is killed then. */
static bool kill_once(struct race *race, uint32_t process) {
    struct player *player = &race->actors[0];
    struct dice *dice = &race->dice;
    struct report report;
    const bool is_closing = dice_once_in(dice, 2);
    player_start(player, "actor", process, actor_part, &race->role);
    if (is_closing && (!actor_must(player, ACTOR_OPEN, &report) || !race_append(race, 0)))
        return false;
    const struct order order = {.call = is_closing ? ACTOR_CLOSE : ACTOR_OPEN};
    if (!player_tell(player, &order, sizeof order))
        return false;
    const uint64_t turns = dice_below(dice, dice_once_in(dice, 2) ? SPIN_MAX : SPIN_MAX * 20);
    for (volatile uint64_t turn = 0; turn < turns; turn++)
        continue;
    player_kill(player);
    return true;
}

static bool open_kill(const struct crash_options *options, unsigned kills) {
    static struct race race;
    bool is_right = true;
    for (unsigned i = 0; i < kills && is_right; i++) {
        wrong_set_name("open, seed %" PRIu64 ", kill %u", options->seed, i);
        if (i % KILLS_PER_STORE == 0)
            race_begin(&race, options->seed + i);
        is_right = kill_once(&race, i % KILLS_PER_STORE + 1);
        if (is_right && dice_once_in(&race.dice, 3))
            is_right = account_check_store(&race.account, race.path, &race.role.options);
        if ((i + 1) % KILLS_PER_STORE == 0 || i + 1 == kills || !is_right) {
            is_right =
                is_right && account_check_store(&race.account, race.path, &race.role.options);
            race_end(&race, !is_right && options->keeps);
        }
    }
    return is_right;
}

/* ---- Killed at each call in turn ---- */

enum dying {
    DYING_CREATING,
    DYING_RECOVERING, /* a log that ends in half a frame */
    DYING_CLOSING,
    DYINGS,
};

static const char *const dying_names[DYINGS] = {"creating", "recovering", "closing"};

/* Process 1 leaves a log behind that ends in the half of a large frame. */
static bool dying_prepare_torn(struct race *race) {
    struct player *player = &race->actors[0];
    struct report report;
    int status;
    const struct order trap = {
        .call = ACTOR_TRAP,
        .trap = {.call = TRAP_WRITE, .moment = TRAP_HALFWAY, .signal_number = SIGKILL},
    };
    const struct order order = {.call = ACTOR_APPEND, .filler_bytes = LARGE};
    player_start(player, "actor", 1, actor_part, &race->role);
    return actor_must(player, ACTOR_OPEN, &report) && race_append(race, 0) &&
           actor_do(player, &trap, &report) && player_tell(player, &order, sizeof order) &&
           player_bury(player, &status);
}

/* *ret_completed: the call came to its end before the trap sprang. */
static bool dying_play(struct race *race, enum dying dying, unsigned passes, bool *ret_completed) {
    struct player *player = &race->actors[0];
    struct report report;
    size_t index;
    const struct order trap = {
        .call = ACTOR_TRAP,
        .trap = {.call = TRAP_ANY,
                 .moment = TRAP_BEFORE,
                 .passes = passes,
                 .signal_number = SIGKILL},
    };
    const struct order order = {.call = dying == DYING_CLOSING ? ACTOR_CLOSE : ACTOR_OPEN};
    if (dying == DYING_RECOVERING && !dying_prepare_torn(race))
        return false;
    player_start(player, "actor", 2, actor_part, &race->role);
    if (dying == DYING_CLOSING &&
        (!actor_must(player, ACTOR_OPEN, &report) || !race_append(race, 0)))
        return false;
    if (!actor_do(player, &trap, &report) || !player_tell(player, &order, sizeof order))
        return false;
    const enum player_heard heard = players_hear(player, 1, &index, &report);
    *ret_completed = heard == PLAYER_HEARD;
    if (heard == PLAYER_HUNG || (*ret_completed && !report_must_be(&report, PAWL_OK, "the call")))
        return false;
    player_kill(player);
    return account_check_store(&race->account, race->path, &race->role.options);
}

static bool open_dying(const struct crash_options *options, unsigned *ret_places) {
    static struct race race;
    for (int dying = 0; dying < DYINGS; dying++) {
        bool is_completed = false;
        for (unsigned passes = 0; passes < CALLS_MAX && !is_completed; passes++) {
            wrong_set_name("open, killed at call %u of %s", passes, dying_names[dying]);
            race_begin(&race, options->seed);
            const bool is_right = dying_play(&race, (enum dying)dying, passes, &is_completed);
            race_end(&race, !is_right && options->keeps);
            if (!is_right)
                return false;
            (*ret_places)++;
        }
    }
    return true;
}

/* ---- Stopped ---- */

static bool stopped_play(struct race *race, bool is_killed) {
    struct report report;
    const struct order trap = {
        .call = ACTOR_TRAP,
        .trap = {.call = TRAP_SYNC, .moment = TRAP_BEFORE, .signal_number = SIGSTOP},
    };
    const struct order impatient = {.call = ACTOR_OPEN, .patience_ms = IMPATIENT_MS};
    const struct order patient = {.call = ACTOR_OPEN};
    struct player *stopped = &race->actors[0], *other = &race->actors[1];
    for (uint32_t i = 0; i < 2; i++)
        player_start(&race->actors[i], "actor", i + 1, actor_part, &race->role);
    if (!actor_do(stopped, &trap, &report) || !player_tell(stopped, &patient, sizeof patient) ||
        !player_await_stop(stopped) || !actor_do(other, &impatient, &report) ||
        !report_must_name(&report, PAWL_BUSY, stopped->pid, "opening in vain") ||
        !player_tell(other, &patient, sizeof patient))
        return false;
    if (is_killed) {
        player_kill(stopped);
    } else {
        player_signal(stopped, SIGCONT);
        if (!player_hear(stopped, &report) || !report_must_be(&report, PAWL_OK, "going on"))
            return false;
    }
    return player_hear(other, &report) && report_must_be(&report, PAWL_OK, "opening after it") &&
           race_append(race, 1) && player_dismiss(stopped) && player_dismiss(other) &&
           account_check_store(&race->account, race->path, &race->role.options);
}

static bool open_stopped(const struct crash_options *options) {
    static struct race race;
    bool is_right = true;
    for (int is_killed = 0; is_killed < 2 && is_right; is_killed++) {
        wrong_set_name("open, stopped and %s", is_killed ? "killed" : "continued");
        race_begin(&race, options->seed);
        is_right = stopped_play(&race, is_killed != 0);
        race_end(&race, !is_right && options->keeps);
    }
    return is_right;
}

enum crash_result crash_open(const struct crash_options *options) {
    const unsigned races = options->rounds * RACES_PER_ROUND;
    const uint64_t began = crash_seconds();
    unsigned places = 0;
    const bool is_right = open_stopped(options) && open_dying(options, &places) &&
                          open_race(options, races) && open_kill(options, races);
    printf("open: %u races each of two opening, one opening and one closing, two closing; %u "
           "killed at any moment, %u at each call in turn; %" PRIu64 " s\n",
           races, races, places, crash_seconds() - began);
    return is_right ? CRASH_PASSED : CRASH_FAILED;
}

/* One of four processes stops at a given place, while it has what the others need. They answer
 * within their deadline, and go on when it continues or is killed. */
#include "crash.h"

#include "actor.h"
#include "story.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

enum {
    ACTORS = 4, /* the first is the one that stops */
    IMPATIENT_MS = 300,
    USUAL = 3000, /* half of such a frame is a part that can be told from the whole */
    HUGE = 60000, /* takes nearly a whole segment, so there is no room for it yet */
    SEGMENT = 64 * 1024,
};

enum stop_place {
    STOP_LOCKED,       /* it has the append lock and has written nothing */
    STOP_BEFORE_WRITE, /* and has said where it will write */
    STOP_IN_WRITE,     /* half of its frame is in the file */
    STOP_AFTER_WRITE,  /* all of it, and nobody knows it yet */
    STOP_BEFORE_SYNC,  /* it leads a group commit */
    STOP_AFTER_SYNC,   /* and has not said that it is done */
    STOP_SUPPLYING,    /* it makes the next segment */
    STOP_PLACES,
};

static const struct {
    const char *name;
    struct trap trap;
} places[STOP_PLACES] = {
    [STOP_LOCKED] = {"with the append lock", {.call = TRAP_NONE}},
    [STOP_BEFORE_WRITE] = {"before its write", {.call = TRAP_WRITE, .moment = TRAP_BEFORE}},
    [STOP_IN_WRITE] = {"in its write", {.call = TRAP_WRITE, .moment = TRAP_HALFWAY}},
    [STOP_AFTER_WRITE] = {"after its write", {.call = TRAP_WRITE, .moment = TRAP_AFTER}},
    [STOP_BEFORE_SYNC] = {"before its sync", {.call = TRAP_SYNC, .moment = TRAP_BEFORE}},
    [STOP_AFTER_SYNC] = {"after its sync", {.call = TRAP_SYNC, .moment = TRAP_AFTER}},
    [STOP_SUPPLYING] = {"making a segment", {.call = TRAP_ZERO_FILL, .moment = TRAP_BEFORE}},
};

struct stop {
    enum stop_place place;
    bool is_killed;
    uint64_t longest_ns; /* from a kill to the others being served */
    struct player actors[ACTORS];
    struct account account;
};

static bool stop_append(struct stop *stop, size_t index, uint32_t filler) {
    struct report report;
    const struct order order = {.call = ACTOR_APPEND, .filler_bytes = filler};
    return actor_do(&stop->actors[index], &order, &report) &&
           report_must_be(&report, PAWL_OK, "appending") && account_append(&stop->account, &report);
}

/* All that are there append and wait until it is durable. */
static bool stop_append_all(struct stop *stop) {
    struct report report;
    for (size_t i = 0; i < ACTORS; i++) {
        if (stop->actors[i].pid == 0)
            continue;
        if (!stop_append(stop, i, USUAL) || !actor_must(&stop->actors[i], ACTOR_WAIT, &report))
            return false;
    }
    return true;
}

/* Brings the first actor to where it stops. */
static bool stop_bring(struct stop *stop) {
    const struct player *victim = &stop->actors[0];
    const bool is_sync = places[stop->place].trap.call == TRAP_SYNC;
    struct report report;
    struct order trap = {.call = ACTOR_TRAP, .trap = places[stop->place].trap};
    struct order order = {.call = ACTOR_APPEND, .filler_bytes = USUAL};
    trap.trap.signal_number = SIGSTOP;
    if (is_sync && !stop_append(stop, 0, USUAL))
        return false;
    if (is_sync)
        order.call = ACTOR_WAIT;
    if (stop->place == STOP_SUPPLYING)
        order.filler_bytes = HUGE;
    if (stop->place == STOP_LOCKED) {
        order.call = ACTOR_STOP;
        if (!actor_must(victim, ACTOR_LOCK, &report))
            return false;
    }
    return actor_do(victim, &trap, &report) && player_tell(victim, &order, sizeof order) &&
           player_await_stop(victim);
}

/* What the others ask for, that the stopped one has. */
static struct order stop_question(const struct stop *stop, uint32_t patience_ms) {
    struct order order = {.call = ACTOR_LOCK, .patience_ms = patience_ms, .filler_bytes = USUAL};
    if (places[stop->place].trap.call == TRAP_SYNC)
        order.call = ACTOR_WAIT;
    if (stop->place == STOP_SUPPLYING)
        order.filler_bytes = HUGE;
    if (patience_ms == 0 && order.call == ACTOR_LOCK)
        order.call = ACTOR_APPEND;
    return order;
}

static bool stop_ask_others(struct stop *stop, const struct order *order) {
    for (size_t i = 1; i < ACTORS; i++) {
        if (!player_tell(&stop->actors[i], order, sizeof *order))
            return false;
    }
    return true;
}

/* The three get an answer within their deadline, and all else still works. */
static bool stop_others_answer(struct stop *stop) {
    const struct order order = stop_question(stop, IMPATIENT_MS);
    const bool is_sync = order.call == ACTOR_WAIT;
    const bool can_append = is_sync || stop->place == STOP_SUPPLYING;
    for (size_t i = 1; i < ACTORS; i++) {
        if (can_append && !stop_append(stop, i, 10))
            return false;
    }
    if (!stop_ask_others(stop, &order))
        return false;
    for (size_t i = 1; i < ACTORS; i++) {
        struct report report;
        if (!player_hear(&stop->actors[i], &report))
            return false;
        if (can_append
                ? !report_must_be(&report, is_sync ? PAWL_PENDING : PAWL_BUSY, "asking in vain")
                : !report_must_name(&report, PAWL_BUSY, stop->actors[0].pid, "asking in vain"))
            return false;
    }
    return true;
}

/* What the stopped one was at comes to its end. */
static bool stop_victim_continues(struct stop *stop) {
    const struct player *victim = &stop->actors[0];
    struct report report;
    if (!player_hear(victim, &report) ||
        !report_must_be(&report, PAWL_OK, "what was interrupted by a stop"))
        return false;
    if (stop->place == STOP_LOCKED && !actor_must(victim, ACTOR_APPEND_LOCKED, &report))
        return false;
    const bool is_append = places[stop->place].trap.call != TRAP_SYNC;
    return !is_append || account_append(&stop->account, &report);
}

static bool stop_others_are_served(struct stop *stop) {
    const struct order order = stop_question(stop, 0);
    const uint64_t began = crash_nanoseconds();
    if (!stop_ask_others(stop, &order))
        return false;
    if (stop->is_killed) {
        account_killed(&stop->account, stop->actors[0].process);
        player_kill(&stop->actors[0]);
    } else {
        player_signal(&stop->actors[0], SIGCONT);
        if (!stop_victim_continues(stop))
            return false;
    }
    for (size_t i = 1; i < ACTORS; i++) {
        struct report report;
        if (!player_hear(&stop->actors[i], &report) ||
            !report_must_be(&report, PAWL_OK, "asking again") ||
            (order.call == ACTOR_APPEND && !account_append(&stop->account, &report)))
            return false;
    }
    const uint64_t took = crash_nanoseconds() - began;
    if (stop->is_killed && took > stop->longest_ns)
        stop->longest_ns = took;
    return true;
}

static bool stop_close_all(struct stop *stop) {
    struct report report;
    for (size_t i = 0; i < ACTORS; i++) {
        if (stop->actors[i].pid != 0 && !actor_must(&stop->actors[i], ACTOR_CLOSE, &report))
            return false;
    }
    players_kill_all();
    return true;
}

static bool stop_play(struct stop *stop, const struct actor_role *role) {
    struct report report;
    for (uint32_t i = 0; i < ACTORS; i++) {
        player_start(&stop->actors[i], "actor", i + 1, actor_part, role);
        if (!actor_must(&stop->actors[i], ACTOR_OPEN, &report))
            return false;
    }
    if (!stop_append_all(stop) || !stop_bring(stop) || !stop_others_answer(stop) ||
        !stop_others_are_served(stop) || !stop_append_all(stop) || !stop_close_all(stop) ||
        !account_check_store(&stop->account, role->path, &role->options))
        return false;
    const uint64_t adopted = stop->is_killed && stop->place == STOP_AFTER_WRITE ? 1 : 0;
    return stop->account.adopted == adopted ||
           wrong("%" PRIu64 " frames of the dead in the log, and not %" PRIu64,
                 stop->account.adopted, adopted);
}

enum crash_result crash_stop(const struct crash_options *options) {
    unsigned passed = 0;
    uint64_t longest_ns = 0;
    for (unsigned i = 0; i < 2 * STOP_PLACES; i++) {
        static struct stop stop;
        char path[SCENE_PATH_BYTES];
        memset(&stop, 0, sizeof stop);
        stop.place = (enum stop_place)(i / 2);
        stop.is_killed = i % 2 != 0;
        wrong_set_name("stop %s, then %s", places[stop.place].name,
                       stop.is_killed ? "killed" : "continued");
        scene_make(path);
        const struct actor_role role = {
            .path = path,
            .options = {.segment_bytes = SEGMENT, .busy_ns = 60000000000U, .create = true},
        };
        const bool is_right = stop_play(&stop, &role);
        players_kill_all();
        account_release(&stop.account);
        scene_leave(path, !is_right && options->keeps);
        passed += is_right ? 1 : 0;
        longest_ns = stop.longest_ns > longest_ns ? stop.longest_ns : longest_ns;
    }
    printf("stop: %u of %d places and ends; after a kill the others were served within %" PRIu64
           " ms\n",
           passed, 2 * STOP_PLACES, longest_ns / 1000000);
    return passed == 2 * STOP_PLACES ? CRASH_PASSED : CRASH_FAILED;
}

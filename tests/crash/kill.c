/* Four processes append to one store; one to four of them are killed at any moment. */
#include "crash.h"

#include "os_posix.h"
#include "recovery.h"
#include "story.h"
#include "traps.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PLAYERS = 4,
    ROUNDS_PER_STORE = 4, /* four first ones and at most as many in their places, each round */
    PROVING_FRAMES = 5,
    READ_AT_ONCE = 20,
    FILLER_USUAL = 9000,
    LOCKED_LOOKS_MAX = 50,
};

static const uint64_t patience_ns = UINT64_C(60) * 1000 * 1000 * 1000;

enum kill_report {
    KILL_OPENED,
    KILL_APPENDED,
    KILL_DURABLE,
    KILL_PROVED, /* it was told to prove that it goes on, and has */
    KILL_CLOSED,
    KILL_REFUSED, /* something gave an error */
};

enum kill_order {
    KILL_PROVE,
    KILL_CLOSE,
    KILL_DIE, /* at a call of the seam, soon */
};

/* ---- A process that appends ---- */

struct appender_role {
    const char *path;
    struct log_options options;
    uint64_t seed;
    bool has_large; /* frames of which a kill leaves a part */
};

struct appender {
    const struct player_side *side;
    const struct appender_role *role;
    struct os *os;
    struct log *log;
    struct log_reader *reader;
    struct dice dice;
    uint64_t counter;
    pthread_t upkeep;
    _Atomic bool is_closing;
};

/* Reports and ends. What is open stays so: the kernel closes it, as after a kill. */
static void appender_refused(const struct appender *appender, pawl_status status,
                             const pawl_error *error, const char *what) {
    struct report report = {.kind = KILL_REFUSED, .status = status};
    (void)snprintf(report.sentence, sizeof report.sentence, "%s: %.250s", what, error->sentence);
    side_report(appender->side, &report);
    _exit(1);
}

/* `is_locked`: it has the append lock as it says so. */
static void appender_say(const struct appender *appender, enum kill_report kind, uint64_t lsn,
                         uint64_t end_lsn, bool is_locked) {
    const struct report report = {
        .kind = kind,
        .counter = appender->counter,
        .lsn = lsn,
        .end_lsn = end_lsn,
        .takeovers = trap_takeovers(),
        .value = is_locked,
    };
    side_report(appender->side, &report);
}

static uint32_t appender_filler(const struct appender *appender, struct dice *dice) {
    if (appender->role->has_large && dice_once_in(dice, 8))
        return (uint32_t)dice_below(dice, STORY_FILLER_MAX + 1);
    if (dice_once_in(dice, 2))
        return (uint32_t)dice_below(dice, 300);
    return (uint32_t)dice_below(dice, FILLER_USUAL + 1);
}

static void appender_append(struct appender *appender, bool is_durable) {
    struct dice *dice = &appender->dice;
    const struct story story = {appender->side->process, appender_filler(appender, dice),
                                appender->counter + 1};
    const bool says_it_locked = dice_once_in(dice, 4);
    const uint64_t deadline = os_clock_boot(appender->os) + patience_ns;
    uint64_t lsn = 0, end_lsn = 0;
    pawl_error error;
    pawl_status status =
        log_lock(appender->log, story_frame_bytes(&story), LOG_ORDINARY, deadline, &error);
    if (status != PAWL_OK)
        appender_refused(appender, status, &error, "log_lock");
    status = story_append(appender->log, &story, is_durable, &lsn, &end_lsn, &error);
    if (status != PAWL_OK)
        appender_refused(appender, status, &error, "log_append");
    appender->counter++;
    if (says_it_locked)
        appender_say(appender, KILL_APPENDED, lsn, end_lsn, true);
    log_unlock(appender->log);
    if (!says_it_locked)
        appender_say(appender, KILL_APPENDED, lsn, end_lsn, false);
    if (!is_durable)
        return;
    status = log_wait_durable(appender->log, end_lsn, deadline, &error);
    if (status != PAWL_OK)
        appender_refused(appender, status, &error, "log_wait_durable");
    appender_say(appender, KILL_DURABLE, lsn, end_lsn, false);
}

static void appender_read(struct appender *appender) {
    for (int i = 0; i < READ_AT_ONCE; i++) {
        struct story story;
        uint64_t lsn, end_lsn;
        pawl_error error;
        const pawl_status status = story_read(appender->reader, &story, &lsn, &end_lsn, &error);
        if (status == PAWL_EMPTY)
            return;
        if (status != PAWL_OK)
            appender_refused(appender, status, &error, "reading");
    }
}

static void appender_maintain(struct appender *appender) {
    pawl_error error;
    const pawl_status status = log_maintain(appender->log, &error);
    if (status != PAWL_OK)
        appender_refused(appender, status, &error, "log_maintain");
}

static void *appender_upkeep(void *context) {
    struct appender *appender = context;
    while (!atomic_load(&appender->is_closing)) {
        appender_maintain(appender);
        os_pause(appender->os, 5 * 1000 * 1000); /* the rhythm of upkeep */
    }
    return NULL;
}

static void appender_prove(struct appender *appender) {
    for (int i = 0; i < PROVING_FRAMES; i++)
        appender_append(appender, true);
    appender_say(appender, KILL_PROVED, 0, 0, false);
}

/* From here on it goes on as before, and dies somewhere in it. */
static void appender_set_trap(struct appender *appender) {
    struct dice *dice = &appender->dice;
    const bool is_halfway = dice_once_in(dice, 2);
    const struct trap trap = {
        .call = is_halfway ? TRAP_WRITE : TRAP_ANY,
        .moment = is_halfway              ? TRAP_HALFWAY
                  : dice_once_in(dice, 2) ? TRAP_BEFORE
                                          : TRAP_AFTER,
        .passes = (unsigned)dice_below(dice, 20),
        .signal_number = SIGKILL,
    };
    trap_set(&trap);
}

static void appender_play(struct appender *appender) {
    for (;;) {
        uint32_t order;
        if (side_order_now(appender->side, &order, sizeof order)) {
            if (order == KILL_CLOSE)
                return;
            if (order == KILL_DIE)
                appender_set_trap(appender);
            else
                appender_prove(appender);
        } else if (dice_once_in(&appender->dice, 60)) {
            appender_maintain(appender);
        } else if (dice_once_in(&appender->dice, 10)) {
            appender_read(appender);
        } else {
            appender_append(appender, dice_once_in(&appender->dice, 2));
        }
    }
}

static void appender_part(const struct player_side *side, const void *context) {
    const struct appender_role *role = context;
    struct appender appender = {.side = side, .role = role, .dice = {role->seed + side->process}};
    struct log_opening opening;
    pawl_error error = {0};
    if (os_posix_create(&appender.os) != 0)
        _exit(1);
    trap_install(appender.os);
    pawl_status status =
        log_open(appender.os, role->path, &role->options, &appender.log, &opening, &error);
    if (status != PAWL_OK)
        appender_refused(&appender, status, &error, "log_open");
    struct report report = {.kind = KILL_OPENED, .value = opening.was_alone, .more = opening.row};
    side_report(side, &report);
    status = log_reader_open(appender.log, log_tail(appender.log), &appender.reader, &error);
    if (status != PAWL_OK)
        appender_refused(&appender, status, &error, "log_reader_open");
    const bool has_upkeep = dice_once_in(&appender.dice, 3) &&
                            pthread_create(&appender.upkeep, NULL, appender_upkeep, &appender) == 0;
    appender_play(&appender);
    atomic_store(&appender.is_closing, true);
    if (has_upkeep)
        (void)pthread_join(appender.upkeep, NULL); /* it was created and nobody else joins it */
    log_reader_close(appender.reader);
    status = log_close(appender.log, &error);
    if (status != PAWL_OK)
        appender_refused(&appender, status, &error, "log_close");
    appender_say(&appender, KILL_CLOSED, 0, 0, false);
    os_posix_destroy(appender.os);
}

/* ---- The driver ---- */

struct kill_counts {
    uint64_t frames, adopted, kills, kills_of_all, takeovers;
    uint64_t rows[RECOVERY_ROW_COUNT]; /* of openings that were alone */
};

struct kill_store {
    char path[SCENE_PATH_BYTES];
    struct appender_role role;
    struct account account;
    uint32_t next_process;
};

struct kill_round {
    struct kill_store *store;
    struct kill_counts *counts;
    struct dice dice;
    struct player players[PLAYERS];
    bool has_proved[PLAYERS];
    bool was_killed[PLAYERS];
    uint32_t takeovers[PLAYERS];
    size_t locked; /* who said last that it has the append lock; PLAYERS: nobody */
};

static void round_start(struct kill_round *round, size_t index) {
    struct kill_store *store = round->store;
    round->has_proved[index] = false;
    round->was_killed[index] = false;
    round->takeovers[index] = 0;
    store->role.seed = dice_throw(&round->dice);
    player_start(&round->players[index], "appender", store->next_process++, appender_part,
                 &store->role);
}

static bool round_note(struct kill_round *round, size_t index, const struct report *report) {
    if (report->takeovers > round->takeovers[index]) {
        round->counts->takeovers += report->takeovers - round->takeovers[index];
        round->takeovers[index] = report->takeovers;
    }
    switch ((enum kill_report)report->kind) {
    case KILL_OPENED:
        if (report->value != 0)
            round->counts->rows[report->more]++;
        return true;
    case KILL_APPENDED:
        if (report->value != 0)
            round->locked = index;
        return account_append(&round->store->account, report);
    case KILL_PROVED: round->has_proved[index] = true; return true;
    case KILL_DURABLE:
    case KILL_CLOSED: return true;
    case KILL_REFUSED: break;
    }
    return wrong("appender %u: %s: %s", report->process, status_name(report->status),
                 report->sentence);
}

/* Reads what is left of what it said and takes it away. */
static bool round_bury(struct kill_round *round, size_t index) {
    struct player *player = &round->players[index];
    bool is_right = true;
    size_t at;
    struct report report;
    enum player_heard heard;
    while ((heard = players_hear(player, 1, &at, &report)) == PLAYER_HEARD)
        is_right = round_note(round, index, &report) && is_right;
    int status;
    is_right = player_bury(player, &status) && heard == PLAYER_GONE && is_right;
    const bool is_as_meant = round->was_killed[index]
                                 ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL
                                 : WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!is_as_meant)
        is_right = wrong("appender %u ended with status %#x", player->process, (unsigned)status);
    return is_right;
}

/* Hears one report of anybody. */
static bool round_hear(struct kill_round *round) {
    size_t index;
    struct report report;
    switch (players_hear(round->players, PLAYERS, &index, &report)) {
    case PLAYER_HEARD: return round_note(round, index, &report);
    case PLAYER_GONE:
        (void)wrong("appender %u ended of itself", round->players[index].process);
        (void)round_bury(round, index);
        return false;
    case PLAYER_HUNG: break;
    }
    return false;
}

static bool round_hear_many(struct kill_round *round, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        if (!round_hear(round))
            return false;
    }
    return true;
}

/* It is going to be killed: that is as meant, and what it was at may be in the log. */
static void round_die(struct kill_round *round, size_t index) {
    account_killed(&round->store->account, round->players[index].process);
    round->was_killed[index] = true;
    round->counts->kills++;
}

static void round_kill(struct kill_round *round, size_t index) {
    round_die(round, index);
    player_signal(&round->players[index], SIGKILL);
}

/* Any that is alive; as often as not one that has just said that it has the append lock. */
static bool round_choose(struct kill_round *round, size_t *ret_index) {
    round->locked = PLAYERS;
    const uint64_t looks = dice_once_in(&round->dice, 2) ? LOCKED_LOOKS_MAX : 0;
    for (uint64_t look = 0; look < looks && round->locked == PLAYERS; look++) {
        if (!round_hear(round))
            return false;
    }
    size_t index = round->locked;
    while (index == PLAYERS || round->players[index].pid == 0)
        index = (size_t)dice_below(&round->dice, PLAYERS);
    *ret_index = index;
    return true;
}

/* Kills `count` of them, in any order, with some reports between. The dead are buried. */
static bool round_kill_some(struct kill_round *round, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        size_t index = 0;
        if (!round_choose(round, &index))
            return false;
        round_kill(round, index);
        if (!round_bury(round, index))
            return false;
        if (i + 1 < count && dice_once_in(&round->dice, 2) &&
            !round_hear_many(round, dice_below(&round->dice, 20)))
            return false;
    }
    return true;
}

static void round_replace(struct kill_round *round) {
    for (size_t i = 0; i < PLAYERS; i++) {
        if (round->players[i].pid == 0)
            round_start(round, i);
    }
}

static bool round_tell_all(struct kill_round *round, uint32_t order) {
    for (size_t i = 0; i < PLAYERS; i++) {
        if (round->players[i].pid != 0 && !player_tell(&round->players[i], &order, sizeof order))
            return false;
    }
    return true;
}

/* Everybody who is there appends five durable frames that it had not begun before. */
static bool round_prove(struct kill_round *round) {
    bool have_all;
    for (size_t i = 0; i < PLAYERS; i++)
        round->has_proved[i] = false;
    if (!round_tell_all(round, KILL_PROVE))
        return false;
    do {
        have_all = true;
        for (size_t i = 0; i < PLAYERS; i++)
            have_all = have_all && (round->players[i].pid == 0 || round->has_proved[i]);
        if (!have_all && !round_hear(round))
            return false;
    } while (!have_all);
    return true;
}

/* They close the store, or are killed at once, or die by themselves in the midst of a call. */
static bool round_end(struct kill_round *round) {
    const uint64_t end = dice_below(&round->dice, 3);
    for (size_t i = 0; i < PLAYERS && end == 1; i++)
        round_kill(round, i);
    for (size_t i = 0; i < PLAYERS && end == 2; i++)
        round_die(round, i);
    if (end != 1 && !round_tell_all(round, end == 0 ? KILL_CLOSE : KILL_DIE))
        return false;
    bool is_right = true;
    for (size_t i = 0; i < PLAYERS; i++)
        is_right = round_bury(round, i) && is_right;
    return is_right;
}

static bool round_play(struct kill_round *round) {
    struct dice *dice = &round->dice;
    for (size_t i = 0; i < PLAYERS; i++)
        round_start(round, i);
    const uint64_t kills = 1 + dice_below(dice, PLAYERS);
    if (!round_hear_many(round, dice_below(dice, dice_once_in(dice, 4) ? 9 : 300)) ||
        !round_kill_some(round, kills))
        return false;
    if (kills == PLAYERS)
        round->counts->kills_of_all++;
    if (dice_once_in(dice, 3))
        round_replace(round);
    if (!round_prove(round))
        return false;
    round_replace(round);
    if (!round_prove(round) || !round_end(round))
        return false;
    return account_check_store(&round->store->account, round->store->path,
                               &round->store->role.options);
}

static void store_begin(struct kill_store *store, struct dice *dice) {
    memset(store, 0, sizeof *store);
    scene_make(store->path);
    store->next_process = 1;
    store->role = (struct appender_role){
        .path = store->path,
        .has_large = dice_once_in(dice, 2),
        .options =
            {
                .segment_bytes = (dice_once_in(dice, 2) ? 8 : 64) * 1024,
                .reserve_bytes = dice_once_in(dice, 3) ? 16 * 1024 : 0,
                .busy_ns = patience_ns,
                .create = true,
            },
    };
}

static void store_end(struct kill_store *store, struct kill_counts *counts, bool is_kept) {
    counts->frames += store->account.found;
    counts->adopted += store->account.adopted;
    account_release(&store->account);
    scene_leave(store->path, is_kept);
}

static void kill_print(const struct kill_counts *counts, unsigned rounds, uint64_t seconds) {
    printf("kill: %u rounds, %" PRIu64 " frames (%" PRIu64
           " of them adopted from the dead), %" PRIu64 " kills, of all four %" PRIu64
           " times, %" PRIu64 " takeovers, alone:",
           rounds, counts->frames, counts->adopted, counts->kills, counts->kills_of_all,
           counts->takeovers);
    for (int row = 0; row < RECOVERY_ROW_COUNT; row++) {
        if (counts->rows[row] != 0)
            printf(" %s %" PRIu64, recovery_row_name((enum recovery_row)row), counts->rows[row]);
    }
    printf("; %" PRIu64 " s\n", seconds);
}

enum crash_result crash_kill(const struct crash_options *options) {
    static struct kill_store store;
    struct kill_counts counts = {0};
    const uint64_t began = crash_seconds();
    struct dice stores = {options->seed};
    bool is_right = true;
    for (unsigned i = 0; i < options->rounds && is_right; i++) {
        if (i % ROUNDS_PER_STORE == 0)
            store_begin(&store, &stores);
        wrong_set_name("kill, seed %" PRIu64 ", round %u", options->seed, i);
        struct kill_round round = {.store = &store, .counts = &counts, .dice = {options->seed + i}};
        is_right = round_play(&round);
        players_kill_all();
        if ((i + 1) % ROUNDS_PER_STORE == 0 || i + 1 == options->rounds || !is_right)
            store_end(&store, &counts, !is_right && options->keeps);
    }
    kill_print(&counts, options->rounds, crash_seconds() - began);
    return is_right ? CRASH_PASSED : CRASH_FAILED;
}

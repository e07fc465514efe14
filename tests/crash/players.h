/* players: the processes of a crash test, started, told, heard, killed and buried by the driver.
 *
 * A player is a forked process that runs one function. It gets its orders through one pipe and
 * reports through another; what it has written there before it dies is heard all the same. Every
 * wait of the driver has a limit; when it passes, what every player is doing is printed.
 *
 * A player dies with its driver: it is killed when the driver ends, and reads the end of its
 * orders. Threads: the driver has one.
 */
#ifndef PAWL_CRASH_PLAYERS_H
#define PAWL_CRASH_PLAYERS_H

#include "pawl.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- Chance ---- */

struct dice {
    uint64_t state;
};

uint64_t dice_throw(struct dice *dice);

/* 0 to n - 1. */
uint64_t dice_below(struct dice *dice, uint64_t n);

/* True once in n. */
bool dice_once_in(struct dice *dice, uint64_t n);

/* ---- What goes wrong in a test ---- */

/* Prints it, with the test's name; always false. */
bool wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What wrong() puts before each line. */
void wrong_set_name(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- Directories ---- */

enum { SCENE_PATH_BYTES = 256 };

/* Makes an empty directory below the one for temporary files. Ends the program if it can't. */
void scene_make(char ret_path[SCENE_PATH_BYTES]);

/* Empties it. Symbolic links are not followed. */
void scene_clear(const char *path);

/* Removes it with everything in it, or keeps it and says where it is. */
void scene_leave(const char *path, bool is_kept);

/* ---- Processes ---- */

/* One write to a pipe each, so a report is there whole or not at all. */
struct report {
    uint32_t kind; /* the player's own */
    uint32_t process;
    pawl_status status;
    uint32_t takeovers; /* dead owners that this process has met so far */
    uint64_t counter, lsn, end_lsn;
    uint64_t tail_lsn; /* of the log, after the call */
    uint64_t value, more;
    char sentence[320];
};

struct player {
    pid_t pid;        /* 0: there is none */
    uint32_t process; /* its number in the test's account */
    const char *role;
    int orders;  /* to it */
    int reports; /* from it */
};

/* The player's own ends. */
struct player_side {
    uint32_t process;
    int orders;
    int reports;
};

typedef void player_part(const struct player_side *side, const void *context);

/* Starts a process that runs `part` and then exits with 0. Ends the program if it can't. */
void player_start(struct player *player, const char *role, uint32_t process, player_part *part,
                  const void *context);

/* False, with a word: the player is gone. */
bool player_tell(const struct player *player, const void *order, size_t bytes);

/* The next report. False, with a word: it is gone, or silent for too long. */
bool player_hear(const struct player *player, struct report *ret_report);

enum player_heard {
    PLAYER_HEARD,
    PLAYER_GONE, /* it has died or ended, and everything it said has been heard */
    PLAYER_HUNG, /* none of them said anything for too long; it has been printed */
};

/* The next report of any of them; those without a pid are passed over. */
enum player_heard players_hear(const struct player *players, size_t count, size_t *ret_index,
                               struct report *ret_report);

/* Waits until it has stopped itself. */
bool player_await_stop(const struct player *player);

void player_signal(const struct player *player, int signal_number);

/* Waits until it is gone, reads on no more, and forgets it. *ret_status as of waitpid(). */
bool player_bury(struct player *player, int *ret_status);

/* Gives it no more orders, and waits until it has ended of itself with 0. */
bool player_dismiss(struct player *player);

/* SIGKILL and player_bury(); nothing when there is none. */
void player_kill(struct player *player);

/* Kills all that are left. */
void players_kill_all(void);

/* ---- In the player ---- */

void side_report(const struct player_side *side, const struct report *report);

/* Waits for the next order; false: the driver wants no more. */
bool side_order(const struct player_side *side, void *ret_order, size_t bytes);

/* The same without waiting: false when there is none. */
bool side_order_now(const struct player_side *side, void *ret_order, size_t bytes);

#endif

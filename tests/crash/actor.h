/* actor: a player that does with a store what it is ordered, one call at a time, and reports what
 * came of each. */
#ifndef PAWL_CRASH_ACTOR_H
#define PAWL_CRASH_ACTOR_H

#include "log.h"
#include "players.h"
#include "traps.h"

enum actor_call {
    ACTOR_OPEN,  /* value: enum actor_opened, more: the row */
    ACTOR_CLOSE, /* leaves nothing open, whatever came of it */
    ACTOR_LOCK,
    ACTOR_APPEND,        /* one frame of its story, locked and unlocked; counter, lsn, end_lsn */
    ACTOR_APPEND_LOCKED, /* the same with the lock that ACTOR_LOCK has taken, which is let go */
    ACTOR_WAIT,          /* until everything that it has seen of the log is durable */
    ACTOR_MAINTAIN,
    ACTOR_READ, /* all of the log; value: how many frames of stories */
    ACTOR_TRAP,
    ACTOR_STOP, /* itself */
};

enum actor_opened {
    ACTOR_CREATED = 1 << 0,
    ACTOR_ALONE = 1 << 1,
    ACTOR_WAS_CLOSED = 1 << 2,
};

struct order {
    uint32_t call;         /* enum actor_call */
    uint32_t filler_bytes; /* of a frame */
    uint32_t patience_ms;  /* the deadline, from now; 0: a generous one */
    uint32_t spin;         /* so many turns before it begins: to shift it against another's */
    uint32_t class;        /* enum log_class */
    struct trap trap;      /* ACTOR_TRAP */
};

/* What an actor has to know. It must outlive the start of the player. */
struct actor_role {
    const char *path;
    struct log_options options;
    uint64_t file_bytes_max; /* RLIMIT_FSIZE; 0: none */
};

/* The part to start a player with; its context is a struct actor_role. */
void actor_part(const struct player_side *side, const void *role);

/* ---- For the driver ---- */

/* Tells it and hears what came of it. False, with a word, when the actor is gone or hangs. */
bool actor_do(const struct player *player, const struct order *order, struct report *ret_report);

/* The same for an order that has nothing but a call; wrong unless the status is PAWL_OK. */
bool actor_must(const struct player *player, enum actor_call call, struct report *ret_report);

/* Wrong, with what it said, unless the report has this status. */
bool report_must_be(const struct report *report, pawl_status status, const char *what);

/* report_must_be() and the sentence names the process. */
bool report_must_name(const struct report *report, pawl_status status, pid_t pid, const char *what);

#endif

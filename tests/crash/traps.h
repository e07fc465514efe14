/* traps: stops, kills or fails this process at a call of the seam that was named before, by putting
 * functions of its own into the table of a real os.
 *
 * There is one trap in a process, so it is global. It also counts how often a dead owner of a lock
 * was met. Threads: any.
 */
#ifndef PAWL_CRASH_TRAPS_H
#define PAWL_CRASH_TRAPS_H

#include "os.h"

enum trap_call {
    TRAP_NONE,
    TRAP_WRITE,
    TRAP_SYNC,
    TRAP_ZERO_FILL,
    TRAP_ANY, /* those, truncate, rename, unlink, sync of a directory, taking and dropping locks */
};

enum trap_moment {
    TRAP_BEFORE,
    TRAP_HALFWAY, /* of a write, which goes on when the process is continued */
    TRAP_AFTER,
    TRAP_NEVER, /* for the traps' own use */
};

struct trap {
    enum trap_call call;
    enum trap_moment moment;
    unsigned passes;   /* so many of these calls go through before it springs */
    int signal_number; /* raised then; 0: the call fails instead, with `error` */
    int error;
};

/* From now on the os's calls pass by the trap. The table of an os is replaced for good. */
void trap_install(struct os *os);

/* Sets it; it springs once. */
void trap_set(const struct trap *trap);

/* Dead owners met so far. */
uint32_t trap_takeovers(void);

#endif

/* os_posix_descriptor: file descriptors as os_posix has them, and the register of all that are
 * open. Its invariants are P1 and P2 of os_posix.h.
 *
 * What it is not: a place that knows what a descriptor is good for.
 *
 * Threads: any, for all of it. The register is one for the process, as fork() is.
 */
#ifndef PAWL_ENGINE_OS_POSIX_DESCRIPTOR_H
#define PAWL_ENGINE_OS_POSIX_DESCRIPTOR_H

#include <stdint.h>

/* Of every file that is made. */
enum { DESCRIPTOR_FILE_MODE = 0600 };

struct descriptor {
    int number; /* -1 once a forked child has closed it */
    struct descriptor *previous, *next;
};

/* From here on forks are watched. May be called again; an errno. */
int descriptor_watch_forks(void);

/* How often fork() has led to this process since they are watched: a child differs from what its
 * parent remembers. */
uint64_t descriptor_forks(void);

/* openat() that repeats after a signal and makes files of mode 0600. An errno. The descriptor is in
 * the register until it is closed, and stays where it is in memory. */
int descriptor_open(struct descriptor *descriptor, int at, const char *name, int flags);

/* What close() said; an errno. */
int descriptor_close(struct descriptor *descriptor);

/* The same for the span of one call, not in the register: a number of 3 or more; -1 with errno. */
int descriptor_open_bare(int at, const char *name, int flags);

#endif

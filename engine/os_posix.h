/* os_posix: the real os, over Linux. It and its two rooms below, os_posix_machine and
 * os_posix_descriptor, are the only ones that make system calls.
 *
 * What it is not: a place for decisions. It carries out one call of os.h each, whole or not at all,
 * and reports errno values as they come.
 *
 * Invariants
 * P1  A descriptor that outlasts a call is 3 or more, closed on exec, and in the register from the
 *     instant it exists to the instant it is closed.
 *
 * P2  fork() waits for the register, and its child closes every registered descriptor at once: no
 *     child keeps a byte lock alive after its parent has died. It never unlocks, which would reach
 *     the parent's locks.
 *
 * P3  A mode is set on what this call has made, never on what it found.
 *
 * P4  close() and the syncs are never repeated, whatever their error: the first answer counts.
 *
 * P5  No call raises a signal: what is beyond the process's limit on file sizes (RLIMIT_FSIZE) is
 *     EFBIG before the kernel is asked, and of a write that is partly beyond nothing is written.
 *
 * Limits. A mapping keeps its file's locks alive in a forked child, so a file whose locks matter is
 * not mapped. A child of a bare clone() runs no fork handlers and is not recognised: getpid() would
 * tell it, at the price of a system call for each call of the library. The limit on file sizes
 * is asked for at a file's first write and whenever space is made; one that is lowered between,
 * below where the next write goes, still raises SIGXFSZ. Processes of one store share one time
 * namespace. /proc must be mounted when an os is made.
 *
 * Threads: any, for all of it. The register is the one state that all os of a process share, as
 * fork() is one for all; the library may be unloaded once every os is destroyed.
 */
#ifndef PAWL_ENGINE_OS_POSIX_H
#define PAWL_ENGINE_OS_POSIX_H

#include "os.h"

/* Makes one; any number may exist. The boot id and the process's name are read here, once. ENOMEM,
 * or what reading the boot id gave. The caller destroys it. */
int os_posix_create(struct os **ret_os);

/* Everything opened through it has been closed, everything allocated released. Takes NULL. In a
 * forked child it may be called too. */
void os_posix_destroy(struct os *os);

#endif

/* os_posix_machine: what os_posix has from the machine that is no file: clocks, waiting, futexes,
 * entropy, and who and where this process is.
 *
 * What it is not: a table of calls. os_posix.c puts these into its own, where os.h says what each
 * does; `os` is passed over.
 *
 * Threads: any; nothing here has a state.
 */
#ifndef PAWL_ENGINE_OS_POSIX_MACHINE_H
#define PAWL_ENGINE_OS_POSIX_MACHINE_H

#include "os.h"

uint64_t posix_clock_boot(struct os *os);
uint64_t posix_clock_wall(struct os *os);
void posix_pause(struct os *os, uint64_t nanoseconds);
int posix_futex_wait(struct os *os, _Atomic uint32_t *word, uint32_t expected, uint64_t deadline);
void posix_futex_wake(struct os *os, _Atomic uint32_t *word, uint32_t waiters_max);
int posix_entropy(struct os *os, void *buffer, size_t bytes);

/* From /proc. An errno; EIO when it is no UUID. */
int posix_read_boot_id(uint8_t ret_id[OS_BOOT_ID_BYTES]);

/* "?" for what can't be told. */
void posix_name_process(struct os_process *ret_process);

#endif

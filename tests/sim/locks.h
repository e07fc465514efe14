/* locks: byte locks of files and holds of directories, between the processes of a world. They
 * belong to an open, and go with it and with its process.
 */
#ifndef PAWL_TESTS_SIM_LOCKS_H
#define PAWL_TESTS_SIM_LOCKS_H

#include "machine.h"

/* Calls of the seam. */
int locks_take(struct os *os, struct os_file *file, uint64_t byte);
void locks_drop(struct os *os, struct os_file *file, uint64_t byte);
int locks_find(struct os *os, struct os_file *file, uint64_t first, uint64_t count,
               uint64_t *ret_byte);
int locks_hold(struct os *os, struct os_dir *dir, bool is_alone);

/* What is closed, and whose process has ended. */
void locks_drop_all(struct world *world, const struct os_file *file);
void locks_drop_hold(struct world *world, const struct os_dir *dir);
void locks_end_process(struct world *world, const struct process *process);

#endif

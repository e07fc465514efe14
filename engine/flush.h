/* flush: carries out what commit.h decides: waits, leads a group's sync, takes over from the dead.
 *
 * The leader syncs every segment that the group reaches into, the earlier ones first, through its
 * own open files, and holds no other lock meanwhile. What a dead leader may have been told of a
 * failed sync nobody knows, nor what would have been told to a dead writer; so what they may have
 * left (H6) is written again, from frames that are proved whole, before it is synced.
 * Threads: any.
 */
#ifndef PAWL_ENGINE_FLUSH_H
#define PAWL_ENGINE_FLUSH_H

#include "core.h"

/* See log_wait_durable(). */
pawl_status flush_wait(struct log *log, uint64_t lsn, uint64_t deadline, pawl_error *error);

#endif

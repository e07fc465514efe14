/* create: a new store in a directory.
 *
 * First the log with its first segment and that one's herald, then every name up to the directory's
 * own, then identity, whose content is what makes the directory a store. So an interrupted creation
 * is begun again, and nothing is promised before all of it is durable. Threads: who calls holds the
 * door (slots.h).
 */
#ifndef PAWL_ENGINE_CREATE_H
#define PAWL_ENGINE_CREATE_H

#include "core.h"

/* PAWL_EXISTS when the directory holds anything but what a creation leaves, or `lost+found`. */
pawl_status create_check_empty(struct log *log, pawl_error *error);

/* Is log/, which is open, as an unfinished creation leaves it? PAWL_DAMAGED when it is in use: then
 * an identity that is not there is lost, and not new. */
pawl_status create_check_log(struct log *log, pawl_error *error);

/* Makes the store: log/ and identity are open, `path` is the store's. */
pawl_status create_store(struct log *log, const char *path, pawl_error *error);

#endif

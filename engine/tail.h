/* tail: the end of the log while it is in use: the append lock, writing a frame, and what a process
 * that died at it left behind.
 *
 * A process may die anywhere in this room. Whoever takes the append lock next finds appending_lsn
 * set and looks at the disk: a frame that is whole is adopted; what is not whole is never written
 * over, the segment ends there and the next one begins, which is what recovery does after a power
 * cut.
 * Threads: any may ask for the lock; the rest is for who has it.
 */
#ifndef PAWL_ENGINE_TAIL_H
#define PAWL_ENGINE_TAIL_H

#include "core.h"

/* Takes the append lock and settles the tail. PAWL_BUSY names the holder. PAWL_FAILED when the
 * store is latched. Nothing is held on failure. */
pawl_status tail_lock(struct log *log, uint64_t deadline, pawl_error *error);
void tail_unlock(struct log *log);

/* With the lock held: makes sure that a frame of `bytes` fits, by going on to the segment made
 * ahead if it must. PAWL_EMPTY: there is none; unlock and supply one (supply.h). PAWL_PENDING: too
 * many segments are not durable yet; unlock and flush first. */
pawl_status tail_make_room(struct log *log, uint64_t bytes, enum log_class class,
                           pawl_error *error);

/* With the lock held and room made. */
pawl_status tail_append(struct log *log, const struct log_draft *draft, uint64_t *ret_lsn,
                        pawl_error *error);

/* Gives back what a handle holds for appending. */
void tail_deinit(struct log *log);

#endif

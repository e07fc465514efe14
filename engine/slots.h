/* slots: who has the store open, told by byte locks that the kernel drops when a process dies.
 *
 * All bytes are in the file `identity`, beyond its content:
 *   the door         held through an opening with its recovery and through a clean close: who holds
 *                    it and finds no slot held is alone
 *   maintenance      held by who makes segments ahead
 *   one per slot     held by a session for as long as it lives
 *
 * Invariants
 * L1  A session is alive exactly while its slot's byte is held and the slot's generation is its
 *     own.
 *
 * L2  A slot's generation is another each time it is taken, before its new owner can own anything.
 *
 * Threads: door and maintenance are for one thread of a handle at a time; the rest from any.
 */
#ifndef PAWL_ENGINE_SLOTS_H
#define PAWL_ENGINE_SLOTS_H

#include "os.h"
#include "shared.h"
#include "status.h"

struct slots {
    struct os *os;
    struct os_file *identity; /* the locks belong to this open of it */
    struct shared *shared;    /* once slots_take() */
    shared_owner self;        /* 0 before slots_take() */
};

/* Waits for the door until the deadline, then PAWL_BUSY naming who holds it. `dir` is the store's
 * directory: the holder leaves its name there for others to read. */
pawl_status slots_take_door(struct slots *slots, struct os_dir *dir, uint64_t deadline,
                            pawl_error *error);
void slots_drop_door(struct slots *slots);

/* Is no slot held by anybody else? Else *ret_slot is one that is. Means something only while the
 * door is held. */
pawl_status slots_are_free(struct slots *slots, bool *ret_free, unsigned *ret_slot,
                           pawl_error *error);

/* Does anybody hold the door? For who looks only; the answer may be old when it comes. */
pawl_status slots_find_door(struct slots *slots, bool *ret_held, pawl_error *error);

/* Holds the store's directory, which everybody does who has the store open; `is_alone` asks for
 * being the only one, and then goes on beside others. PAWL_BUSY: others are in whose locks are not
 * seen, because `identity` was replaced since they opened it; or one that is dying is not gone yet.
 */
pawl_status slots_hold(struct slots *slots, struct os_dir *dir, bool is_alone, pawl_error *error);

/* Takes a free slot; PAWL_BUSY when all are held. The door must be held. Closing the file gives it
 * up, as does the end of the process. */
pawl_status slots_take(struct slots *slots, struct shared *shared, pawl_error *error);

/* Is the session that this owner word names dead? False when in doubt. */
bool slots_owner_is_dead(struct slots *slots, shared_owner owner);

/* May a session that is gone have written beyond `durable_lsn`? */
bool slots_left_dirty(struct slots *slots, uint64_t durable_lsn);

/* PAWL_BUSY naming pid, host and command of the session, and what it holds. */
pawl_status slots_busy(const struct slots *slots, shared_owner owner, const char *what,
                       pawl_error *error);

/* Never waits. False: somebody else has it. */
bool slots_take_maintenance(struct slots *slots);
void slots_drop_maintenance(struct slots *slots);

#endif

/* supply: space for the log, made ahead of need: more of the active segment, the next segment, the
 * reserve.
 *
 * Making space means writing zeros and syncing them, which takes long, so it is never done under
 * the append lock: it is done under the maintenance byte, and only what is ready is told, under the
 * append lock, for a moment. How much is made follows how much has been written since the store was
 * opened, so a shell command makes little and a busy producer whole segments.
 *
 * The herald. Before a segment takes its first frame, the file of the next ordinal is there,
 * durably, if only with its header. So if the newest segment in use ever goes missing, the file
 * behind it tells that it was there.
 *
 * The reserve. Two small files, made while there is space, that become segments when there is none:
 * a full disk then still takes what finishes work. Their blocks are written over, so no space is
 * needed.
 * Threads: any; one works at a time, in whichever process.
 */
#ifndef PAWL_ENGINE_SUPPLY_H
#define PAWL_ENGINE_SUPPLY_H

#include "core.h"

/* Makes room for a frame of `bytes`, in the active segment or a new one; the append lock must not
 * be held. Somebody else may use it up at once. PAWL_DISK_FULL, PAWL_TOO_LARGE (no ordinal left),
 * PAWL_BUSY (past the deadline), PAWL_INTERRUPTED, PAWL_FAILED (the store is latched), PAWL_IO,
 * PAWL_DAMAGED, PAWL_NO_MEMORY. */
pawl_status supply_room(struct log *log, uint64_t bytes, enum log_class class, uint64_t deadline,
                        pawl_error *error);

/* Upkeep: makes room when little is left, and what is missing of the reserve. */
pawl_status supply_maintain(struct log *log, pawl_error *error);

/* Gives a reserve's space back to the disk, for what an opening cannot do without. False: there is
 * none left. For who is alone. */
bool supply_give_reserve(struct log *log);

/* Makes what is missing of the reserve. For who is alone, or holds the maintenance byte. */
pawl_status supply_refill_reserve(struct log *log, pawl_error *error);

#endif

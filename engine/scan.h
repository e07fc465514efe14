/* scan: reads the files of a log and states what they hold: which segments, in which order, and the
 * facts by which recovery.h decides where the log ends. Changes no byte of any of them.
 *
 *  1. Every file's header and first frame are read; recovery_decide_file() says what each is.
 *  2. The newest segment that a complete line of predecessors leads to is the head.
 *
 *  3. From the head backwards, as long as nothing read so far proves the segment durable: its file
 *     is synced, its cached pages are dropped, and its frames are read, payloads too. What lies
 *     before the first proof had been durable and is read when it is needed.
 *
 *  4. X is the first position, in that stretch, at which no whole frame stands. From X on every
 *     aligned place of every file is looked at for a header that proves something: no bound, since
 *     a bound would turn confirmed work into an unfinished write.
 * Threads: one scan belongs to one thread; who calls holds the door, or looks only.
 */
#ifndef PAWL_ENGINE_SCAN_H
#define PAWL_ENGINE_SCAN_H

#include "look.h"

struct scan {
    struct os *os;
    struct os_dir *dir;
    const struct identity *identity;
    bool must_not_write; /* for a look at a store: no syncing, no dropping of caches */

    struct look_file *files; /* ascending by ordinal */
    size_t count, capacity;
    size_t strangers; /* names in log/ that are no segment */

    /* What scan_run() found. */
    size_t *line; /* indexes into files: the chain, oldest first */
    size_t line_count;
    enum recovery_row row;
    struct recovery_facts facts;
    size_t end_file;       /* index of the segment in which the log ends */
    uint64_t end_lsn;      /* X */
    uint64_t end_offset;   /* where X is in its file */
    uint16_t last_flags;   /* of the frame before X */
    uint64_t proof_lsn;    /* the greatest position that anything states to have been durable */
    uint64_t torn_bytes;   /* from X to the last byte behind it that is not zero */
    uint64_t later_frames; /* whole headers behind X */
};

void scan_init(struct scan *scan, struct os *os, struct os_dir *dir,
               const struct identity *identity);
void scan_deinit(struct scan *scan);

/* Steps 1 to 4. PAWL_OK with `row` set, and with row damage too when an end was found that is
 * damage: the caller decides what to do. PAWL_DAMAGED or PAWL_VERSION when a file makes a log
 * impossible to follow; the error names file and offset. PAWL_IO, PAWL_NO_MEMORY: nothing is known.
 */
pawl_status scan_run(struct scan *scan, pawl_error *error);

/* The error for a row that is damage, with file, offset and what helps. */
pawl_status scan_damage(const struct scan *scan, pawl_error *error);

#endif

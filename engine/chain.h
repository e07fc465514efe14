/* chain: the segments of a log in their order, and the few of them that are open.
 *
 * Each segment's first frame names its predecessor and where that one ended, so the order is read
 * backwards from the active segment; a file that nobody names is no part of the log. Memory is one
 * entry a segment; descriptors are few, whatever the log's length.
 *
 * Invariants
 * C1  Entries ascend in ordinal and LSN; each ends where the next begins; the last one's end is
 *     open.
 *
 * C2  A file that this handle may have written to stays open until what it wrote is durable, so
 *     that no error of the system's own writing is reported to nobody.
 *
 * Threads: any; one mutex inside, held for no longer than opening a file takes.
 */
#ifndef PAWL_ENGINE_CHAIN_H
#define PAWL_ENGINE_CHAIN_H

#include "identity.h"
#include "mutex.h"
#include "os.h"
#include "segment.h"

#define CHAIN_END_OPEN UINT64_MAX

struct chain_entry {
    uint64_t ordinal;
    uint64_t first_lsn;
    uint64_t end_lsn; /* CHAIN_END_OPEN for the last */
};

struct chain_file {
    uint64_t ordinal;
    struct os_file *file;
    uint32_t users;
    uint64_t used_at; /* a count, for choosing what to close */
};

enum { CHAIN_FILES = 16 };

struct chain {
    struct os *os;
    struct os_dir *dir; /* log/ */
    const struct identity *identity;
    struct mutex mutex;
    struct chain_entry *entries;
    size_t count, capacity;
    _Atomic uint64_t first_lsn; /* of the first entry, for who asks without the mutex */
    struct chain_file files[CHAIN_FILES];
    uint64_t uses;
};

void chain_init(struct chain *chain, struct os *os, struct os_dir *dir,
                const struct identity *identity);
void chain_deinit(struct chain *chain);

/* Adds an entry behind the last, which ends there. Only while no other thread uses the chain. */
pawl_status chain_push(struct chain *chain, uint64_t ordinal, uint64_t first_lsn,
                       pawl_error *error);

/* Reads the whole order backwards from the active segment. PAWL_DAMAGED names what is missing. */
pawl_status chain_load(struct chain *chain, uint64_t active_ordinal, pawl_error *error);

/* Learns of segments begun since, up to the active one. Cheap when there are none. */
pawl_status chain_follow(struct chain *chain, uint64_t active_ordinal, pawl_error *error);

/* The entry that holds `lsn`; false when it lies before the first one. */
bool chain_find(struct chain *chain, uint64_t lsn, struct chain_entry *ret_entry);

/* How many segments reach beyond `lsn`. */
size_t chain_count_beyond(struct chain *chain, uint64_t lsn);

/* Where the first entry begins; 0 when there is none. */
static inline uint64_t chain_first_lsn(struct chain *chain) {
    return atomic_load(&chain->first_lsn);
}

/* The last entry. */
struct chain_entry chain_last(struct chain *chain);

/* A segment's file, open for reading and writing, for as long as it is held. `durable_lsn` tells
 * which others may be closed for it. */
pawl_status chain_hold(struct chain *chain, uint64_t ordinal, uint64_t durable_lsn,
                       struct os_file **ret_file, pawl_error *error);
void chain_let_go(struct chain *chain, struct os_file *file);

/* Opens a segment's file for reading, beside the held ones, which are few: a reader may stay in it
 * for as long as it likes. The caller closes it. */
pawl_status chain_open(struct chain *chain, uint64_t ordinal, struct os_file **ret_file,
                       pawl_error *error);

/* Closes a segment's file if it is open and unused: the name may stand for another file by now. For
 * segments that have not begun. */
void chain_close_unbegun(struct chain *chain, uint64_t ordinal);

/* Where in its file a position of the log lies. */
static inline uint64_t chain_offset(const struct chain_entry *entry, uint64_t lsn) {
    return SEGMENT_DATA_AT + (lsn - entry->first_lsn);
}

enum chain_start {
    CHAIN_START_WHOLE,
    CHAIN_START_NONE,  /* the segment has not begun: zeros, or it ends before them */
    CHAIN_START_WRONG, /* something is there, and it is no whole start */
};

/* Reads a segment's first frame. Fills its outputs only when WHOLE. */
pawl_status chain_read_start(struct os *os, struct os_file *file, uint64_t ordinal, uint64_t secret,
                             enum chain_start *ret_verdict, struct frame_header *ret_header,
                             struct segment_start *ret_start, pawl_error *error);

#endif

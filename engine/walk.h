/* walk: the frames of a log's files in their order, for who looks at a store without opening it.
 *
 * What it is not: the decision where the log ends (recovery.h); the caller brings it. Nor does it
 * know what records mean.
 *
 * Invariants
 * W1  Nothing is written, locked, synced or dropped from the cache.
 * W2  Every frame that is whole and lies before the end is visited once, in the order of the log,
 *     whatever is wrong around it; but where the system does not let a file be read, none of that
 *     file from there on.
 * W3  Every place at which the log should have been whole and is not gives one finding, and so does
 *     every file that can't be read.
 * Threads: one walk belongs to one thread.
 */
#ifndef PAWL_ENGINE_WALK_H
#define PAWL_ENGINE_WALK_H

#include "look.h"

struct walk_frame {
    uint64_t ordinal; /* of the segment, by its file's name */
    uint64_t offset;  /* in that file */
    struct frame_header header;
    const uint8_t *metadata;
    const uint8_t *bytes;   /* the whole frame; NULL when only header and metadata were read */
    const uint8_t *payload; /* NULL when it was not read or is not whole */
};

enum walk_kind {
    WALK_NOTE,   /* worth knowing; nothing is lost by it */
    WALK_UNREAD, /* the system does not let it be read, so nothing is known of it */
    WALK_DAMAGE,
    WALK_KIND_COUNT,
};

struct walk_finding {
    enum walk_kind kind;
    uint64_t ordinal; /* of the segment, by its file's name; 0: not about a segment */
    uint64_t offset;
    uint64_t lsn; /* 0: none is known */
    char file[sizeof "log/" + OS_NAME_BYTES_MAX];
    char what[192];
};

/* Any other answer than PAWL_OK ends the walk and is its result. */
struct walk_visitor {
    void *context;
    pawl_status (*frame)(void *context, const struct walk_frame *frame, pawl_error *error);
    pawl_status (*finding)(void *context, const struct walk_finding *finding, pawl_error *error);
};

/* One segment of the line. */
struct walk_piece {
    size_t file;
    uint64_t first_lsn;   /* 0: no whole frame tells it */
    uint64_t from_offset; /* where to read from: behind the start when that is lost */
    uint64_t end_lsn;     /* by what comes behind it; CHAIN_END_OPEN when nothing tells */
};

/* Where the walk ends. */
enum walk_end {
    WALK_TO_POSITION, /* at end_lsn in segment end_ordinal: it has been decided */
    WALK_TO_FLUX,     /* below end_lsn all is whole; beyond it at the first frame that is not */
    WALK_TO_LAST,     /* behind the last whole frame that there is: the end is not known */
};

struct walk {
    struct os *os;
    struct os_dir *dir; /* log/ */
    const struct identity *identity;
    struct walk_visitor visitor;

    enum walk_end end;
    uint64_t end_ordinal; /* TO_POSITION; with TO_FLUX no file of a higher ordinal is looked at;
                           * with TO_LAST where the log should end, or 0 */
    uint64_t end_lsn;
    uint64_t from_lsn; /* frames before it are passed over */
    bool is_full;      /* check payloads and padding; else header and metadata alone */

    struct look_file *files; /* ascending by key */
    struct walk_piece *line; /* oldest first */
    size_t count, capacity, line_count;

    /* What the walk came to, and where walk_follow() goes on. */
    uint64_t last_ordinal, last_key;
    uint64_t last_first_lsn; /* 0: there was no segment to walk */
    uint64_t lsn;
    uint64_t proof_lsn; /* the greatest position that a header stated to have been durable */
};

/* After this the caller sets visitor, end, end_ordinal, end_lsn, from_lsn and is_full. */
void walk_init(struct walk *walk, struct os *os, struct os_dir *dir,
               const struct identity *identity);
void walk_deinit(struct walk *walk);

/* Reads the names, every file's header and its start, and puts the segments into line. Visits what
 * is wrong with a file as a whole, and strangers. PAWL_VERSION: a file is of a newer format. */
pawl_status walk_files(struct walk *walk, pawl_error *error);

/* Visits the frames. */
pawl_status walk_frames(struct walk *walk, pawl_error *error);

/* Visits the whole frames that came behind the last one since, in new segments too. */
pawl_status walk_follow(struct walk *walk, pawl_error *error);

/* Visits a finding about segment `ordinal`. */
pawl_status walk_tell(struct walk *walk, enum walk_kind kind, uint64_t ordinal, uint64_t offset,
                      uint64_t lsn, pawl_error *error, const char *format, ...)
    __attribute__((format(printf, 7, 8)));

/* Visits as a finding that a segment's file could not be looked at: no regular file is damage
 * (PAWL_DAMAGED), what the system refuses is unread (PAWL_IO, PAWL_PERMISSION). Any other status is
 * handed on with its error. */
pawl_status walk_tell_failure(struct walk *walk, uint64_t ordinal, uint64_t offset, uint64_t lsn,
                              pawl_status status, const pawl_error *failure, pawl_error *error);

/* Opens and reads one file of log/. PAWL_NOT_FOUND; PAWL_DAMAGED: no regular file. On failure
 * `file` has not begun. */
pawl_status walk_look(struct walk *walk, struct look_file *file, pawl_error *error);

/* Notes that a header stated `lsn` to have been durable. */
static inline void walk_prove(struct walk *walk, uint64_t lsn) {
    if (lsn > walk->proof_lsn)
        walk->proof_lsn = lsn;
}

#endif

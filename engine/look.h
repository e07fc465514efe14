/* look: the files of log/, each seen for itself: its name, its header, how it begins, whether there
 * is anything behind a place of it.
 *
 * What it is not: a decision what a file is (recovery.h), or in which order segments stand. It
 * serves the scan of an opening and the walk of a verification alike, so the two see the same.
 *
 * Invariants
 * K1  Nothing is written, synced or dropped from the cache.
 * K2  No byte is passed over unread but one that the system knows to be a hole.
 * Threads: no state of its own; a list and a window belong to one thread.
 */
#ifndef PAWL_ENGINE_LOOK_H
#define PAWL_ENGINE_LOOK_H

#include "chain.h"
#include "identity.h"
#include "recovery.h"
#include "segment.h"
#include "window.h"

struct look_file {
    uint64_t ordinal; /* by its name */
    uint64_t key;     /* by its header, when that is whole: what its frames are bound to */
    uint64_t bytes;
    enum recovery_header verdict;
    enum recovery_file_row row;
    struct segment_header header;
    enum chain_start start_verdict;
    struct frame_header start_header;
    struct segment_start start;
    bool has_content; /* something behind a header that is not right */

    /* What a scan notes of it. */
    bool is_settled; /* synced, and read from the disk, not from what is cached */
    bool is_blank;   /* nothing but zeros behind the header; known of files behind the end only */

    /* What a walk notes of it. */
    bool is_gone;       /* it was listed and then could not be found */
    bool is_unreadable; /* no regular file, or one that the system does not let be read: told of */
    size_t place;       /* in the line, from 1; 0: it is not in it */
};

/* Told of each name that is neither a segment's nor a reserve's. A non-zero answer ends the listing
 * and is its result. */
typedef int (*look_stranger)(void *context, const char *name);

struct look_list {
    struct os *os;
    struct look_file *files;
    size_t count, capacity;
    look_stranger stranger;
    void *context;
};

/* Adds the segments' files of `dir` to an empty list, ascending by ordinal. Nothing else is
 * known of each but the key that follows from it. 0, an errno value, or `stranger`'s answer. */
int look_list(struct look_list *list, struct os_dir *dir);
void look_list_free(struct look_list *list);

/* Ascending by what their frames are bound to; of two of one key the rightly named comes first. */
void look_sort(struct look_file *files, size_t count);

/* Opens a segment's file. PAWL_NOT_FOUND: it is not there. PAWL_DAMAGED: no regular file. */
pawl_status look_open(struct os *os, struct os_dir *dir, uint64_t ordinal, unsigned how,
                      struct window *ret_window, pawl_error *error);

/* For a file that nothing was written to. */
void look_close(struct window *window);

/* Reads the header, the start and the size of the file `window` shows. Fills all of *file but
 * ordinal, row and the notes. */
pawl_status look_inside(struct window *window, const struct identity *identity,
                        struct look_file *file, pawl_error *error);

/* `file` with its row, when it is known whether a segment of a higher ordinal has begun. */
enum recovery_file_row look_decide(const struct look_file *file, bool is_followed);

/* Offset behind the last byte of the file from `offset` on that is not zero; 0 when all are. */
pawl_status look_last_byte(struct window *window, uint64_t offset, uint64_t *ret_end,
                           pawl_error *error);

/* The first place at or behind `offset`, in steps of FRAME_ALIGNMENT, at which a whole header of
 * this key stands. PAWL_EMPTY: there is none; the outputs are then untouched. */
pawl_status look_next_header(struct window *window, const struct frame_key *key, uint64_t offset,
                             uint64_t *ret_offset, struct frame_header *ret_header,
                             pawl_error *error);

#endif

/* segment: one file of the log, its name, its header and the space it takes.
 *
 *     header block 4096 | frames, from the first byte behind it | zeros
 *
 * What it is not: the order of segments; a segment's first frame states its first LSN and which
 * segment ended there (chain.h). A header alone says nothing of what the file holds, so a segment
 * can be made ahead of need.
 *
 * Invariants
 * G1  A file is called by its ordinal in ten digits, "0000000001.seg", counted from 1, and its
 *     header says the same.
 *
 * G2  Behind the header there is nothing but whole frames, what a crash left of others, and zeros.
 *     Space that frames will go to is zero-filled and synced first; nothing is written twice.
 *
 * Threads: making and extending one segment is for one thread at a time; the rest is pure.
 */
#ifndef PAWL_ENGINE_SEGMENT_H
#define PAWL_ENGINE_SEGMENT_H

#include "frame.h"
#include "os.h"
#include "record.h"
#include "status.h"

enum {
    SEGMENT_HEADER_BYTES = 64, /* used; the rest of the block is zero */
    SEGMENT_DATA_AT = 4096,    /* offset of the first frame */
    SEGMENT_NAME_BYTES = 16,
    SEGMENT_UUID_BYTES = 16,
    SEGMENT_FORMAT_VERSION = 0,
    SEGMENT_BYTES_MIN = 8 * 1024, /* header included */
};

#define SEGMENT_ORDINAL_MAX 9999999999U
#define SEGMENT_FIRST_LSN   64U /* of the whole log; 0 is no LSN */

enum segment_flags {
    SEGMENT_RESERVE = 1 << 0, /* begun with no space left: only what finishes work goes into it */
};

struct segment_header {
    uint32_t flags;
    uint64_t ordinal;
    uint64_t durable_lsn; /* known to be durable when it was made: proof, as in a frame (F3) */
    uint64_t made_us;     /* wall clock, for a human who looks */
    uint8_t uuid[SEGMENT_UUID_BYTES];
};

void segment_name(uint64_t ordinal, char ret_name[SEGMENT_NAME_BYTES]);

/* Strict: anything but ten digits and ".seg" is no segment. */
bool segment_parse_name(const char *name, uint64_t *ret_ordinal);

/* The files that stand ready to become segments when the disk is full. */
enum { SEGMENT_RESERVES = 2 };
extern const char *const segment_reserve_names[SEGMENT_RESERVES];

bool segment_is_reserve_name(const char *name);

enum segment_verdict {
    SEGMENT_OURS,
    SEGMENT_ABSENT,  /* nothing but zeros, or shorter than a header */
    SEGMENT_WRONG,   /* the checksum does not hold */
    SEGMENT_FOREIGN, /* another store's */
    SEGMENT_NEWER,   /* a format that this library does not know */
};

/* Writes the header's bytes into a block of SEGMENT_DATA_AT bytes, the rest zero. */
void segment_encode_header(const struct segment_header *header, uint64_t secret, uint8_t *block);

/* Writes the header block of an open file, without syncing it. Returns an errno value. */
int segment_write_header(struct os *os, struct os_file *file, const struct segment_header *header,
                         uint64_t secret);

/* Reads one; `count` bytes of the file's beginning are there. Fills *ret_header when OURS or
 * FOREIGN. */
enum segment_verdict segment_read_header(const uint8_t *block, size_t count,
                                         const uint8_t uuid[SEGMENT_UUID_BYTES], uint64_t secret,
                                         struct segment_header *ret_header);

/* Opens a file of log/ that will be written anew, making it if it is missing. One that has a second
 * name elsewhere, as in a backup, is let go of and made again: what that name shows stays. An
 * errno. */
int segment_open_own(struct os *os, struct os_dir *dir, const char *name,
                     struct os_file **ret_file);

/* Makes the file durable with its header and `data_bytes` of zeros behind it; its name is the
 * caller's to sync. A file of that name is made again from nothing. On failure the name may be left
 * behind with a file that segment_read_header() finds ABSENT or that holds no frame. */
pawl_status segment_make(struct os *os, struct os_dir *dir, const struct segment_header *header,
                         uint64_t secret, uint64_t data_bytes, pawl_error *error);

/* Zero-fills the file from `from`, where it ends, to `bytes`, without syncing it. When it fails the
 * file is as long as before. */
pawl_status segment_extend(struct os *os, struct os_file *file, uint64_t ordinal, uint64_t from,
                           uint64_t bytes, pawl_error *error);

/* The record in a segment's first frame. */
struct segment_start {
    uint64_t predecessor; /* its ordinal; 0 for the first of all */
    uint64_t end_lsn;     /* where the predecessor ended: the frame's own LSN */
};

enum {
    SEGMENT_START_BODY_BYTES = 16,
    SEGMENT_START_FRAME_BYTES = 88,
};

/* The start frame that belongs at the beginning of `ordinal`, whole, in `frame`. Returns its size.
 */
size_t segment_start_frame(const struct segment_start *start, uint64_t ordinal, uint64_t secret,
                           uint64_t durable_lsn, uint64_t time_us,
                           uint8_t frame[SEGMENT_START_FRAME_BYTES]);

/* From a whole start frame's metadata. False when it says no such thing. */
bool segment_start_decode(const void *metadata, size_t bytes, struct segment_start *ret_start);

#endif

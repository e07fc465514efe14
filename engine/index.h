/* index: roughly where the messages of one segment are: which stretch of it to read for them.
 *
 * A segment is cut into stretches. For each stretch, and each queue and priority in it, one row
 * says from which seq to which, and how many. So a segment full of small messages of one queue has
 * a row for a hundred of them; whoever wants one reads the records of a stretch and takes it. When
 * there are too many rows, stretches are joined two by two: memory, and what is written when the
 * segment is sealed, have a bound, which grows with the queues in the segment and not with its
 * messages.
 *
 * Invariants
 * X1  A message that was added lies in the stretch of the row of its queue and priority whose seqs
 *     enclose its own. A row may enclose seqs that are not there.
 *
 * X2  The rows of one queue and priority ascend and do not overlap.
 *
 * X3  There are at most INDEX_ROWS_MAX rows, or twice as many as queues and priorities in them.
 *
 * Threads: the caller's.
 */
#ifndef PAWL_ENGINE_INDEX_H
#define PAWL_ENGINE_INDEX_H

#include "bytes.h"
#include "os.h"
#include "status.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    INDEX_STRETCH_BYTES = 32 * 1024, /* at first; twice as much with each joining */
    INDEX_ROWS_MAX = 4096,           /* unless there are more than half as many lines */
};

struct index_row {
    uint64_t lsn;     /* of the first frame with one of them */
    uint64_t end_lsn; /* none of them lies at or behind it */
    uint64_t first_seq, last_seq;
    uint32_t queue;
    uint32_t count : 28;
    uint32_t priority : 4;
    uint32_t stretch;
    uint32_t next; /* of the same queue and priority; INDEX_NO_ROW: the last */
};

#define INDEX_NO_ROW UINT32_MAX

/* The first and the last row of a queue and priority. */
struct index_line {
    uint32_t queue;
    uint32_t priority;
    uint32_t first, last; /* INDEX_NO_ROW: the place is free */
};

/* Zeroed but for `os` it is empty, and needs index_begin() before anything is added. */
struct index {
    struct os *os;
    uint64_t first_lsn; /* of the segment */
    uint64_t stretch_bytes;
    struct index_row *rows; /* by stretch, within one as they came */
    uint32_t row_count, row_capacity;
    struct index_line *lines; /* by hash of queue and priority */
    uint32_t line_count, line_capacity;
};

void index_deinit(struct index *index);

/* Empty again, for a segment that begins at `first_lsn`. Gives no memory back. */
void index_begin(struct index *index, uint64_t first_lsn);

/* Room for `more` calls of index_add(), or for any number of them for one frame whose messages are
 * of `more` queues and priorities. Not added to what was reserved before. PAWL_NO_MEMORY: nothing
 * has changed. */
pawl_status index_reserve(struct index *index, uint32_t more, pawl_error *error);

/* A message in the frame [lsn, end_lsn), of a priority below 16. LSNs ascend, and so do the seqs of
 * a queue and priority. Reserved before. May join rows. */
void index_add(struct index *index, uint64_t lsn, uint64_t end_lsn, uint32_t queue,
               uint32_t priority, uint64_t seq);

/* The first row of this queue and priority that reaches to `seq` or beyond; NULL: none does. Good
 * until the index is changed or reserved for. */
const struct index_row *index_find(const struct index *index, uint32_t queue, uint32_t priority,
                                   uint64_t seq);

#endif

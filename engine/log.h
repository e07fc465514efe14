/* log: the one append-only log of a store, shared by all processes that have it open.
 *
 * What it is: positions (LSNs), frames, and the three questions of a log: where does it end, what
 * has been made durable, what comes next. It knows nothing of what the records mean.
 *
 * An operation is: log_lock, read what others appended, decide, log_append, log_unlock, and, if it
 * must survive a power cut, log_wait_durable. No lock is held across a sync.
 *
 * Threads: a log may be used by any number of threads; log_append only between log_lock and
 * log_unlock of the same thread. A reader belongs to one thread at a time.
 * Deadlines are times on the boot clock (os.h). In a child that was forked after the opening every
 * call that can fail answers PAWL_FORKED, but for log_close(), which frees the handle there.
 */
#ifndef PAWL_ENGINE_LOG_H
#define PAWL_ENGINE_LOG_H

#include "frame.h"
#include "os.h"
#include "recovery.h"
#include "status.h"

struct log;

struct log_options {
    uint64_t segment_bytes; /* header included; 0: 64 MiB. The first opener's holds for all */
    uint64_t reserve_bytes; /* of each of the two reserve segments; 0: none are kept */
    uint64_t busy_ns;       /* how long opening and closing wait for another process */
    bool create;            /* make the store if there is none */
    bool exclusive;         /* for this handle alone, until it is closed */
};

/* What an opening found. */
struct log_opening {
    bool was_created;
    bool was_alone;         /* it proved that nobody else had the store open, and recovered it */
    bool was_closed;        /* the last handle before had been closed cleanly */
    enum recovery_row row;  /* if it was alone */
    uint64_t torn_bytes;    /* cut off, in the segment in which the log ended */
    uint64_t later_frames;  /* frames cut off behind them */
    uint64_t strangers;     /* names in log/ that are no segment; left alone */
    uint64_t recovery;      /* drawn by whoever recovered the log last, alone */
    uint64_t recovered_lsn; /* where the log ended then */
};

/* Opens the log of the store at `path`. The os stays the caller's and must outlive the log.
 * PAWL_NO_STORE, PAWL_EXISTS (a directory with other things in it), PAWL_BUSY (past busy_ns),
 * PAWL_DAMAGED, PAWL_VERSION, PAWL_INVALID (options), PAWL_IO, PAWL_PERMISSION, PAWL_DISK_FULL,
 * PAWL_NO_MEMORY. On failure nothing is held, and the log is as it was. */
pawl_status log_open(struct os *os, const char *path, const struct log_options *options,
                     struct log **ret_log, struct log_opening *ret_opening, pawl_error *error);

/* Syncs what this handle wrote; the last one of all writes a mark. The handle is gone in any case;
 * no other thread may be in a call of it. PAWL_FAILED_SYNC: something written is undetermined.
 * PAWL_PENDING (past busy_ns), PAWL_IO, PAWL_NO_MEMORY: it stands in the log, not yet durable. */
pawl_status log_close(struct log *log, pawl_error *error);

/* Ends every wait of this handle, now and from now on, with PAWL_INTERRUPTED or PAWL_PENDING. From
 * any thread. */
void log_interrupt(struct log *log);

enum log_class {
    LOG_ORDINARY,  /* brings work in: refused (PAWL_DISK_FULL) when the disk is full */
    LOG_FINISHING, /* ends work: may use the reserve */
};

struct log_draft {
    const void *metadata; /* records; see record.h */
    uint32_t metadata_bytes;
    const void *payload;
    uint32_t payload_bytes;
    uint32_t record_count;
    uint16_t flags;   /* FRAME_NEEDS_SYNC or 0 */
    uint64_t time_us; /* store time */
};

/* Takes the append lock with room for frames of `bytes` in all. The log has then no other appender,
 * and log_tail() stands still until log_unlock().
 * PAWL_BUSY: another process holds it past the deadline, which the sentence names, or another
 * thread of this handle. PAWL_DISK_FULL, PAWL_TOO_LARGE, PAWL_FAILED, PAWL_DAMAGED, PAWL_IO,
 * PAWL_NO_MEMORY, PAWL_INTERRUPTED (log_interrupt(), while it would have to wait). Nothing is held
 * on failure. */
pawl_status log_lock(struct log *log, uint64_t bytes, enum log_class class, uint64_t deadline,
                     pawl_error *error);
void log_unlock(struct log *log);

/* Appends one frame. On success it is in the file: it survives the death of any process. On failure
 * (PAWL_IO, PAWL_DISK_FULL, PAWL_TOO_LARGE, PAWL_NO_MEMORY) it is not in the log and never will be;
 * but PAWL_FAILED_SYNC: what was written could not be read back either, it may or may not be there
 * after reopening, and the store is latched. */
pawl_status log_append(struct log *log, const struct log_draft *draft, uint64_t *ret_lsn,
                       uint64_t *ret_end_lsn, pawl_error *error);

/* Returns when everything below `lsn` is on stable storage. PAWL_FAILED_SYNC: a sync failed first,
 * it may or may not be there after reopening. PAWL_PENDING: the deadline passed or the handle was
 * interrupted; it stands in the log. PAWL_INVALID: the log does not reach so far. PAWL_IO: no sync
 * could be tried. */
pawl_status log_wait_durable(struct log *log, uint64_t lsn, uint64_t deadline, pawl_error *error);

/* Returns when the log reaches beyond `lsn`. PAWL_EMPTY: the deadline passed. PAWL_INTERRUPTED,
 * PAWL_FAILED. */
pawl_status log_wait_tail(struct log *log, uint64_t lsn, uint64_t deadline, pawl_error *error);

uint64_t log_first(struct log *log);
uint64_t log_tail(struct log *log);
uint64_t log_durable(struct log *log);

/* Syncs the log, then writes a mark and syncs that: a frame that carries nothing but how far the
 * log is durable, so that later damage to what lies before it can be told from an unfinished write.
 * `flags` is 0 or FRAME_CLOSE. */
pawl_status log_mark(struct log *log, uint16_t flags, uint64_t deadline, pawl_error *error);

/* One bounded slice of upkeep: flushes what nobody waits for, makes segments ahead of need, refills
 * the reserve, marks a log that has gone idle. Every 50 ms while there is work. */
pawl_status log_maintain(struct log *log, pawl_error *error);

/* ---- Reading ---- */

struct log_view {
    struct frame_header header;
    uint64_t ordinal;        /* the segment it is in */
    const uint8_t *metadata; /* in the reader's buffer, until it is used again */
};

struct log_reader;

/* A reader that stands before the frame at `lsn`. */
pawl_status log_reader_open(struct log *log, uint64_t lsn, struct log_reader **ret_reader,
                            pawl_error *error);
void log_reader_close(struct log_reader *reader);

enum log_reach {
    LOG_TO_TAIL,        /* whatever is in the log */
    LOG_TO_CONFIRMABLE, /* not beyond a frame that needs a sync and is not durable yet */
};

/* The next frame. PAWL_EMPTY at the end of that reach; the reader stays where it is and may be
 * asked again. PAWL_DAMAGED: the frame is not whole; the error names segment and offset. */
pawl_status log_reader_next(struct log_reader *reader, enum log_reach reach,
                            struct log_view *ret_view, pawl_error *error);

/* The payload of the frame that log_reader_next() has just given, checked, in the reader's buffer;
 * view->metadata is moved along with it. */
pawl_status log_reader_payload(struct log_reader *reader, struct log_view *view,
                               const uint8_t **ret_payload, pawl_error *error);

/* Where the next frame will be read. */
uint64_t log_reader_lsn(const struct log_reader *reader);

/* The next frame will be read at `lsn`, where one begins or will. */
void log_reader_seek(struct log_reader *reader, uint64_t lsn);

#endif

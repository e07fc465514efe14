#ifndef PAWL_H
#define PAWL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers are stable for ever, grouped by tens, never reused. */
typedef enum pawl_status {
    PAWL_OK = 0,

    /* Outcomes: the normal flow of a program. */
    PAWL_EMPTY = 1,       /* nothing can be claimed now */
    PAWL_NOT_FOUND = 2,   /* no such message, key or dead letter */
    PAWL_PENDING = 3,     /* the deadline passed; it stands in the log, not yet known to be durable */
    PAWL_INTERRUPTED = 4, /* pawl_interrupt() ended the wait */

    /* Refused: the state stayed as it was. */
    PAWL_STALE = 10,     /* the receipt is no longer the newest */
    PAWL_FULL = 11,      /* the queue or the store is at its limit */
    PAWL_MISMATCH = 12,  /* a remembered key, but another payload or other headers */
    PAWL_BUSY = 13,      /* another process holds what is needed past the deadline */
    PAWL_KEY_BUSY = 14,  /* a delivery holds the idempotency key */
    PAWL_COMPLETED = 15, /* the ledger says the key's work is done */
    PAWL_EXISTS = 16,    /* something of that name is there already */
    PAWL_PAUSED = 17,    /* the queue is paused for enqueue */
    PAWL_TOO_LARGE = 18, /* payload, headers, key, batch or frame over its limit */
    PAWL_BACKUP = 19,    /* a backup is opened for reading only */

    /* No such thing to work on. */
    PAWL_NO_STORE = 20,
    PAWL_NO_QUEUE = 21,
    PAWL_NO_GROUP = 22,

    /* The caller's mistake. */
    PAWL_INVALID = 30, /* an argument out of its range; the sentence names it */
    PAWL_FORKED = 31,  /* the handle was opened by the parent process */
    PAWL_CLOSED = 32,  /* the handle is being closed */

    /* The machine: nothing changed, a later try may work. */
    PAWL_NO_MEMORY = 40,
    PAWL_DISK_FULL = 41,
    PAWL_IO = 42,
    PAWL_PERMISSION = 43,
    PAWL_UNSAFE_FS = 44,
    PAWL_READ_ONLY = 45,

    /* The store. */
    PAWL_DAMAGED = 50, /* what had been durable is not whole; the error names segment and offset */
    PAWL_VERSION = 51, /* written by a newer format */

    /* Final for every handle of the store, until it is opened again by a process that is alone. */
    PAWL_FAILED_SYNC = 60, /* this call's work may or may not be there after reopening */
    PAWL_FAILED = 61,      /* an earlier sync failed; this call wrote nothing */
    PAWL_INTERNAL = 62     /* a bug of the engine was found in time; this handle does no more */
} pawl_status;

/* What went wrong, exactly. A plain value that the caller owns; filled only by a failing call. */
typedef struct pawl_error {
    pawl_status status;
    int os_errno;       /* the system's errno, or 0 */
    uint64_t offset;    /* byte offset in `file`, or 0 */
    uint64_t lsn;       /* position in the log, or 0 */
    char file[96];      /* the file's name within the store, or "" */
    char id[160];       /* the message or queue concerned, or "" */
    char sentence[320]; /* one line, no full stop, no newline */
} pawl_error;

#ifdef __cplusplus
}
#endif
#endif

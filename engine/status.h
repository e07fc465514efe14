/* status: every status once, with its name, its sentence and the command's exit code.
 *
 * What it is not: the place where a failure is worded for its case; error_set() takes that wording.
 * Threads: pure functions.
 */
#ifndef PAWL_ENGINE_STATUS_H
#define PAWL_ENGINE_STATUS_H

#include "pawl.h"

/* X(name, exit code, sentence) */
#define STATUS_MAP(X)                                                                              \
    X(PAWL_OK, 0, "done")                                                                          \
    X(PAWL_EMPTY, 3, "nothing to claim")                                                           \
    X(PAWL_NOT_FOUND, 3, "nothing there")                                                          \
    X(PAWL_PENDING, 7, "not yet known to be durable")                                              \
    X(PAWL_INTERRUPTED, 1, "the wait was interrupted")                                             \
    X(PAWL_STALE, 5, "the receipt is stale")                                                       \
    X(PAWL_FULL, 5, "at its limit")                                                                \
    X(PAWL_MISMATCH, 5, "the key is remembered with another content")                              \
    X(PAWL_BUSY, 5, "another process holds it")                                                    \
    X(PAWL_KEY_BUSY, 5, "the key is busy")                                                         \
    X(PAWL_COMPLETED, 5, "the key's work is completed")                                            \
    X(PAWL_EXISTS, 5, "exists already")                                                            \
    X(PAWL_PAUSED, 5, "paused for enqueue")                                                        \
    X(PAWL_TOO_LARGE, 5, "over its size limit")                                                    \
    X(PAWL_BACKUP, 5, "a backup is read-only")                                                     \
    X(PAWL_NO_STORE, 6, "no such store")                                                           \
    X(PAWL_NO_QUEUE, 6, "no such queue")                                                           \
    X(PAWL_NO_GROUP, 6, "no such group")                                                           \
    X(PAWL_INVALID, 2, "invalid argument")                                                         \
    X(PAWL_FORKED, 1, "opened by the parent process")                                              \
    X(PAWL_CLOSED, 1, "the store is being closed")                                                 \
    X(PAWL_NO_MEMORY, 1, "out of memory")                                                          \
    X(PAWL_DISK_FULL, 1, "no space left on the disk")                                              \
    X(PAWL_IO, 1, "input/output error")                                                            \
    X(PAWL_PERMISSION, 1, "not permitted")                                                         \
    X(PAWL_UNSAFE_FS, 1, "the file system is not safe for a store")                                \
    X(PAWL_READ_ONLY, 1, "opened for reading only")                                                \
    X(PAWL_DAMAGED, 4, "the store is damaged")                                                     \
    X(PAWL_VERSION, 1, "written in a newer format")                                                \
    X(PAWL_FAILED_SYNC, 7, "a sync failed: it may or may not be there after reopening")            \
    X(PAWL_FAILED, 1, "a sync failed earlier: the store takes no more until it is reopened")       \
    X(PAWL_INTERNAL, 1, "an internal check failed")

/* The enumerator's own name, "PAWL_BUSY"; "PAWL_?" for a number that is no status. */
const char *status_name(pawl_status status);

/* One short sentence, no full stop. */
const char *status_sentence(pawl_status status);

/* The exit code of the `pawl` command: 0 done, 1 failed, 2 usage, 3 nothing there, 4 damaged,
 * 5 refused, 6 no such store, queue or group, 7 undetermined. */
int status_exit_code(pawl_status status);

/* Fills *error (which may be NULL) and returns `status`, so that a failure is one statement:
 *     return error_set(error, PAWL_BUSY, "slot %u is held", slot);
 * Clears every other field. The sentence is cut to fit, never overrun. */
pawl_status error_set(pawl_error *error, pawl_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for a failed call of the seam: picks the status that fits `os_errno` (ENOSPC, EDQUOT and
 * EFBIG: DISK_FULL; ENOMEM: NO_MEMORY; EACCES, EPERM, EROFS: PERMISSION; else IO), names `file`
 * (which may be NULL) and the offset, and appends the system's own words, but for EFBIG and ELOOP,
 * where those say nothing. */
pawl_status error_os(pawl_error *error, int os_errno, const char *file, uint64_t offset,
                     const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Makes it an error of another status, with the same words; returns that status. */
pawl_status error_as(pawl_error *error, pawl_status status);

/* Adds where it was to an error that error_set() has just filled; returns its status. */
pawl_status error_at(pawl_error *error, pawl_status status, const char *file, uint64_t offset,
                     uint64_t lsn);

/* Leaves the function with the status of `expression` if that is not PAWL_OK. */
#define TRY(expression)                                                                            \
    do {                                                                                           \
        const pawl_status try_status_ = (expression);                                              \
        if (try_status_ != PAWL_OK)                                                                \
            return try_status_;                                                                    \
    } while (0)

#endif

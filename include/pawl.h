/* pawl.h: a durable message queue in a directory, as a C library. This header is its manual.
 *
 * A pawl is the catch that lets a ratchet turn forward and never slip back. A store is a directory
 * with one append-only log; it holds any number of named queues. Producers enqueue messages;
 * consumers claim them for a limited time, do the work, and settle them. There is no server: every
 * process opens the directory and works on it directly, as many at a time as you like, beside the
 * `pawl` command.
 *
 *     enqueue -> ready -> claim -> leased -> ack -> gone
 *                  ^                 |
 *                  |      retry: again after a growing pause
 *                  |                 |
 *                redrive <- dead <- attempts used up
 *
 * The core of a producer and of a consumer, whole in docs/examples/producer_worker.c:
 *
 *     pawl_message_init(&mail, sizeof mail);
 *     mail.payload = pawl_text("to: ada@example.org");
 *     status = pawl_enqueue(store, "mail", &mail, NULL, NULL, &error);
 *
 *     status = pawl_claim(store, "mail", &want, &got, &error);
 *     if (send_mail(got->payload))
 *         status = pawl_ack(store, got->receipt, NULL, NULL, &error);
 *     else
 *         status = pawl_retry(store, got->receipt, &failure, NULL, NULL, &error);
 *     pawl_delivery_free(got);
 *
 * pawl_work() is that in a loop, with threads, lease extension, a breaker and a clean stop.
 *
 * What is promised:
 *   - A message whose enqueue returned PAWL_OK at the level `sync` is delivered until it is
 *     settled, through any crash and any power cut.
 *   - A settlement made durable is never undone. One that was only written survives the death of
 *     any process and may be undone by a power cut; then the message comes again.
 *   - An attempt is in the log before the consumer sees the message. A message that kills its
 *     consumer reaches its limit all the same and becomes a dead letter, with its case file.
 *   - Only the newest lease of a message can settle it. An older receipt is PAWL_STALE.
 *   - Messages of one ordering key are delivered in order, one at a time per group, through
 *     retries, crashes and redrives.
 *   - A transaction is seen whole or not at all.
 *   - An error changes nothing, or says exactly what it left open.
 *   - Damage is told, never papered over. No limit is silent: each has a counter in pawl_stat().
 *
 * Delivery is at least once: a consumer may die after the work and before the ack, and the message
 * then comes again. The ledger narrows that. Give a message an idempotency key, and for that key at
 * most one consumer of a group is at work at a time; once it is acked, every later delivery of the
 * key says `completed` and carries the first one's result. An effect outside the store (a mail, a
 * payment) is exactly once only if the other system takes the same key and refuses its repetition.
 *
 * What is not promised: an order across consumers for messages without an ordering key; that a
 * lease keeps others off the outside world after it ran out; that `write`-level work outlives a
 * power cut; anything on a disk that acknowledges a sync it has not done.
 */
#ifndef PAWL_H
#define PAWL_H

#include <stddef.h>
#include <stdint.h>

/* Conventions. They hold for every function; a comment below speaks only of what differs.
 *
 *  1. Results. What can fail returns a pawl_status, PAWL_OK (0) is success, and takes a pawl_error
 *     as its last parameter. It may be NULL. It is filled by a call that does not return PAWL_OK
 *     and left alone by one that does.
 *  2. Out-parameters are called ret_something and may be NULL where the result is of no interest.
 *     They are filled with PAWL_OK and with PAWL_PENDING, and untouched with anything else unless
 *     the comment says otherwise.
 *  3. Structs are of three kinds.
 *       - Those that you fill in begin with struct_size and may grow with later versions. Set each
 *         up by its _init function, which takes sizeof and sets every field to its default, then
 *         change what you need; one that was not set up is PAWL_INVALID. In an array of them
 *         every element's struct_size is the same. Where a function takes a pointer to one,
 *         NULL stands for all defaults.
 *       - Those that the library hands out by `const` pointer may grow at their end. Read them
 *         through the pointer; don't copy them or make your own. Several are linked by `next`.
 *       - Values (pawl_bytes, pawl_header, pawl_position, pawl_range, pawl_count, pawl_enqueued,
 *         pawl_settled, pawl_confirmed, pawl_report, pawl_error) never change. Copy them freely.
 *  4. Bytes are pointer and length (pawl_bytes); {NULL, 0} is none. Short texts (names, reasons,
 *     receipts) are strings that end in a NUL; NULL is none. Text is UTF-8. Behind all bytes that
 *     the library hands out stands a NUL that is not counted, so that text can be printed.
 *  5. Ownership. What you pass in stays yours and is not looked at after the call has returned
 *     (callbacks and their contexts apart). What you must free, and by which function, is said
 *     where you get it; every such function takes NULL. What a callback is given is valid until
 *     the callback returns.
 *  6. Names of queues and groups match [A-Za-z0-9_][A-Za-z0-9._-]{0,127}. A group of NULL is
 *     "default". Type, reason, stage, consumer and its version, source: at most 128 bytes.
 *  7. Times. `_ms` is milliseconds: a duration, or, where the comment says "time", since the epoch
 *     (0: none). Durations count on a clock that does not jump, whatever the wall clock does.
 *  8. Waiting. wait_ms is the longest a call may wait, counted from its beginning: 0 does not
 *     wait, PAWL_FOREVER waits without end, PAWL_WAIT_DEFAULT takes the handle's busy timeout
 *     (5 s), as do calls that have no wait_ms. Other negative numbers are PAWL_INVALID.
 *  9. Durability. Every writing call takes a pawl_call, or NULL. The level `sync` returns when the
 *     work is on stable storage, together with the work of all who wait at the same time. `write`
 *     returns when it is in the file: it survives the death of every process; a power cut may take
 *     what the last flush interval (50 ms) wrote. Each comment names its default.
 * 10. Threads. Any number may use one handle at once. A transaction, a delivery and an iteration
 *     belong to one thread at a time.
 * 11. Callbacks run outside every lock. They may call the library with the same handle, but not
 *     close it. They must return: no longjmp, no C++ exception through the library.
 * 12. Iteration is by callback everywhere: pawl_..._each(..., visit, context, error). Returning
 *     anything but 0 from `visit` ends it early, and the call returns PAWL_OK. An item is shown as
 *     of one moment; what is there throughout is shown once.
 * 13. Reading calls (get, show, each, count, stat, write of a state or an export) write nothing
 *     and work on a read-only handle. Messages and dead letters are shown as they would be recorded
 *     now: a lease that ran out counts as ended. pawl_state_write() shows the log alone.
 * 14. Messages are named by queue and sequence number; the printed form, `id`, is "orders/1042".
 *
 * Caveats.
 *   - Linux. Local file systems; tmpfs is taken and not durable. Network and FUSE file systems only
 *     with PAWL_OPEN_UNSAFE_FS, because their locks and syncs do not hold what this needs.
 *   - After fork() the child must not use the handle: every call answers PAWL_FORKED. pawl_close()
 *     there frees it and touches nothing of the parent's. Open the store anew in the child.
 *   - The library installs no signal handler, prints nothing, and ends no process. Only
 *     pawl_interrupt() may be called from a signal handler.
 *   - Leases end with the process that holds them (within 250 ms) or with pawl_close(). A lease
 *     that is to outlive the process is claimed with PAWL_CLAIM_DETACHED.
 *   - After a failed sync the store takes no more writes from anyone until every process has closed
 *     it and one opens it again (PAWL_FAILED). Nothing unconfirmed is ever told as durable.
 *   - A log that was cut exactly at a frame's edge behind its last durable mark can't be told
 *     from a shorter log.
 */

#if defined(__GNUC__)
#define PAWL_API        __attribute__((visibility("default")))
#define PAWL_MUST_CHECK __attribute__((warn_unused_result))
#else
#define PAWL_API
#define PAWL_MUST_CHECK
#endif
#define PAWL_CHECKED PAWL_API PAWL_MUST_CHECK

#ifdef __cplusplus
extern "C" {
#endif

/* 1. Statuses and errors
 *
 * Numbers are stable for ever, grouped by tens, never reused. In brackets the exit code that the
 * `pawl` command gives: 0 done, 1 failed, 2 usage, 3 nothing there, 4 damaged, 5 refused, 6 no such
 * store, queue or group, 7 undetermined.
 */
typedef enum pawl_status {
    PAWL_OK = 0,

    /* Outcomes: the normal flow of a program. */
    PAWL_EMPTY = 1,     /* [3] nothing can be claimed now; wait or come again */
    PAWL_NOT_FOUND = 2, /* [3] no such message, key or dead letter, or the selection matches none */
    PAWL_PENDING = 3,   /* [7] the deadline passed; it stands in the log, not yet known to be
                           durable. Do not repeat it without a key; pawl_sync() waits on */
    PAWL_INTERRUPTED = 4, /* [1] pawl_interrupt() or a progress callback ended the wait */

    /* Refused: the state stayed as it was. */
    PAWL_STALE = 10,    /* [5] the receipt is no longer the newest, or another store's: drop it, the
                           message is somebody else's or settled */
    PAWL_FULL = 11,     /* [5] the queue or the store is at its limit; later, or elsewhere */
    PAWL_MISMATCH = 12, /* [5] a remembered key, but another payload or other headers */
    PAWL_BUSY = 13,     /* [5] another process holds what is needed past the deadline; the sentence
                           names its pid, host and command. Try again */
    PAWL_KEY_BUSY = 14, /* [5] a delivery holds the idempotency key */
    PAWL_COMPLETED = 15, /* [5] the ledger says the key's work is done */
    PAWL_EXISTS = 16,    /* [5] something of that name is there already */
    PAWL_PAUSED = 17,    /* [5] the queue is paused for enqueue */
    PAWL_TOO_LARGE = 18, /* [5] payload, headers, key, batch or frame over its limit; it is named */
    PAWL_BACKUP = 19,    /* [5] a backup is opened for reading only; restore it first */

    /* No such thing to work on. */
    PAWL_NO_STORE = 20, /* [6] */
    PAWL_NO_QUEUE = 21, /* [6] the sentence names the nearest one */
    PAWL_NO_GROUP = 22, /* [6] */

    /* The caller's mistake. */
    PAWL_INVALID = 30, /* [2] an argument out of its range, or a garbled receipt; it is named */
    PAWL_FORKED = 31,  /* [1] the handle was opened by the parent process */
    PAWL_CLOSED = 32,  /* [1] the handle is being closed by another thread */

    /* The machine: nothing changed, a later try may work. */
    PAWL_NO_MEMORY = 40,  /* [1] */
    PAWL_DISK_FULL = 41,  /* [1] what brings work in is refused; what ends work goes on */
    PAWL_IO = 42,         /* [1] */
    PAWL_PERMISSION = 43, /* [1] */
    PAWL_UNSAFE_FS = 44,  /* [1] see PAWL_OPEN_UNSAFE_FS */
    PAWL_READ_ONLY = 45,  /* [1] the handle was opened for reading only */

    /* The store. */
    PAWL_DAMAGED = 50, /* [4] what had been durable is not whole; segment and offset are named */
    PAWL_VERSION = 51, /* [1] written by a newer format; a newer library reads it */

    /* Final for every handle of the store, until it is opened again by a process that is alone. */
    PAWL_FAILED_SYNC = 60, /* [7] this call's work may or may not be there after reopening; repeat
                              it then with the same idempotency key */
    PAWL_FAILED = 61,      /* [1] an earlier sync failed; this call wrote nothing */
    PAWL_INTERNAL = 62     /* [1] a bug of the engine was found in time; this handle does no more */
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

/* Two groups of statuses that nearly every call can answer, named in the comments below:
 *
 *   [reading]  PAWL_INVALID, PAWL_FORKED, PAWL_CLOSED, PAWL_NO_MEMORY, PAWL_IO, PAWL_DAMAGED,
 *              PAWL_INTERNAL. Nothing changed.
 *   [writing]  those, and PAWL_BUSY, PAWL_INTERRUPTED, PAWL_READ_ONLY, PAWL_BACKUP, PAWL_DISK_FULL,
 *              PAWL_FAILED: nothing changed. PAWL_PENDING: it stands in the log. PAWL_FAILED_SYNC:
 *              undetermined. Calls that end work (settling, cancel, purge, close) do not answer
 *              PAWL_DISK_FULL; room for them is kept in reserve.
 */

/* The status's own name ("PAWL_BUSY"; "PAWL_?" for a number that is none), one short sentence, and
 * the command's exit code. The strings are static. */
PAWL_API const char *pawl_status_name(pawl_status status);
PAWL_API const char *pawl_status_sentence(pawl_status status);
PAWL_API int pawl_status_exit_code(pawl_status status);

/* The version of the library that is running, as "1.2.3". The string is static. */
PAWL_API const char *pawl_version(void);

/* 2. Types and limits used throughout */

#define PAWL_PAYLOAD_BYTES_MAX (64u * 1024 * 1024)
#define PAWL_HEADERS_BYTES_MAX (64u * 1024) /* names and values of one message together */
#define PAWL_KEY_BYTES_MAX     1024u        /* idempotency key, ordering key */
#define PAWL_NAME_BYTES_MAX    128u
#define PAWL_DETAIL_BYTES_MAX  4096u /* a longer detail is cut, and ends in an ellipsis */
#define PAWL_RESULT_BYTES_MAX  4096u
#define PAWL_RECEIPT_CHARS_MAX 256u
#define PAWL_FRAME_BYTES_MAX   (72u * 1024 * 1024) /* one batch or transaction */
#define PAWL_FRAME_RECORDS_MAX 65536u
#define PAWL_PRIORITY_DEFAULT  4 /* of 0 to 9, higher first */

/* Special values of int64_t fields. */
#define PAWL_FOREVER      (-1)      /* a wait without end */
#define PAWL_WAIT_DEFAULT (-2)      /* the handle's busy timeout */
#define PAWL_UNSET        INT64_MIN /* the default, or, in a change, as it is */
#define PAWL_OFF          (-1)      /* of a setting: off, for ever, unlimited */
#define PAWL_INHERIT      (-3)      /* of a group's setting: the queue's again */

typedef struct pawl_store pawl_store; /* one open of a store: a session */
typedef struct pawl_tx pawl_tx;       /* a transaction being put together */

typedef struct pawl_bytes {
    const void *data;
    size_t size;
} pawl_bytes;

typedef struct pawl_header {
    const char *name;
    pawl_bytes value;
} pawl_header;

/* The bytes of a string, without its NUL; {NULL, 0} for NULL. They stay the string's. */
PAWL_API pawl_bytes pawl_text(const char *string);

/* Takes a printed id ("orders/1042") apart. ret_queue has room for a name and its NUL.
 * Returns: PAWL_OK; PAWL_INVALID. */
PAWL_CHECKED pawl_status pawl_id_parse(const char *id, char ret_queue[PAWL_NAME_BYTES_MAX + 1],
                                       uint64_t *ret_seq, pawl_error *error);

/* Where a message stands in one group. */
typedef enum pawl_state {
    PAWL_STATE_NONE = 0,
    PAWL_READY = 1,    /* can be claimed, or waits only for a leased or waiting one of its key */
    PAWL_DELAYED = 2,  /* due later, by its producer's wish */
    PAWL_WAITING = 3,  /* due later, after a retry */
    PAWL_LEASED = 4,   /* at a consumer */
    PAWL_BLOCKED = 5,  /* behind a dead message of its ordering key */
    PAWL_ACKED = 6,    /* done */
    PAWL_DEAD = 7,     /* a dead letter */
    PAWL_PURGED = 8,   /* a dead letter that was thrown away or replaced */
    PAWL_EXPIRED = 9,  /* past its time to live, by policy dropped */
    PAWL_DROPPED = 10, /* removed by the limit's policy drop-oldest */
    PAWL_CANCELLED = 11,
    PAWL_SKIPPED = 12 /* passed over by a seek or the group's start */
} pawl_state;

/* "ready", "delayed" ...; "none" for 0, "?" for a number that is none. Static. */
PAWL_API const char *pawl_state_name(pawl_state state);

typedef enum pawl_level {
    PAWL_LEVEL_DEFAULT = 0, /* what the function's comment says */
    PAWL_LEVEL_WRITE = 1,
    PAWL_LEVEL_SYNC = 2
} pawl_level;

/* How one writing call is to be carried out. */
typedef struct pawl_call {
    uint32_t struct_size;
    pawl_level level;
    int64_t wait_ms; /* PAWL_WAIT_DEFAULT. When it passes before the work is in the log: PAWL_BUSY;
                        in the log, but not durable: PAWL_PENDING */
} pawl_call;

PAWL_API void pawl_call_init(pawl_call *ret_call, size_t struct_size);

/* Told now and then by long work: `done` of `total` in the work's own unit (total 0: not known).
 * Anything but 0 stops it at the next safe place, with PAWL_INTERRUPTED. */
typedef int (*pawl_progress)(void *context, uint64_t done, uint64_t total);

/* Takes the next piece of a stream. Anything but 0 stops it, with PAWL_INTERRUPTED. */
typedef int (*pawl_sink)(void *context, const void *data, size_t size);

/* 3. Opening and closing */

typedef enum pawl_open_flag {
    PAWL_OPEN_CREATE = 1,        /* make the store if the directory is missing (its parent must be
                                    there) or empty */
    PAWL_OPEN_NEW = 2,           /* with CREATE: there must not be one yet (PAWL_EXISTS) */
    PAWL_OPEN_READ_ONLY = 4,     /* write nothing; also for backups and read-only media */
    PAWL_OPEN_EXCLUSIVE = 8,     /* for this handle alone; others get PAWL_BUSY. Quicker */
    PAWL_OPEN_NO_THREAD = 16,    /* no maintenance thread; the caller calls pawl_maintain() */
    PAWL_OPEN_UNSAFE_FS = 32,    /* take a network or FUSE file system, at the caller's risk */
    PAWL_OPEN_DAMAGED = 64,      /* read what is whole of a damaged store; implies READ_ONLY */
    PAWL_OPEN_NOSYNC = 128,      /* for tests: never sync. No promise survives a power cut */
    PAWL_OPEN_MANUAL_CLOCK = 256 /* for tests: time stands still but for pawl_clock_advance().
                                    Implies EXCLUSIVE and NO_THREAD */
} pawl_open_flag;

typedef enum pawl_access {
    PAWL_ACCESS_OWNER = 0, /* directory 0700, files 0600 */
    PAWL_ACCESS_GROUP_READ = 1,
    PAWL_ACCESS_GROUP_WRITE = 2
} pawl_access;

/* The store's own settings. PAWL_UNSET: the default when creating, as it is when changing. */
typedef struct pawl_settings {
    uint32_t struct_size;
    uint32_t reserved;
    int64_t segment_bytes;        /* 64 MiB, at most 1/64 of the file system */
    int64_t max_disk_bytes;       /* 80 % of the file system; beyond it enqueue answers PAWL_FULL */
    int64_t reserve_bytes;        /* kept so that a full disk can be drained */
    int64_t busy_timeout_ms;      /* 5 s */
    int64_t sector_padding_bytes; /* PAWL_OFF, 512 or 4096; when creating only */
    int64_t group_access;         /* a pawl_access; when creating only */
} pawl_settings;

PAWL_API void pawl_settings_init(pawl_settings *ret_settings, size_t struct_size);

/* Sees a failure's detail before it is recorded and may change it in place. `detail` holds `size`
 * bytes and has room for PAWL_DETAIL_BYTES_MAX; `reason` may be NULL. Returns the new size; 0
 * removes it. */
typedef size_t (*pawl_redact)(void *context, const char *queue, const char *reason, char *detail,
                              size_t size);

typedef struct pawl_open_options {
    uint32_t struct_size;
    uint32_t flags;                /* pawl_open_flag; 0: a store that is there, to read and write */
    const pawl_settings *settings; /* of a store that is created */
    int64_t busy_timeout_ms;       /* this handle's; PAWL_UNSET: the store's setting */
    int64_t cache_bytes;           /* of the index cache; PAWL_UNSET: 8 MiB */
    int64_t tickets_max;           /* asynchronous enqueues under way; PAWL_UNSET: 65,536 */
    pawl_redact redact; /* applied to every detail that this handle records; NULL: none */
    void *redact_context;
    pawl_progress progress; /* while a long recovery runs; NULL: none */
    void *progress_context;
} pawl_open_options;

PAWL_API void pawl_open_options_init(pawl_open_options *ret_options, size_t struct_size);

/* Opens the store in `directory`. The first process to open it recovers it: what a crash tore off
 * behind the last durable frame is cut and counted, and nothing else. A process may open a store
 * more than once; each handle is a session of its own.
 * Durability: whatever the log holds when this returns is durable.
 * Ownership: close the handle with pawl_close().
 * Returns: PAWL_OK; PAWL_NO_STORE; PAWL_EXISTS (with NEW, or a directory that holds other things);
 * PAWL_BUSY; PAWL_DAMAGED (open with DAMAGED, or pawl_repair()); PAWL_VERSION; PAWL_BACKUP (open
 * it READ_ONLY); PAWL_UNSAFE_FS; PAWL_PERMISSION; PAWL_READ_ONLY (the file system is);
 * PAWL_INTERRUPTED (by `progress`); PAWL_INVALID, PAWL_DISK_FULL, PAWL_IO, PAWL_NO_MEMORY,
 * PAWL_FAILED_SYNC. On failure nothing is held. */
PAWL_CHECKED pawl_status pawl_open(const char *directory, const pawl_open_options *options,
                                   pawl_store **ret_store, pawl_error *error);

/* Ends the waits of other threads in this handle (they get PAWL_CLOSED), lets their calls finish,
 * releases leases that are still held (uncounted, as pawl_release() does), syncs what this handle
 * wrote, and frees it. Deliveries and cases that were handed out stay valid until they are freed;
 * transactions must be freed before. The handle is gone whatever is returned, but for
 * PAWL_INVALID.
 * Durability: what this handle wrote is durable with PAWL_OK.
 * Returns: PAWL_OK, also for NULL and for a forked child's handle; PAWL_PENDING (not known to be
 * durable within the busy timeout); PAWL_FAILED_SYNC, PAWL_FAILED, PAWL_IO; PAWL_INVALID (called
 * from one of its callbacks; nothing happened). */
PAWL_API pawl_status pawl_close(pawl_store *store, pawl_error *error);

/* Waits until all that this handle has written or staged is durable.
 * Returns: PAWL_OK; PAWL_PENDING (wait_ms passed, or interrupted); PAWL_FAILED_SYNC; [reading]. */
PAWL_CHECKED pawl_status pawl_sync(pawl_store *store, int64_t wait_ms, pawl_error *error);

/* Whether the store takes writes. Asks the disk nothing and is quick.
 * Returns: PAWL_OK; PAWL_FAILED or PAWL_INTERNAL, with the first cause in *error; PAWL_FORKED. */
PAWL_CHECKED pawl_status pawl_health(pawl_store *store, pawl_error *error);

/* Shows or changes the store's settings.
 * Default level: sync. When reading, set up *ret_settings by pawl_settings_init().
 * Returns: PAWL_OK; [reading], [writing]. */
PAWL_CHECKED pawl_status pawl_settings_get(pawl_store *store, pawl_settings *ret_settings,
                                           pawl_error *error);
PAWL_CHECKED pawl_status pawl_settings_set(pawl_store *store, const pawl_settings *settings,
                                           const pawl_call *call, pawl_error *error);

/* 4. Queues, their policy, their groups
 *
 * A group is an independent reader of a queue with its own state for every message. Consumers
 * within a group compete; groups do not see each other. A queue is born with the group "default".
 */

typedef enum pawl_on_expire { PAWL_ON_EXPIRE_DEAD = 1, PAWL_ON_EXPIRE_DROP = 2 } pawl_on_expire;

typedef enum pawl_on_full {
    PAWL_ON_FULL_REJECT = 1,
    PAWL_ON_FULL_DROP_OLDEST = 2,
    PAWL_ON_FULL_DEAD_OLDEST = 3
} pawl_on_full;

typedef enum pawl_dedup {
    PAWL_DEDUP_OFF = 1,
    PAWL_DEDUP_WINDOW = 2,     /* within dedup_window_ms of the first enqueue */
    PAWL_DEDUP_UNFINISHED = 3, /* until the first is settled in every group; dead is not settled */
    PAWL_DEDUP_BOTH = 4
} pawl_dedup;

typedef enum pawl_on_mismatch {
    PAWL_ON_MISMATCH_REFUSE = 1, /* another content under a remembered key: PAWL_MISMATCH */
    PAWL_ON_MISMATCH_ACCEPT = 2  /* answered with the first one's id, and told as a mismatch */
} pawl_on_mismatch;

typedef enum pawl_ordering_on_dead {
    PAWL_ORDERING_BLOCK = 1,    /* later ones of the key wait until the dead one is gone */
    PAWL_ORDERING_SKIP = 2,     /* they go on */
    PAWL_ORDERING_DEAD_REST = 3 /* those that wait become dead letters too, reason "ordering" */
} pawl_ordering_on_dead;

#define PAWL_COMPRESSION_NONE 0
#define PAWL_COMPRESSION_AUTO 100 /* when it pays; 1 to 19 are zstd's levels */

/* How a queue treats its messages. PAWL_UNSET: the default when creating, as it is when changing.
 * PAWL_OFF where the comment says off or a limit can be lifted. Those marked + can be set for one
 * group too, where PAWL_INHERIT takes the override back. */
typedef struct pawl_policy {
    uint32_t struct_size;
    uint32_t reserved;
    int64_t max_attempts;   /* + 10. The attempt that fails as this number makes it a dead letter;
                               1: no retry; 0 is refused; PAWL_OFF: unlimited */
    int64_t lease_ms;       /* + 30 s, of 1 ms to 7 days */
    int64_t backoff_min_ms; /* + 2 s */
    int64_t backoff_max_ms; /* + 30 min */
    int64_t backoff_factor_permille; /* + 3,000: each pause is three times the last; to 100,000 */
    int64_t backoff_jitter_permille; /* + 200: a fifth up or down by chance; 0 to 1,000 */
    int64_t max_hold_ms;             /* + 12 h: no lease is extended past it */
    int64_t max_age_failing_ms;      /* + off: a failure so long after the first one is the last */
    int64_t max_cost;                /* + off: limit for the sum of the costs told with retries */
    int64_t ttl_ms;                  /* off: time to live from the enqueue, or from its due time */
    int64_t on_expire;               /* a pawl_on_expire: DEAD */
    int64_t max_messages;    /* off: unsettled messages in at least one group, dead not counted */
    int64_t max_bytes;       /* off: their payload and headers */
    int64_t on_full;         /* a pawl_on_full: REJECT */
    int64_t dedup;           /* a pawl_dedup: WINDOW */
    int64_t dedup_window_ms; /* 10 min */
    int64_t dedup_keys;      /* 1,000,000 remembered; more are pushed out, and counted */
    int64_t on_mismatch;     /* a pawl_on_mismatch: REFUSE */
    int64_t ledger_retention_ms;     /* + 7 days */
    int64_t ledger_keys;             /* + 1,000,000 */
    int64_t ordering_on_dead;        /* + a pawl_ordering_on_dead: BLOCK */
    int64_t dead_retention_ms;       /* + off: dead letters older than this are purged */
    int64_t pause_on_dead_count;     /* + off: more deaths than this ... */
    int64_t pause_on_dead_period_ms; /* + ... within this pause the group; both are set together */
    int64_t max_dead_bytes;          /* off: beyond it enqueue answers PAWL_FULL */
    int64_t retain_acked_ms;         /* off: acked messages are kept so long for a seek back */
    int64_t compression;             /* PAWL_COMPRESSION_AUTO */
} pawl_policy;

PAWL_API void pawl_policy_init(pawl_policy *ret_policy, size_t struct_size);

/* Makes a queue, with the groups named or, if group_count is 0, with "default". Its sequence
 * numbers begin at 1, also when a queue of that name was dropped before.
 * Default level: sync.
 * Returns: PAWL_OK; PAWL_EXISTS (it is there, whatever its policy; most programs go on);
 * PAWL_INVALID (the setting is named); [writing]. */
PAWL_CHECKED pawl_status pawl_queue_create(pawl_store *store, const char *queue,
                                           const pawl_policy *policy, const char *const *groups,
                                           size_t group_count, const pawl_call *call,
                                           pawl_error *error);

/* Ends a queue with all that is in it. Receipts of it are stale from then on.
 * Default level: sync.
 * Returns: PAWL_OK; PAWL_NO_QUEUE; [writing]. */
PAWL_CHECKED pawl_status pawl_queue_drop(pawl_store *store, const char *queue,
                                         const pawl_call *call, pawl_error *error);

/* The policy in force: the queue's, or with `group` that group's. Here a group of NULL is the
 * queue. Set up *ret_policy by pawl_policy_init(); no field is PAWL_UNSET or PAWL_INHERIT
 * afterwards.
 * Returns: PAWL_OK; PAWL_NO_QUEUE; PAWL_NO_GROUP; [reading]. */
PAWL_CHECKED pawl_status pawl_policy_get(pawl_store *store, const char *queue, const char *group,
                                         pawl_policy *ret_policy, pawl_error *error);

/* Changes the settings that are not PAWL_UNSET, of the queue, or with `group` of that group alone.
 * Takes effect at once, for messages that are there too.
 * Default level: sync.
 * Returns: PAWL_OK; PAWL_NO_QUEUE; PAWL_NO_GROUP; PAWL_INVALID (named); [writing]. */
PAWL_CHECKED pawl_status pawl_policy_set(pawl_store *store, const char *queue, const char *group,
                                         const pawl_policy *policy, const pawl_call *call,
                                         pawl_error *error);

typedef enum pawl_pause_flag {
    PAWL_PAUSE_CLAIMS = 1, /* claims get nothing; settling goes on */
    PAWL_PAUSE_ENQUEUE = 2 /* enqueue answers PAWL_PAUSED; of the whole queue only */
} pawl_pause_flag;

/* Pauses a queue, or with `group` that group alone (NULL: all groups), and ends the pause.
 * `reason` is shown by statistics and pawl_why_each(); NULL: none. Resuming ends both kinds, and a
 * pause by pause_on_dead. Doing either again is no error.
 * Default level: sync.
 * Returns: PAWL_OK; PAWL_NO_QUEUE; PAWL_NO_GROUP; [writing]. */
PAWL_CHECKED pawl_status pawl_queue_pause(pawl_store *store, const char *queue, const char *group,
                                          uint32_t flags, const char *reason, const pawl_call *call,
                                          pawl_error *error);
PAWL_CHECKED pawl_status pawl_queue_resume(pawl_store *store, const char *queue, const char *group,
                                           const pawl_call *call, pawl_error *error);

typedef enum pawl_from {
    PAWL_FROM_LATEST = 0,   /* behind the newest message */
    PAWL_FROM_EARLIEST = 1, /* the oldest not settled in some group, or retained */
    PAWL_FROM_SEQ = 2,
    PAWL_FROM_TIME = 3 /* the first enqueued at or after it */
} pawl_from;

/* A place in a queue. */
typedef struct pawl_position {
    pawl_from from;
    uint64_t seq;    /* of FROM_SEQ */
    int64_t time_ms; /* time, of FROM_TIME */
} pawl_position;

/* Makes a group that reads from `position` on (NULL: LATEST); what lies before it counts as
 * skipped. `policy` may override the settings marked +.
 * Default level: sync.
 * Returns: PAWL_OK; PAWL_NO_QUEUE; PAWL_EXISTS; [writing]. */
PAWL_CHECKED pawl_status pawl_group_create(pawl_store *store, const char *queue, const char *group,
                                           const pawl_position *position, const pawl_policy *policy,
                                           const pawl_call *call, pawl_error *error);

/* Moves a group. What is below the place and not settled is skipped (its leases become stale, dead
 * letters stay); what is at or above it, was acked, skipped or expired, and is still retained, is
 * ready again with attempts 0; the rest stays.
 * Default level: sync.
 * Returns: PAWL_OK; PAWL_NO_QUEUE; PAWL_NO_GROUP; [writing]. */
PAWL_CHECKED pawl_status pawl_group_seek(pawl_store *store, const char *queue, const char *group,
                                         const pawl_position *position, const pawl_call *call,
                                         pawl_error *error);

/* Ends a group and its state, its dead letters too. Here `group` must be named.
 * Default level: sync.
 * Returns: PAWL_OK; PAWL_NO_QUEUE; PAWL_NO_GROUP; [writing]. */
PAWL_CHECKED pawl_status pawl_group_drop(pawl_store *store, const char *queue, const char *group,
                                         const pawl_call *call, pawl_error *error);

/* 5. Enqueue */

typedef struct pawl_message {
    uint32_t struct_size;
    int32_t priority;        /* 0 to 9, higher first; only the default with an ordering key */
    pawl_bytes payload;      /* any bytes, up to PAWL_PAYLOAD_BYTES_MAX; may be empty */
    pawl_bytes key;          /* idempotency key: the name of the logical work. {NULL, 0}: none; an
                                empty one is PAWL_INVALID, as for the ordering key */
    pawl_bytes ordering_key; /* messages that share it are delivered in order, one at a time */
    const char *type;
    const pawl_header *headers;
    size_t header_count;
    const char *source;  /* a producer whose source_seq grows: what is not above its highest is a */
    uint64_t source_seq; /* duplicate, for ever; 0 without a source */
    int64_t delay_ms;    /* 0: due at once */
    int64_t due_ms;      /* time, instead of delay_ms; 0: none */
    int64_t ttl_ms;      /* PAWL_UNSET: by policy; PAWL_OFF: none */
    int64_t on_mismatch; /* PAWL_UNSET: by policy; a pawl_on_mismatch */
} pawl_message;

PAWL_API void pawl_message_init(pawl_message *ret_message, size_t struct_size);

typedef enum pawl_enqueued_flag {
    PAWL_ENQUEUED_DUPLICATE = 1, /* the key or source_seq was known: nothing new was enqueued */
    PAWL_ENQUEUED_MISMATCH = 2   /* a duplicate with another content, accepted by policy */
} pawl_enqueued_flag;

typedef struct pawl_enqueued {
    uint64_t seq;     /* of the message, or of the first one of its key; 0: a source's duplicate */
    uint32_t flags;   /* pawl_enqueued_flag */
    pawl_state state; /* of a duplicate: the first one's, in "default" or else the first group */
    uint64_t reserved[2];
} pawl_enqueued;

/* Appends a message to a queue. With a remembered idempotency key it answers the first one's
 * number and adds nothing, so a producer that is not sure repeats the call with the same key.
 * Default level: sync. It is not delivered before it could be confirmed at the level asked for.
 * Returns: PAWL_OK (a duplicate too, see flags); PAWL_NO_QUEUE; PAWL_FULL; PAWL_PAUSED;
 * PAWL_MISMATCH; PAWL_TOO_LARGE; [writing]. */
PAWL_CHECKED pawl_status pawl_enqueue(pawl_store *store, const char *queue,
                                      const pawl_message *message, const pawl_call *call,
                                      pawl_enqueued *ret_enqueued, pawl_error *error);

/* The same for `count` messages in one commit: all are there or none. ret_enqueued, if not NULL,
 * is an array of `count`. With PAWL_TOO_LARGE, PAWL_MISMATCH and PAWL_INVALID the sentence names
 * which message was refused, counted from 0. */
PAWL_CHECKED pawl_status pawl_enqueue_batch(pawl_store *store, const char *queue,
                                            const pawl_message *messages, size_t count,
                                            const pawl_call *call, pawl_enqueued *ret_enqueued,
                                            pawl_error *error);

/* What became of an asynchronous enqueue. */
typedef struct pawl_confirmed {
    uint64_t ticket;
    void *context;          /* as given to pawl_enqueue_async() */
    pawl_status status;     /* what pawl_enqueue() would have returned */
    pawl_enqueued enqueued; /* filled with PAWL_OK */
    pawl_error error;       /* filled otherwise */
} pawl_confirmed;

typedef void (*pawl_confirm)(void *context, const pawl_confirmed *confirmed);

/* Stages a message and returns at once; it is enqueued with others by the next flush. The outcome
 * comes, once and in the order of the tickets, to `confirm`, or if that is NULL is kept for
 * pawl_ticket_next() and pawl_ticket_wait(), which take it. When tickets_max are under way, waits
 * for room.
 * Durability: none when it returns; the outcome comes when call->level is reached (default: sync).
 * Ownership: the message is copied.
 * Threads: `confirm` is called by the maintenance thread, or with PAWL_OPEN_NO_THREAD from
 * pawl_maintain(). pawl_close() flushes, calls what is still to be called, and forgets the
 * outcomes that nobody took.
 * Returns: PAWL_OK (staged; a missing or full queue is told by the outcome); PAWL_BUSY (no room
 * within wait_ms, nothing is staged); PAWL_TOO_LARGE, PAWL_INTERRUPTED, PAWL_READ_ONLY,
 * PAWL_BACKUP, PAWL_FAILED; [reading]. */
PAWL_CHECKED pawl_status pawl_enqueue_async(pawl_store *store, const char *queue,
                                            const pawl_message *message, const pawl_call *call,
                                            pawl_confirm confirm, void *context,
                                            uint64_t *ret_ticket, pawl_error *error);

/* Takes the oldest outcome that is there, or the one of `ticket`.
 * Returns: PAWL_OK (look at ret_confirmed->status); PAWL_EMPTY (none within wait_ms);
 * PAWL_NOT_FOUND (no such ticket, or taken already); PAWL_INTERRUPTED; [reading]. */
PAWL_CHECKED pawl_status pawl_ticket_next(pawl_store *store, int64_t wait_ms,
                                          pawl_confirmed *ret_confirmed, pawl_error *error);
PAWL_CHECKED pawl_status pawl_ticket_wait(pawl_store *store, uint64_t ticket, int64_t wait_ms,
                                          pawl_confirmed *ret_confirmed, pawl_error *error);

/* 6. Claim
 *
 * The four rules of competing consumers: a claim is temporary; ack after the work has succeeded,
 * not before; retry or release what failed; pass the idempotency key all the way to the side
 * effect.
 */

/* One hand-out of a message. */
typedef struct pawl_delivery {
    const struct pawl_delivery *next; /* of the same claim; NULL at its end */
    const char *id;                   /* "orders/1042" */
    const char *queue;
    const char *group;
    uint64_t seq;
    const char *receipt; /* settles it. One token of [A-Za-z0-9._:/-], at most 256 characters, the
                            same for the `pawl` command; copy it to keep it longer */
    pawl_state state;    /* PAWL_LEASED; when peeked, where it stands, and `receipt` is NULL */
    int32_t priority;
    uint32_t attempt;    /* the number that this one has if it counts, from 1 */
    uint32_t deliveries; /* hand-outs so far, this one included; never goes back */
    uint32_t redrives;   /* times it came back from the dead letters */
    int32_t completed;   /* 1: the ledger says that the key's work is done: ack, don't work */
    pawl_bytes result;   /* the one stored then */
    pawl_bytes payload;
    pawl_bytes key;
    pawl_bytes ordering_key;
    const char *type;
    const pawl_header *headers;
    size_t header_count;
    int64_t enqueued_ms;    /* time */
    int64_t lease_until_ms; /* time */
} pawl_delivery;

typedef enum pawl_claim_flag {
    PAWL_CLAIM_DETACHED = 1 /* the lease ends by time alone and outlives this process */
} pawl_claim_flag;

typedef struct pawl_claim_options {
    uint32_t struct_size;
    uint32_t flags;    /* pawl_claim_flag */
    const char *group; /* NULL: "default" */
    uint32_t count;    /* at most so many; 1 */
    pawl_level level;
    int64_t wait_ms;           /* for a message; 0: answer PAWL_EMPTY at once */
    int64_t lease_ms;          /* PAWL_UNSET: by policy */
    int64_t payload_bytes_max; /* end the batch before it exceeds this, but give one; 64 MiB */
    const char *consumer;      /* who works, and in which version: kept with each failure */
    const char *consumer_version;
} pawl_claim_options;

PAWL_API void pawl_claim_options_init(pawl_claim_options *ret_options, size_t struct_size);

/* Takes up to `count` messages for a limited time. Among those ready the highest priority goes
 * first, then the lowest number. Fewer are given when fewer are there; it waits only for the
 * first. A message whose delivery ended several processes is given alone, to a session that holds
 * nothing. A payload found damaged is made a dead letter (reason "damaged") and not shown.
 * Default level: write; sync for ten minutes after an unclean reboot.
 * Ownership: free the whole list by pawl_delivery_free(). That does not end a lease.
 * Returns: PAWL_OK; PAWL_EMPTY (nothing within wait_ms; a paused group counts as empty);
 * PAWL_NO_QUEUE; PAWL_NO_GROUP; [writing] without PAWL_PENDING: when the sync takes longer than
 * the busy timeout, what was claimed is released again, and the answer is PAWL_BUSY. */
PAWL_CHECKED pawl_status pawl_claim(pawl_store *store, const char *queue,
                                    const pawl_claim_options *options,
                                    const pawl_delivery **ret_deliveries, pawl_error *error);

/* Frees a list of deliveries, given its first; also after pawl_close(). */
PAWL_API void pawl_delivery_free(const pawl_delivery *deliveries);

/* 7. Settle
 *
 * Every delivery is settled once, by its receipt, by any process that has it. A lease that ran out
 * can still be settled until another consumer has the message; after the lapse has been recorded
 * (within about a second) only by ack or dead-letter. Settling twice is PAWL_STALE. None of this is
 * refused because a disk or a queue is full.
 */

/* What went wrong with a delivery. */
typedef struct pawl_failure {
    uint32_t struct_size;
    uint32_t reserved;
    const char *reason; /* a countable word in kebab-case: "address-unknown"; NULL: none */
    const char *stage;  /* where in the work: "render"; NULL: none */
    pawl_bytes detail;  /* UTF-8, cut to PAWL_DETAIL_BYTES_MAX; redacted before it is recorded */
    int64_t cost;       /* what the attempt cost, in the caller's unit; 0 */
    int64_t delay_ms;   /* of a retry; PAWL_UNSET: backoff by policy */
} pawl_failure;

PAWL_API void pawl_failure_init(pawl_failure *ret_failure, size_t struct_size);

/* What a settlement did. */
typedef struct pawl_settled {
    pawl_status status; /* PAWL_OK, or why it was refused; then only `id` may be filled */
    pawl_state state;   /* where the message stands now */
    uint64_t seq;
    int64_t due_ms;   /* time: due again, or leased until; 0 */
    char id[160];     /* "orders/1042" */
    char reason[136]; /* of PAWL_DEAD: the dead letter's reason; else "" */
} pawl_settled;

/* Done: never delivered again to this group. With an idempotency key it completes the key in the
 * ledger, with `result` (NULL: none; at most PAWL_RESULT_BYTES_MAX; of the first completion only).
 * Default level: sync if it completes a key, else write.
 * Returns: PAWL_OK; PAWL_STALE; PAWL_TOO_LARGE (result); PAWL_INVALID (a garbled receipt);
 * [writing]. */
PAWL_CHECKED pawl_status pawl_ack(pawl_store *store, const char *receipt, const pawl_bytes *result,
                                  const pawl_call *call, pawl_error *error);

/* Failed for now: due again after the backoff or failure->delay_ms; or, when attempts, age or cost
 * are used up, a dead letter (ret_settled->state is PAWL_DEAD).
 * Default level: write.
 * Returns: PAWL_OK; PAWL_STALE; PAWL_INVALID; [writing]. */
PAWL_CHECKED pawl_status pawl_retry(pawl_store *store, const char *receipt,
                                    const pawl_failure *failure, const pawl_call *call,
                                    pawl_settled *ret_settled, pawl_error *error);

/* Handed back unworked (a shutdown, not now, not mine): ready at once or after delay_ms, and the
 * attempt is not counted. From the tenth release in a row the backoff applies.
 * Default level: write.
 * Returns: PAWL_OK; PAWL_STALE; PAWL_INVALID; [writing]. */
PAWL_CHECKED pawl_status pawl_release(pawl_store *store, const char *receipt, int64_t delay_ms,
                                      const pawl_call *call, pawl_settled *ret_settled,
                                      pawl_error *error);

/* Can never succeed: a dead letter at once, reason "rejected" if none is given.
 * Default level: sync.
 * Returns: PAWL_OK; PAWL_STALE; PAWL_INVALID; [writing]. */
PAWL_CHECKED pawl_status pawl_dead_letter(pawl_store *store, const char *receipt,
                                          const pawl_failure *failure, const pawl_call *call,
                                          pawl_error *error);

/* Sets the lease to end lease_ms from now (PAWL_UNSET: by policy), but not past max_hold since the
 * claim; ret_until_ms (time) tells what was given.
 * Default level: write.
 * Returns: PAWL_OK; PAWL_STALE (stop working, or accept a second run); PAWL_INVALID; [writing]. */
PAWL_CHECKED pawl_status pawl_extend(pawl_store *store, const char *receipt, int64_t lease_ms,
                                     const pawl_call *call, int64_t *ret_until_ms,
                                     pawl_error *error);

typedef enum pawl_settle {
    PAWL_SETTLE_ACK = 1,
    PAWL_SETTLE_RETRY = 2,
    PAWL_SETTLE_RELEASE = 3,
    PAWL_SETTLE_DEAD_LETTER = 4,
    PAWL_SETTLE_EXTEND = 5
} pawl_settle;

/* One of the five calls above, as a value. */
typedef struct pawl_settlement {
    uint32_t struct_size;
    pawl_settle how;
    const char *receipt;
    const pawl_failure *failure; /* of RETRY and DEAD_LETTER; NULL: none */
    pawl_bytes result;           /* of ACK */
    int64_t delay_ms;            /* of RELEASE; 0 */
    int64_t lease_ms;            /* of EXTEND; PAWL_UNSET: by policy */
} pawl_settlement;

PAWL_API void pawl_settlement_init(pawl_settlement *ret_settlement, size_t struct_size);

typedef enum pawl_settle_flag { PAWL_ALL_OR_NONE = 1 } pawl_settle_flag;

/* Settles many receipts in one commit, each on its own unless ALL_OR_NONE. A garbled one settles
 * nothing. ret_settled, if not NULL, is an array of `count` and is filled, each with its own
 * status, whenever PAWL_OK, PAWL_PENDING or PAWL_STALE is returned.
 * Default level: the highest that one of them has alone.
 * Returns: PAWL_OK (all settled); PAWL_STALE (at least one was refused, *error tells of the first;
 * the others are settled, or with ALL_OR_NONE none); PAWL_INVALID; PAWL_TOO_LARGE; [writing]. */
PAWL_CHECKED pawl_status pawl_settle_many(pawl_store *store, const pawl_settlement *settlements,
                                          size_t count, uint32_t flags, const pawl_call *call,
                                          pawl_settled *ret_settled, pawl_error *error);

/* 8. Transactions
 *
 * Any mix of steps over any queues of the store, seen whole or not at all. Steps are put together
 * in memory and decided by the commit; until then nothing is locked and nobody sees anything. The
 * usual one: ack what was claimed and enqueue what follows from it.
 */

/* Begins a transaction. Free it by pawl_tx_free(), before the store is closed.
 * Returns: PAWL_OK; [reading]; PAWL_READ_ONLY; PAWL_BACKUP. */
PAWL_CHECKED pawl_status pawl_tx_begin(pawl_store *store, pawl_tx **ret_tx, pawl_error *error);

/* Adds a step; ret_step, if not NULL, is its number, from 0. What is passed in is copied.
 * Returns: PAWL_OK; PAWL_INVALID; PAWL_TOO_LARGE (the step, or the transaction, which stays as it
 * was); PAWL_NO_MEMORY; PAWL_FORKED. */
PAWL_CHECKED pawl_status pawl_tx_enqueue(pawl_tx *tx, const char *queue,
                                         const pawl_message *message, size_t *ret_step,
                                         pawl_error *error);
PAWL_CHECKED pawl_status pawl_tx_settle(pawl_tx *tx, const pawl_settlement *settlement,
                                        size_t *ret_step, pawl_error *error);

/* Ack, the commonest settlement, as one line. */
PAWL_CHECKED pawl_status pawl_tx_ack(pawl_tx *tx, const char *receipt, const pawl_bytes *result,
                                     pawl_error *error);

/* Ledger steps, as pawl_ledger_complete() and pawl_ledger_release(). */
PAWL_CHECKED pawl_status pawl_tx_ledger_complete(pawl_tx *tx, const char *queue, const char *group,
                                                 pawl_bytes key, const char *receipt,
                                                 const pawl_bytes *result, pawl_error *error);
PAWL_CHECKED pawl_status pawl_tx_ledger_release(pawl_tx *tx, const char *queue, const char *group,
                                                pawl_bytes key, const char *receipt,
                                                pawl_error *error);

/* Dead-letter steps: back to ready, thrown away, or replaced by another message. */
PAWL_CHECKED pawl_status pawl_tx_redrive(pawl_tx *tx, const char *queue, const char *group,
                                         uint64_t seq, pawl_error *error);
PAWL_CHECKED pawl_status pawl_tx_purge(pawl_tx *tx, const char *queue, const char *group,
                                       uint64_t seq, pawl_error *error);
PAWL_CHECKED pawl_status pawl_tx_replace(pawl_tx *tx, const char *queue, const char *group,
                                         uint64_t seq, const pawl_message *message,
                                         size_t *ret_step, pawl_error *error);

/* Carries all steps out in one commit. A step that is refused refuses the whole: the error's
 * sentence names the step's number, and the transaction may be committed again or freed. A
 * duplicate enqueue is not a refusal. After PAWL_OK, PAWL_PENDING and PAWL_FAILED_SYNC it can only
 * be freed.
 * Default level: sync.
 * Returns: PAWL_OK; the refused step's status (PAWL_STALE, PAWL_FULL, PAWL_PAUSED, PAWL_MISMATCH,
 * PAWL_KEY_BUSY, PAWL_COMPLETED, PAWL_NOT_FOUND, PAWL_NO_QUEUE, PAWL_NO_GROUP); [writing]. */
PAWL_CHECKED pawl_status pawl_tx_commit(pawl_tx *tx, const pawl_call *call, pawl_error *error);

/* What an enqueue or replace, and what a settlement, did in a committed transaction.
 * Returns: PAWL_OK; PAWL_INVALID (not committed, or the step is of another kind). */
PAWL_CHECKED pawl_status pawl_tx_enqueued(const pawl_tx *tx, size_t step,
                                          pawl_enqueued *ret_enqueued, pawl_error *error);
PAWL_CHECKED pawl_status pawl_tx_settled(const pawl_tx *tx, size_t step, pawl_settled *ret_settled,
                                         pawl_error *error);

/* Frees a transaction; one that was not committed is abandoned and leaves no trace. */
PAWL_API void pawl_tx_free(pawl_tx *tx);

/* 9. A worker
 *
 * Runs a handler over a queue with several threads: claims, extends leases while the handler runs,
 * settles by its verdict, pauses when failures come in a row, stops cleanly.
 */

typedef enum pawl_verdict {
    PAWL_DONE = 0,      /* ack, with outcome->result */
    PAWL_RETRY = 1,     /* failed for now; outcome->delay_ms, or the backoff */
    PAWL_LATER = 2,     /* not now: release after outcome->delay_ms, uncounted */
    PAWL_PERMANENT = 3, /* can never succeed: a dead letter at once */
    PAWL_SETTLED = 4    /* the handler settled the receipt itself, say in a transaction */
} pawl_verdict;

/* Filled by the handler, in the library's memory, all zero before each call but delay_ms. Texts
 * too long for their field: fill by snprintf(). */
typedef struct pawl_outcome {
    int64_t delay_ms; /* PAWL_UNSET */
    int64_t cost;
    char reason[PAWL_NAME_BYTES_MAX + 1];
    char stage[PAWL_NAME_BYTES_MAX + 1];
    char detail[PAWL_DETAIL_BYTES_MAX + 1];
    size_t result_bytes;
    char result[PAWL_RESULT_BYTES_MAX];
} pawl_outcome;

/* Called by one of the worker's threads with a delivery that is leased for as long as it runs, up
 * to max_hold. It may use `store` freely. A handler that runs long looks at pawl_interrupted(). */
typedef pawl_verdict (*pawl_handler)(void *context, pawl_store *store,
                                     const pawl_delivery *delivery, pawl_outcome *outcome);

/* Told after each delivery is settled, by the thread that did it. With PAWL_STALE in
 * settled->status the lease had been lost, and the verdict counts for nothing. */
typedef void (*pawl_worked)(void *context, const pawl_delivery *delivery, pawl_verdict verdict,
                            const pawl_settled *settled);

typedef enum pawl_work_flag {
    PAWL_WORK_UNTIL_EMPTY = 1,  /* return when nothing is leased, waiting, delayed or deliverable */
    PAWL_WORK_RUN_COMPLETED = 2 /* call the handler for completed deliveries too */
} pawl_work_flag;

typedef struct pawl_work_options {
    uint32_t struct_size;
    uint32_t flags;    /* pawl_work_flag */
    const char *group; /* NULL: "default" */
    uint32_t threads;  /* 1; the caller's own is one of them */
    uint32_t batch;    /* messages that a thread claims at once; 1 */
    pawl_level level;  /* of the claims: sync, so that a death by power cut counts too */
    int64_t lease_ms;  /* PAWL_UNSET: by policy */
    int64_t grace_ms;  /* after an interrupt, how long handlers may still run; 60 s. Then the worker
                          stops extending their leases and waits for them */
    int64_t messages_max; /* return after so many; PAWL_OFF */
    int64_t breaker;      /* after so many failures in a row, dead ones too, claiming pauses with
                             backoff; 10; PAWL_OFF */
    const char *consumer;
    const char *consumer_version;
    pawl_worked worked; /* NULL: none */
} pawl_work_options;

PAWL_API void pawl_work_options_init(pawl_work_options *ret_options, size_t struct_size);

/* What a worker did. */
typedef struct pawl_report {
    uint64_t done;
    uint64_t retried;
    uint64_t released;
    uint64_t dead;       /* became dead letters */
    uint64_t duplicates; /* acked without the handler, since their key was completed */
    uint64_t stale;      /* lease lost before they were settled */
    uint64_t blocked;    /* left behind dead letters, when it returned because it was empty */
    uint64_t reserved[5];
} pawl_report;

/* Works until pawl_interrupt(), or as the flags say. Claimed messages that no handler has begun
 * are released then. `context` goes to the handler and to options->worked. *ret_report is filled
 * whatever is returned.
 * Returns: PAWL_OK (it stopped as asked; see the report); PAWL_NO_QUEUE; PAWL_NO_GROUP; [writing]
 * without PAWL_INTERRUPTED, after all handlers have ended. */
PAWL_CHECKED pawl_status pawl_work(pawl_store *store, const char *queue,
                                   const pawl_work_options *options, pawl_handler handler,
                                   void *context, pawl_report *ret_report, pawl_error *error);

/* 10. Event loops, interrupting, upkeep */

/* A descriptor for poll() and the like, to wait for reading. It is readable when a claim of this
 * handle may succeed that answered PAWL_EMPTY before, or when pawl_ticket_next() has an outcome,
 * or when the handle is interrupted. Then call pawl_claim() and pawl_ticket_next() with wait_ms 0
 * until each answers PAWL_EMPTY; that makes it quiet, and the queue and group of such a claim are
 * watched from then on. Nothing is watched before the first claim. Don't read from it, write to it
 * or close it. With PAWL_OPEN_NO_THREAD it changes only within pawl_maintain().
 * Ownership: the descriptor is the handle's and ends with it.
 * Returns: PAWL_OK; PAWL_IO (no descriptor to be had); [reading]. */
PAWL_CHECKED pawl_status pawl_ready_fd(pawl_store *store, int *ret_fd, pawl_error *error);

/* Ends every wait of the handle: for messages, outcomes and dead letters with PAWL_INTERRUPTED,
 * for other processes with PAWL_INTERRUPTED (nothing changed), for the disk with PAWL_PENDING.
 * From then on waits for messages, outcomes and dead letters end at once until
 * pawl_interrupt_clear(); other calls go on as usual, so that work can be settled before closing.
 * May be called from any thread and from a signal handler. */
PAWL_API void pawl_interrupt(pawl_store *store);
PAWL_API void pawl_interrupt_clear(pawl_store *store);

/* 1 between pawl_interrupt() and pawl_interrupt_clear(), else 0. */
PAWL_API int pawl_interrupted(const pawl_store *store);

/* Does one bounded slice of upkeep, of about budget_ms: flush, snapshot, compaction, leases that
 * ran out, dead sessions, callbacks that are due. The maintenance thread does this by itself; with
 * PAWL_OPEN_NO_THREAD call it at least every 50 ms while there is work, and when ret_next_ms has
 * passed (0: there is more to do now).
 * Returns: PAWL_OK; [writing]. A failure here is also kept for pawl_health() and pawl_stat(). */
PAWL_CHECKED pawl_status pawl_maintain(pawl_store *store, int64_t budget_ms, int64_t *ret_next_ms,
                                       pawl_error *error);

/* Moves the clock of a handle opened with PAWL_OPEN_MANUAL_CLOCK forward and carries out what
 * falls due on the way, before it returns.
 * Returns: PAWL_OK; PAWL_INVALID (another clock, or a negative step); [writing]. */
PAWL_CHECKED pawl_status pawl_clock_advance(pawl_store *store, int64_t step_ms, pawl_error *error);

/* 11. Selecting messages, and changing many of them */

/* A span of sequence numbers, both ends included. */
typedef struct pawl_range {
    uint64_t first;
    uint64_t last;
} pawl_range;

typedef enum pawl_select_flag {
    PAWL_SELECT_ALL = 1,       /* yes, all: what changes something wants this or a selector */
    PAWL_SELECT_ALL_GROUPS = 2 /* every group instead of `group` */
} pawl_select_flag;

typedef enum pawl_triage {
    PAWL_TRIAGE_NEW = 1,
    PAWL_TRIAGE_INVESTIGATING = 2,
    PAWL_TRIAGE_FIXED = 3,
    PAWL_TRIAGE_RESOLVED = 4
} pawl_triage;

/* "new", "investigating", "fixed", "resolved"; "?" for a number that is none. Static. */
PAWL_API const char *pawl_triage_name(pawl_triage triage);

/* Which messages. What is left at its default selects nothing away; the rest must all hold. A NULL
 * selector is all of the group "default" where that is only shown. Flags and `group` don't count
 * as a selector, `limit` does. */
typedef struct pawl_selector {
    uint32_t struct_size;
    uint32_t flags;    /* pawl_select_flag */
    const char *group; /* NULL: "default" */
    uint32_t states;   /* bits 1u << PAWL_READY ...; not for dead letters */
    uint32_t triages;  /* bits 1u << PAWL_TRIAGE_NEW ...; for dead letters only */
    const char *reason;
    const char *last_reason; /* the consumer's own, where a rule made it dead */
    const char *stage;
    const char *type;
    const char *consumer;
    pawl_bytes key;
    pawl_bytes ordering_key;
    const pawl_header *headers; /* each must be there with that value */
    size_t header_count;
    int64_t since_ms; /* time, from it on: of the enqueue, or for dead letters of the death */
    int64_t until_ms; /* time, before it; 0: no end */
    const pawl_range *ranges;
    size_t range_count;
    uint64_t limit; /* the oldest so many, or the longest dead; 0: no limit */
} pawl_selector;

PAWL_API void pawl_selector_init(pawl_selector *ret_selector, size_t struct_size);

/* One message that was, or by a dry run would be, changed. */
typedef struct pawl_touched {
    const char *id;
    const char *queue;
    const char *group;
    uint64_t seq;
    const char *new_id; /* of a redrive to another queue; else NULL */
} pawl_touched;

/* Anything but 0 stops the work; what has been told stays done. */
typedef int (*pawl_touched_visit)(void *context, const pawl_touched *touched);

typedef enum pawl_bulk_flag {
    PAWL_BULK_DRY_RUN = 1,   /* tell, change nothing */
    PAWL_BULK_ONLY_FIXED = 2 /* of redrive: only those marked fixed; `limit` counts these */
} pawl_bulk_flag;

/* How a change of many messages is carried out: in commits of a bounded size, oldest first. It may
 * be stopped at any time, by `visit` or by pawl_interrupt(), and repeated; what is done already is
 * then no longer selected. */
typedef struct pawl_bulk {
    uint32_t struct_size;
    uint32_t flags;      /* pawl_bulk_flag */
    uint32_t per_second; /* of redrive: at most so many; 0: no limit */
    pawl_level level;
    int64_t wait_ms;          /* of each commit; PAWL_WAIT_DEFAULT */
    pawl_touched_visit visit; /* told each, after the level is reached; NULL: none */
    void *context;
} pawl_bulk;

PAWL_API void pawl_bulk_init(pawl_bulk *ret_bulk, size_t struct_size);

/* The calls that take a pawl_bulk have this in common.
 * Default level: sync.
 * Results: *ret_count, the number changed, is filled whatever is returned.
 * Returns: PAWL_OK; PAWL_NOT_FOUND (the selection matches nothing); PAWL_INVALID (no selector and
 * not SELECT_ALL); PAWL_NO_QUEUE; PAWL_NO_GROUP; [writing], with what was done before it standing.
 */

/* Ends messages that are not dead, unworked. A leased one's receipt becomes stale. */
PAWL_CHECKED pawl_status pawl_cancel(pawl_store *store, const char *queue,
                                     const pawl_selector *selector, const pawl_bulk *bulk,
                                     uint64_t *ret_count, pawl_error *error);

/* Makes delayed and waiting messages due at `due_ms` (time; 0: now). */
PAWL_CHECKED pawl_status pawl_due(pawl_store *store, const char *queue,
                                  const pawl_selector *selector, int64_t due_ms,
                                  const pawl_bulk *bulk, uint64_t *ret_count, pawl_error *error);

/* Ends leases as a release does: not counted, ready at once; their receipts become stale. */
PAWL_CHECKED pawl_status pawl_revoke(pawl_store *store, const char *queue,
                                     const pawl_selector *selector, const pawl_bulk *bulk,
                                     uint64_t *ret_count, pawl_error *error);

/* Removes payload, headers, details, results and keys of messages in any state and leaves a
 * tombstone; what was neither settled nor dead is cancelled with it. The bytes are gone from the
 * disk after pawl_compact() with PAWL_COMPACT_ERASED. */
PAWL_CHECKED pawl_status pawl_erase(pawl_store *store, const char *queue,
                                    const pawl_selector *selector, const pawl_bulk *bulk,
                                    uint64_t *ret_count, pawl_error *error);

/* 12. Dead letters */

typedef enum pawl_failure_kind {
    PAWL_FAILURE_RETRY = 1,    /* the consumer said so */
    PAWL_FAILURE_LAPSED = 2,   /* the lease ran out */
    PAWL_FAILURE_DIED = 3,     /* the process died */
    PAWL_FAILURE_REJECTED = 4, /* the consumer said it can never succeed */
    PAWL_FAILURE_TIMEOUT = 5   /* `pawl work` ended the handler */
} pawl_failure_kind;

/* One failed attempt. */
typedef struct pawl_case_failure {
    const struct pawl_case_failure *next; /* newer; NULL at the end */
    pawl_failure_kind kind;
    uint32_t attempt;
    uint32_t delivery;
    int64_t failed_ms; /* time */
    const char *consumer;
    const char *consumer_version;
    const char *reason;
    const char *stage;
    pawl_bytes detail; /* its first 256 bytes */
} pawl_case_failure;

/* A dead letter with its case file. */
typedef struct pawl_case {
    const char *id;
    const char *queue;
    const char *group;
    uint64_t seq;
    const char *reason;      /* "max-attempts", "max-age", "max-cost", "expired", "overflow",
                                "ordering", "damaged", "rejected", or the consumer's own */
    const char *last_reason; /* the consumer's of its last failure, where a rule made it dead */
    const char *stage;
    pawl_bytes detail;
    uint32_t attempts;
    uint32_t deliveries;
    uint32_t redrives;
    pawl_triage triage;
    const char *note;
    int64_t cost;
    pawl_bytes key;
    pawl_bytes ordering_key;
    const char *type;
    const pawl_header *headers;
    size_t header_count;
    int64_t enqueued_ms;     /* time, as the next three */
    int64_t first_failed_ms; /* 0: it never failed */
    int64_t last_failed_ms;
    int64_t dead_ms;
    const char *consumer; /* of the last attempt */
    const char *consumer_version;
    const pawl_case_failure *failures; /* the last 16, oldest first */
    int32_t has_payload;               /* 1: `payload` was asked for and is whole */
    pawl_bytes payload;
} pawl_case;

typedef enum pawl_show_flag { PAWL_SHOW_PAYLOAD = 1 } pawl_show_flag;

/* Shows dead letters, the longest dead first; `flags` is 0 or PAWL_SHOW_PAYLOAD.
 * Returns: PAWL_OK (also for none); PAWL_NO_QUEUE; PAWL_NO_GROUP; [reading]. */
PAWL_CHECKED pawl_status pawl_dead_each(pawl_store *store, const char *queue,
                                        const pawl_selector *selector, uint32_t flags,
                                        int (*visit)(void *context, const pawl_case *dead),
                                        void *context, pawl_error *error);

/* One dead letter, to keep. Free it by pawl_case_free(), also after pawl_close().
 * Returns: PAWL_OK; PAWL_NOT_FOUND; PAWL_NO_QUEUE; PAWL_NO_GROUP; [reading]. */
PAWL_CHECKED pawl_status pawl_dead_show(pawl_store *store, const char *queue, const char *group,
                                        uint64_t seq, uint32_t flags, const pawl_case **ret_case,
                                        pawl_error *error);
PAWL_API void pawl_case_free(const pawl_case *dead);

typedef enum pawl_by {
    PAWL_BY_NOTHING = 0, /* one line for all, value "" */
    PAWL_BY_REASON = 1,
    PAWL_BY_LAST_REASON = 2,
    PAWL_BY_TYPE = 3,
    PAWL_BY_STAGE = 4,
    PAWL_BY_TRIAGE = 5,
    PAWL_BY_CONSUMER = 6,
    PAWL_BY_CONSUMER_VERSION = 7
} pawl_by;

/* The dead letters that share a value. */
typedef struct pawl_tally {
    const char *value;
    uint64_t count;
    int64_t oldest_ms; /* time of death */
    int64_t newest_ms;
    uint64_t last_minute; /* died in it, whether still there or not */
    uint64_t last_hour;
    uint64_t last_day;
} pawl_tally;

/* Counts dead letters by one of their columns, the most frequent value first.
 * Returns: as pawl_dead_each(). */
PAWL_CHECKED pawl_status pawl_dead_count(pawl_store *store, const char *queue,
                                         const pawl_selector *selector, pawl_by by,
                                         int (*visit)(void *context, const pawl_tally *tally),
                                         void *context, pawl_error *error);

/* The four changes. For the pawl_bulk and what is returned see section 11.
 *
 * Redrive brings dead letters back to ready: attempts, cost and first failure anew, number, key
 * and headers kept, redrives one higher, in their old place within their ordering key. With `to`
 * they are enqueued in that queue instead (bulk->visit tells the new ids), and count here as
 * purged. Purge throws them away. Mark sets their triage state and note (NULL: keeps it). */
PAWL_CHECKED pawl_status pawl_dead_redrive(pawl_store *store, const char *queue,
                                           const pawl_selector *selector, const char *to,
                                           const pawl_bulk *bulk, uint64_t *ret_count,
                                           pawl_error *error);
PAWL_CHECKED pawl_status pawl_dead_purge(pawl_store *store, const char *queue,
                                         const pawl_selector *selector, const pawl_bulk *bulk,
                                         uint64_t *ret_count, pawl_error *error);
PAWL_CHECKED pawl_status pawl_dead_mark(pawl_store *store, const char *queue,
                                        const pawl_selector *selector, pawl_triage triage,
                                        const char *note, const pawl_bulk *bulk,
                                        uint64_t *ret_count, pawl_error *error);

/* Puts a corrected message in the place of a dead letter, in one commit, each naming the other. It
 * takes the old one's ordering key (message->ordering_key is none or the same) and its place in
 * it. The old one counts as purged; its idempotency key is forgotten first, so the new one may
 * carry it.
 * Default level: sync.
 * Returns: as pawl_enqueue(), and PAWL_NOT_FOUND, PAWL_NO_GROUP. */
PAWL_CHECKED pawl_status pawl_dead_replace(pawl_store *store, const char *queue, const char *group,
                                           uint64_t seq, const pawl_message *message,
                                           const pawl_call *call, pawl_enqueued *ret_enqueued,
                                           pawl_error *error);

/* Told of a new dead letter, at least once, after it is durable, in order. 0: understood, and the
 * log remembers it. Anything else: not now; it is offered again after a pause. */
typedef int (*pawl_on_dead_letter)(void *context, const pawl_case *dead);

typedef struct pawl_listen_options {
    uint32_t struct_size;
    uint32_t show;       /* 0 or PAWL_SHOW_PAYLOAD */
    const char *queue;   /* NULL: every queue */
    int32_t from_oldest; /* of a name used for the first time: 1: also those dead already */
    int32_t reserved;
} pawl_listen_options;

PAWL_API void pawl_listen_options_init(pawl_listen_options *ret_options, size_t struct_size);

/* Listens under a name. The store remembers how far each name has come; of all processes that use
 * one name, one at a time is called, and what a dead one left is offered to the next.
 *
 * pawl_dead_listen() returns at once; the callback is called by the maintenance thread (or
 * pawl_maintain()) until pawl_close(), and should be brief. A name belongs to one callback per
 * handle. pawl_dead_follow() calls it in the caller's own thread, where it may take its time, and
 * returns when none came for wait_ms, or on pawl_interrupt().
 * Default level: sync, for the registration.
 * Returns: PAWL_OK; PAWL_EMPTY (follow: wait_ms passed); PAWL_EXISTS (the name is in use in this
 * handle); PAWL_NO_QUEUE; PAWL_INVALID (the name was first used for another queue); [writing]. */
PAWL_CHECKED pawl_status pawl_dead_listen(pawl_store *store, const char *name,
                                          const pawl_listen_options *options,
                                          pawl_on_dead_letter on_dead_letter, void *context,
                                          pawl_error *error);
PAWL_CHECKED pawl_status pawl_dead_follow(pawl_store *store, const char *name,
                                          const pawl_listen_options *options, int64_t wait_ms,
                                          pawl_on_dead_letter on_dead_letter, void *context,
                                          pawl_error *error);

/* 13. The ledger by hand
 *
 * For work that is done outside a claim. Deliveries of keyed messages keep the ledger by
 * themselves: the claim holds the key busy, the ack completes it, everything else frees it.
 */

typedef enum pawl_key_state {
    PAWL_KEY_FREE = 0,
    PAWL_KEY_HELD = 1,
    PAWL_KEY_COMPLETED = 2
} pawl_key_state;

typedef struct pawl_ledger_entry {
    const char *queue;
    const char *group;
    pawl_bytes key;
    pawl_key_state state;
    const char *id;      /* the message that holds or completed it; NULL: by hand */
    const char *receipt; /* of a claim by hand, to who made it; else NULL */
    pawl_bytes result;
    int64_t until_ms; /* time: when the lease ends, or when a completed key is forgotten */
} pawl_ledger_entry;

/* Looks a key up. Free the entry by pawl_ledger_entry_free().
 * Returns: PAWL_OK; PAWL_NOT_FOUND (neither held nor completed); PAWL_NO_QUEUE; PAWL_NO_GROUP;
 * [reading]. */
PAWL_CHECKED pawl_status pawl_ledger_show(pawl_store *store, const char *queue, const char *group,
                                          pawl_bytes key, const pawl_ledger_entry **ret_entry,
                                          pawl_error *error);
PAWL_API void pawl_ledger_entry_free(const pawl_ledger_entry *entry);

/* Holds a key busy, by a detached lease of lease_ms (PAWL_UNSET: by policy). *ret_entry is filled
 * with PAWL_OK (it has the receipt), PAWL_KEY_BUSY and PAWL_COMPLETED (it has the result), and
 * freed by pawl_ledger_entry_free(). pawl_extend() prolongs it.
 * Default level: sync.
 * Returns: PAWL_OK; PAWL_KEY_BUSY; PAWL_COMPLETED; PAWL_NO_QUEUE; PAWL_NO_GROUP; [writing]. */
PAWL_CHECKED pawl_status pawl_ledger_claim(pawl_store *store, const char *queue, const char *group,
                                           pawl_bytes key, int64_t lease_ms, const pawl_call *call,
                                           const pawl_ledger_entry **ret_entry, pawl_error *error);

/* Completes a key with an optional result, or frees it. Without a receipt (NULL) they act only on
 * a key that no delivery holds.
 * Default level: sync.
 * Returns: PAWL_OK; PAWL_STALE; PAWL_KEY_BUSY; PAWL_COMPLETED (the first result stays);
 * PAWL_NOT_FOUND (release: not held); PAWL_TOO_LARGE; PAWL_NO_QUEUE; PAWL_NO_GROUP; [writing]. */
PAWL_CHECKED pawl_status pawl_ledger_complete(pawl_store *store, const char *queue,
                                              const char *group, pawl_bytes key,
                                              const char *receipt, const pawl_bytes *result,
                                              const pawl_call *call, pawl_error *error);
PAWL_CHECKED pawl_status pawl_ledger_release(pawl_store *store, const char *queue,
                                             const char *group, pawl_bytes key, const char *receipt,
                                             const pawl_call *call, pawl_error *error);

/* 14. Looking */

/* A value and how often it occurs. */
typedef struct pawl_count {
    const char *value;
    uint64_t count;
} pawl_count;

/* One group's numbers. At every instant `enqueued` of the queue is the sum of ready, delayed,
 * waiting, leased, blocked, acked, dead, purged, expired, dropped, cancelled and skipped. */
typedef struct pawl_group_stat {
    const struct pawl_group_stat *next;
    const char *name;
    int32_t paused;
    const char *paused_why;
    uint64_t offset; /* everything below it is settled */
    uint64_t ready;
    uint64_t claimable; /* could be claimed now */
    uint64_t delayed;
    uint64_t waiting;
    uint64_t leased;
    uint64_t blocked;
    uint64_t blocked_keys;
    uint64_t acked;
    uint64_t dead;
    uint64_t purged;
    uint64_t expired;
    uint64_t dropped;
    uint64_t cancelled;
    uint64_t skipped;
    const pawl_count *dead_by_reason;
    size_t dead_by_reason_count;
    uint64_t redelivered; /* deliveries beyond a message's first */
    uint64_t recovered;   /* acked after a redrive */
    uint64_t skipped_completed;
    uint64_t lost_leases;
    uint64_t damaged;             /* payloads found damaged at delivery */
    uint64_t ledger_keys_dropped; /* completed keys pushed out before their time */
    int64_t oldest_ready_age_ms;  /* -1 where there is none, as the next three */
    int64_t oldest_claimable_age_ms;
    int64_t oldest_leased_age_ms;
    int64_t oldest_dead_age_ms;
    double out_per_s;
} pawl_group_stat;

typedef struct pawl_queue_stat {
    const char *name;
    int32_t enqueue_paused;
    const char *paused_why;
    uint64_t enqueued;
    uint64_t bytes;
    uint64_t duplicates;
    uint64_t mismatches;
    uint64_t refused_full;
    uint64_t dedup_keys_dropped; /* remembered keys pushed out before their time */
    uint64_t dead_bytes;
    double in_per_s;
    const pawl_group_stat *groups;
} pawl_queue_stat;

/* The store's numbers; set up by pawl_stat_store_init(). */
typedef struct pawl_stat_store {
    uint32_t struct_size;
    uint32_t format;
    char uuid[40];
    uint64_t segments;
    uint64_t bytes;
    uint64_t live_bytes;
    uint64_t tail_lsn;
    uint64_t durable_lsn;
    uint64_t snapshot_lsn;
    uint64_t sessions;
    uint64_t truncated_bytes; /* of torn tails cut, ever */
    pawl_status failed;       /* PAWL_OK, or why no more is written */
    int32_t durable_fs;       /* 0: tmpfs and the like */
    double write_amplification;
    uint64_t sync_p50_us; /* over all processes */
    uint64_t sync_p99_us;
} pawl_stat_store;

PAWL_API void pawl_stat_store_init(pawl_stat_store *ret_stat, size_t struct_size);

/* Reads the store's numbers.
 * Returns: PAWL_OK; [reading]. */
PAWL_CHECKED pawl_status pawl_stat(pawl_store *store, pawl_stat_store *ret_stat, pawl_error *error);

/* Every queue with its groups, by name; or one queue, to keep, freed by pawl_queue_stat_free().
 * Returns: PAWL_OK; PAWL_NO_QUEUE; [reading]. */
PAWL_CHECKED pawl_status pawl_queue_each(pawl_store *store,
                                         int (*visit)(void *context, const pawl_queue_stat *stat),
                                         void *context, pawl_error *error);
PAWL_CHECKED pawl_status pawl_queue_show(pawl_store *store, const char *queue,
                                         const pawl_queue_stat **ret_stat, pawl_error *error);
PAWL_API void pawl_queue_stat_free(const pawl_queue_stat *stat);

/* Shows messages that are ready, delayed, waiting, leased or blocked, from number `from` on, in
 * order of their numbers; selector->states asks for others, the settled ones as far as they are
 * retained. Claims nothing and shows no receipts. `flags` is 0 or PAWL_SHOW_PAYLOAD.
 * Returns: PAWL_OK (also for none); PAWL_NO_QUEUE; PAWL_NO_GROUP; [reading]. */
PAWL_CHECKED pawl_status pawl_peek_each(pawl_store *store, const char *queue, uint64_t from,
                                        const pawl_selector *selector, uint32_t flags,
                                        int (*visit)(void *context, const pawl_delivery *message),
                                        void *context, pawl_error *error);

typedef enum pawl_cause {
    PAWL_CAUSE_CLAIMABLE = 1,   /* nothing holds it back */
    PAWL_CAUSE_DUE = 2,         /* due later, at until_ms */
    PAWL_CAUSE_ORDER = 3,       /* behind `other`, of its ordering key */
    PAWL_CAUSE_KEY_BUSY = 4,    /* `other` holds its idempotency key */
    PAWL_CAUSE_PAUSED = 5,      /* see text */
    PAWL_CAUSE_LEASED = 6,      /* at `consumer`, until until_ms */
    PAWL_CAUSE_UNCONFIRMED = 7, /* its enqueue is not confirmed yet */
    PAWL_CAUSE_SUSPECT = 8,     /* waits for a session that holds nothing else */
    PAWL_CAUSE_DEAD = 9,
    PAWL_CAUSE_SETTLED = 10,
    PAWL_CAUSE_COMPACTED = 11 /* settled, and no longer in the log */
} pawl_cause;

/* Why a message stands where it does, in one group. */
typedef struct pawl_why {
    const char *id;
    const char *group;
    pawl_state state;
    pawl_cause cause;
    const char *other;    /* id; NULL: none */
    const char *consumer; /* NULL: none */
    int64_t until_ms;     /* time; 0: none */
    uint64_t session;     /* that holds the lease; 0: none or detached */
    const char *text;     /* one sentence that says it all */
    const char *remedy;   /* the command that changes it; NULL: none is needed */
} pawl_why;

/* Tells for every group why a message, or the messages of an idempotency key, are where they are.
 * Returns: PAWL_OK; PAWL_NOT_FOUND (a number never given, an unknown key); PAWL_NO_QUEUE;
 * [reading]. */
PAWL_CHECKED pawl_status pawl_why_each(pawl_store *store, const char *queue, uint64_t seq,
                                       int (*visit)(void *context, const pawl_why *why),
                                       void *context, pawl_error *error);
PAWL_CHECKED pawl_status pawl_why_key_each(pawl_store *store, const char *queue, pawl_bytes key,
                                           int (*visit)(void *context, const pawl_why *why),
                                           void *context, pawl_error *error);

/* A field of an event: a text or bytes, or, where `text.data` is NULL, a number. */
typedef struct pawl_field {
    const struct pawl_field *next;
    const char *name;
    pawl_bytes text;
    int64_t number;
} pawl_field;

/* One record of the log. */
typedef struct pawl_event {
    uint64_t lsn;
    uint64_t segment;
    int64_t time_ms;   /* time */
    const char *event; /* "enqueue", "attempt", "ack", "retry", "dead-letter", "redrive" ... */
    const pawl_field *fields; /* queue, group, seq, attempt, reason ... as the event has them */
} pawl_event;

typedef int (*pawl_event_visit)(void *context, const pawl_event *event);

/* One message's life, from the log, in order; says what compaction has folded.
 * Returns: PAWL_OK; PAWL_NOT_FOUND; PAWL_NO_QUEUE; [reading]. */
PAWL_CHECKED pawl_status pawl_history_each(pawl_store *store, const char *queue, uint64_t seq,
                                           pawl_event_visit visit, void *context,
                                           pawl_error *error);

typedef struct pawl_log_options {
    uint32_t struct_size;
    uint32_t flags;    /* 0 or PAWL_SHOW_PAYLOAD */
    uint64_t from_lsn; /* 0: the oldest */
    const char *queue; /* NULL: all */
    const char *event; /* NULL: all */
    int64_t wait_ms;   /* at the end of the log, for more; 0: return */
} pawl_log_options;

PAWL_API void pawl_log_options_init(pawl_log_options *ret_options, size_t struct_size);

/* Every record of the log, in order, also of a damaged store: goes on behind damage, and then
 * returns PAWL_DAMAGED with the first.
 * Returns: PAWL_OK; PAWL_DAMAGED; PAWL_INTERRUPTED; PAWL_NO_QUEUE; [reading]. */
PAWL_CHECKED pawl_status pawl_log_each(pawl_store *store, const pawl_log_options *options,
                                       pawl_event_visit visit, void *context, pawl_error *error);

typedef struct pawl_session {
    uint64_t session;
    int64_t pid;
    const char *host;
    const char *command;
    const char *version; /* of the library */
    uint64_t leases;
    int32_t holds_lock; /* 1: it is appending just now */
    uint64_t applied_lsn;
    int64_t opened_ms; /* time */
} pawl_session;

typedef struct pawl_segment {
    uint64_t ordinal;
    uint64_t first_lsn;
    uint64_t bytes;
    uint64_t live_bytes;
    uint64_t records;
    const char *kept_by; /* id and group of a message that keeps it, or the reason; NULL: nothing */
} pawl_segment;

/* The open handles of all processes, and the log's files.
 * Returns: PAWL_OK; [reading]. */
PAWL_CHECKED pawl_status pawl_session_each(pawl_store *store,
                                           int (*visit)(void *context, const pawl_session *session),
                                           void *context, pawl_error *error);
PAWL_CHECKED pawl_status pawl_segment_each(pawl_store *store,
                                           int (*visit)(void *context, const pawl_segment *segment),
                                           void *context, pawl_error *error);

/* The whole logical state of the log as JSON in one canonical form: equal states give equal bytes.
 * Returns: PAWL_OK; PAWL_INTERRUPTED (by `sink`); [reading]. */
PAWL_CHECKED pawl_status pawl_state_write(pawl_store *store, pawl_sink sink, void *context,
                                          pawl_error *error);

/* 15. Keeping a store
 *
 * None of this needs to be called for a store to stay healthy; maintenance does what is needed.
 */

/* Appends a snapshot, from which the next opening starts.
 * Default level: sync.
 * Returns: PAWL_OK; [writing]. */
PAWL_CHECKED pawl_status pawl_checkpoint(pawl_store *store, const pawl_call *call,
                                         pawl_error *error);

typedef enum pawl_compact_flag {
    PAWL_COMPACT_ERASED = 1 /* rewrite all that holds erased bytes, and overwrite the old files */
} pawl_compact_flag;

/* Gives back what nothing keeps. ret_clean_lsn: with ERASED, no erased byte is left below it.
 * Returns: PAWL_OK; PAWL_INTERRUPTED (by `progress`; what is done is done); [writing]. */
PAWL_CHECKED pawl_status pawl_compact(pawl_store *store, uint32_t flags, pawl_progress progress,
                                      void *context, uint64_t *ret_clean_lsn, pawl_error *error);

/* A place that is not whole. */
typedef struct pawl_damage {
    uint64_t segment;
    uint64_t offset;
    uint64_t lsn;
    const char *what; /* what is broken, and of a repair what is lost by it */
} pawl_damage;

typedef int (*pawl_damage_visit)(void *context, const pawl_damage *damage);

typedef struct pawl_verify_options {
    uint32_t struct_size;
    uint32_t reserved;
    pawl_damage_visit damage; /* NULL: none */
    pawl_progress progress;   /* NULL: none */
    void *context;            /* of both */
} pawl_verify_options;

PAWL_API void pawl_verify_options_init(pawl_verify_options *ret_options, size_t struct_size);

/* What was found; set up by pawl_verified_init(). */
typedef struct pawl_verified {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t segments;
    uint64_t frames;
    uint64_t records;
    uint64_t bytes;
    uint64_t durable_lsn;
    uint64_t tail_lsn;
    uint64_t torn_bytes;
    uint64_t damaged;
} pawl_verified;

PAWL_API void pawl_verified_init(pawl_verified *ret_verified, size_t struct_size);

/* Reads every byte and checks it. Writes nothing; for a damaged store open it with
 * PAWL_OPEN_DAMAGED. *ret_verified is filled with PAWL_OK and PAWL_DAMAGED.
 * Returns: PAWL_OK; PAWL_DAMAGED; PAWL_INTERRUPTED; [reading]. */
PAWL_CHECKED pawl_status pawl_verify(pawl_store *store, const pawl_verify_options *options,
                                     pawl_verified *ret_verified, pawl_error *error);

typedef enum pawl_repair_flag { PAWL_REPAIR_DRY_RUN = 1 } pawl_repair_flag;

/* Makes a damaged store that nobody has open usable again: sets the broken files aside in
 * damaged/, unchanged, and keeps what is whole. Each loss is told by options->damage before it is
 * carried out.
 * Returns: PAWL_OK (also if nothing was damaged); PAWL_BUSY (open somewhere); and as pawl_open().
 */
PAWL_CHECKED pawl_status pawl_repair(const char *directory, uint32_t flags,
                                     const pawl_verify_options *options, pawl_error *error);

/* Lets the store use the newest format this library knows.
 * Default level: sync.
 * Returns: PAWL_OK (also if it has it); PAWL_BUSY (a session that can't read it is open);
 * [writing]. */
PAWL_CHECKED pawl_status pawl_upgrade(pawl_store *store, const pawl_call *call, pawl_error *error);

/* Copies the store, as of one moment, into a new directory, while it is in use. The copy opens
 * READ_ONLY, and is durable when this returns.
 * Returns: PAWL_OK; PAWL_EXISTS (the directory is not empty); PAWL_PERMISSION; PAWL_DISK_FULL;
 * PAWL_INTERRUPTED; [reading]. */
PAWL_CHECKED pawl_status pawl_backup(pawl_store *store, const char *directory,
                                     pawl_progress progress, void *context, pawl_error *error);

typedef enum pawl_restore_flag { PAWL_RESTORE_RUNNING = 1 /* don't pause */ } pawl_restore_flag;

/* Makes a store of a backup in a new directory. It has a new incarnation: every receipt and lease
 * of the old one is void, numbers jump ahead, all queues are paused unless RUNNING. ret_unsettled:
 * so many messages were unsettled when the backup was made; those of them that were settled since
 * are delivered again.
 * Returns: PAWL_OK; PAWL_NO_STORE (no backup there); PAWL_EXISTS; and as pawl_open(). */
PAWL_CHECKED pawl_status pawl_restore(const char *backup, const char *directory, uint32_t flags,
                                      pawl_progress progress, void *context,
                                      uint64_t *ret_unsettled, pawl_error *error);

/* Writes a queue (NULL: all) with policy, messages, dead letters and their case files as JSON
 * lines, as of one moment; import reads such lines from `source`, which returns the number of
 * bytes it gave, 0 at the end, or a negative number to stop.
 * Import's default level: sync, in commits of a bounded size.
 * Returns: PAWL_OK; PAWL_NO_QUEUE; PAWL_INTERRUPTED; PAWL_INVALID (import: a malformed line,
 * named; the commits before it stand); PAWL_EXISTS, PAWL_TOO_LARGE, PAWL_FULL; [reading],
 * [writing]. */
PAWL_CHECKED pawl_status pawl_export(pawl_store *store, const char *queue, pawl_sink sink,
                                     void *context, pawl_error *error);
PAWL_CHECKED pawl_status pawl_import(pawl_store *store,
                                     int64_t (*source)(void *context, void *buffer, size_t size),
                                     void *context, const pawl_call *call, pawl_error *error);

#ifdef __cplusplus
}
#endif
#endif

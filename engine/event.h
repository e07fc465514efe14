/* event: what can happen to a store's queues, as records. Pure.
 *
 * Every change of the state is one of these, and carries its outcome in absolute terms: which
 * message, which fence, due when. Whoever applies it looks at no clock, draws nothing and reads
 * nothing else. One table says which fields an event has; writing, reading, the dump and the page
 * about the format go by it.
 *
 * A body is a mask of the fields that are there, then those fields in the table's order. A number
 * that is 0 and bytes that are absent are not written; bytes that are there and empty are. Numbers
 * are u64 in groups of 7 bits, the lowest first.
 *
 * Items are a list of equal rows of numbers. The first number of each row is written as the
 * difference to that of the row before, so that a run of messages costs a byte each.
 *
 * Threads: pure functions over the caller's memory. What is read stays in the buffer it was read
 * from.
 */
#ifndef PAWL_ENGINE_EVENT_H
#define PAWL_ENGINE_EVENT_H

#include "bytes.h"
#include "record.h"
#include "status.h"

/* data NULL: absent. */
struct event_bytes {
    const uint8_t *data;
    size_t size;
};

/* A list of rows, as it is written. */
struct event_items {
    const uint8_t *data;
    size_t size;
    uint32_t count;
};

/* What a row of each kind of list holds, first to last. */
#define EVENT_LIST_MAP(X)                                                                          \
    X(RANGES, 2)     /* first seq, how many */                                                     \
    X(SETTINGS, 2)   /* number of the setting (policy.h), value */                                 \
    X(POSITIONS, 2)  /* priority, the next seq to be read at it */                                 \
    X(RECEIPTS, 2)   /* seq, fence */                                                              \
    X(DELIVERIES, 5) /* seq, fence, attempt, delivery, traits */                                   \
    X(TOUCHED, 2)    /* seq, traits */                                                             \
    X(DELAYED, 4)    /* seq, traits, due, delay: store time, microseconds */                       \
    X(PAIRS, 2)      /* the dead one's seq, that of the message which comes of it */

enum { EVENT_ROW_MAX = 5 };

/* Of a message that nothing was kept of: its priority, and whether it has an ordering key. */
enum event_traits {
    EVENT_TRAIT_PRIORITY = 0xf,
    EVENT_TRAIT_KEYED = 1 << 4,
};

/* How a delivery failed. */
enum event_outcome {
    EVENT_OUTCOME_RETRY = 1, /* the consumer said so */
    EVENT_OUTCOME_LAPSED,    /* its lease ran out */
    EVENT_OUTCOME_DIED,      /* its session's process died */
    EVENT_OUTCOME_REJECTED,  /* the consumer said that it is permanent */
    EVENT_OUTCOME_TIMEOUT,   /* it ran longer than it may */
    EVENT_OUTCOME_COUNT,
};

/* F(E, type, name), where E is the event's name: NUMBER, TIME (store time, microseconds; 0: none),
 * SPAN (microseconds), TEXT (UTF-8), BYTES, LIST(what its rows hold). A field that is added later
 * comes last. */

#define EVENT_BOOT_FIELDS(F, E)                                                                    \
    F(E, BYTES, boot_id)                                                                           \
    F(E, NUMBER, epoch) /* of the fences from here on */

#define EVENT_SESSION_OPEN_FIELDS(F, E)                                                            \
    F(E, NUMBER, slot)                                                                             \
    F(E, NUMBER, pid)                                                                              \
    F(E, NUMBER, format) /* the newest that it can read */                                         \
    F(E, TEXT, host)                                                                               \
    F(E, TEXT, command)                                                                            \
    F(E, TEXT, version)                                                                            \
    F(E, NUMBER, epoch) /* drawn by one who opened alone; else 0 */

/* Its leases have ended by records of their own before. */
#define EVENT_SESSION_END_FIELDS(F, E)                                                             \
    F(E, NUMBER, session) /* the LSN of its session-open */                                        \
    F(E, NUMBER, died)

#define EVENT_QUEUE_SET_FIELDS(F, E)                                                               \
    F(E, NUMBER, queue)                                                                            \
    F(E, TEXT, name)                                                                               \
    F(E, LIST(SETTINGS), policy) /* all that are not the default */                                \
    F(E, NUMBER, paused)         /* takes no enqueues */                                           \
    F(E, TEXT, paused_why)                                                                         \
    F(E, NUMBER, seq_limit) /* no seq from here on may be used before it is raised */

#define EVENT_QUEUE_DROP_FIELDS(F, E) F(E, NUMBER, queue)

#define EVENT_GROUP_SET_FIELDS(F, E)                                                               \
    F(E, NUMBER, queue)                                                                            \
    F(E, NUMBER, group)                                                                            \
    F(E, TEXT, name)                                                                               \
    F(E, LIST(SETTINGS), policy) /* what it overrides */                                           \
    F(E, NUMBER, start)          /* of a new one: its first seq; what lies before is skipped */    \
    F(E, NUMBER, paused)                                                                           \
    F(E, TEXT, paused_why)                                                                         \
    F(E, NUMBER, skipped) /* how many of those enqueued are not for it */                          \
    F(E, LIST(DELAYED), delayed)                                                                   \
    F(E, LIST(RANGES), absent) /* from the start on: never enqueued, or gone in every group */

#define EVENT_GROUP_DROP_FIELDS(F, E)                                                              \
    F(E, NUMBER, queue)                                                                            \
    F(E, NUMBER, group)

#define EVENT_GROUP_SEEK_FIELDS(F, E)                                                              \
    F(E, NUMBER, queue)                                                                            \
    F(E, NUMBER, group)                                                                            \
    F(E, NUMBER, to) /* what is not settled or dead below it is skipped */

#define EVENT_ENQUEUE_FIELDS(F, E)                                                                 \
    F(E, NUMBER, queue)                                                                            \
    F(E, NUMBER, seq)                                                                              \
    F(E, NUMBER, priority)                                                                         \
    F(E, TIME, due)                                                                                \
    F(E, SPAN, delay) /* as it was asked for: a reboot delays it by no more */                     \
    F(E, TIME, expire)                                                                             \
    F(E, SPAN, ttl)                                                                                \
    F(E, BYTES, key)                                                                               \
    F(E, BYTES, ordering_key)                                                                      \
    F(E, TEXT, type)                                                                               \
    F(E, BYTES, headers) /* see event_headers_next() */                                            \
    F(E, TEXT, source)                                                                             \
    F(E, NUMBER, source_seq)                                                                       \
    F(E, NUMBER, payload_at) /* in the frame's payload block, once that is decompressed */         \
    F(E, NUMBER, payload_bytes)                                                                    \
    F(E, NUMBER, check) /* of its own payload and headers; tells same from other under one key */

#define EVENT_ATTEMPT_FIELDS(F, E)                                                                 \
    F(E, NUMBER, queue)                                                                            \
    F(E, NUMBER, group)                                                                            \
    F(E, NUMBER, session) /* 0: detached */                                                        \
    F(E, TIME, until)                                                                              \
    F(E, TEXT, consumer)                                                                           \
    F(E, TEXT, consumer_version)                                                                   \
    F(E, LIST(DELIVERIES), deliveries)                                                             \
    F(E, LIST(POSITIONS), positions) /* where the group reads on */

#define EVENT_EXTEND_FIELDS(F, E)                                                                  \
    F(E, NUMBER, queue)                                                                            \
    F(E, NUMBER, group)                                                                            \
    F(E, TIME, until)                                                                              \
    F(E, LIST(RECEIPTS), receipts)

#define EVENT_ACK_FIELDS(F, E)                                                                     \
    F(E, NUMBER, queue)                                                                            \
    F(E, NUMBER, group)                                                                            \
    F(E, LIST(RECEIPTS), receipts)

/* What a failed delivery tells; the LSN of the failure before, or 0. */
#define EVENT_FAILURE_FIELDS(F, E)                                                                 \
    F(E, NUMBER, outcome) /* an event_outcome */                                                   \
    F(E, NUMBER, attempt)                                                                          \
    F(E, NUMBER, delivery)                                                                         \
    F(E, TEXT, reason)                                                                             \
    F(E, TEXT, stage)                                                                              \
    F(E, TEXT, detail)                                                                             \
    F(E, NUMBER, cost)                                                                             \
    F(E, TEXT, consumer)                                                                           \
    F(E, TEXT, consumer_version)                                                                   \
    F(E, NUMBER, before)                                                                           \
    F(E, NUMBER, cost_sum)                                                                         \
    F(E, TIME, first_failed)                                                                       \
    F(E, NUMBER, redrives)

#define EVENT_RETRY_FIELDS(F, E)                                                                   \
    F(E, NUMBER, queue)                                                                            \
    F(E, NUMBER, group)                                                                            \
    F(E, NUMBER, seq)                                                                              \
    F(E, NUMBER, fence)                                                                            \
    F(E, TIME, due)                                                                                \
    F(E, SPAN, delay)                                                                              \
    EVENT_FAILURE_FIELDS(F, E)

#define EVENT_RELEASE_FIELDS(F, E)                                                                 \
    F(E, NUMBER, queue)                                                                            \
    F(E, NUMBER, group)                                                                            \
    F(E, TIME, due)                                                                                \
    F(E, SPAN, delay)                                                                              \
    F(E, NUMBER, suspect) /* its process died holding several */                                   \
    F(E, LIST(RECEIPTS), receipts)

/* outcome 0: it did not die of a delivery. */
#define EVENT_DEAD_LETTER_FIELDS(F, E)                                                             \
    F(E, NUMBER, queue)                                                                            \
    F(E, NUMBER, group)                                                                            \
    F(E, NUMBER, seq)                                                                              \
    F(E, NUMBER, fence)                                                                            \
    F(E, NUMBER, traits)                                                                           \
    F(E, TEXT, dead_reason)                                                                        \
    EVENT_FAILURE_FIELDS(F, E)

#define EVENT_REDRIVE_FIELDS(F, E)                                                                 \
    F(E, NUMBER, queue)                                                                            \
    F(E, NUMBER, group)                                                                            \
    F(E, LIST(RANGES), messages)                                                                   \
    F(E, TIME, expire)

#define EVENT_REPLACE_FIELDS(F, E)                                                                 \
    F(E, NUMBER, queue)                                                                            \
    F(E, NUMBER, group)                                                                            \
    F(E, NUMBER, to) /* queue of the new ones */                                                   \
    F(E, LIST(PAIRS), pairs)

#define EVENT_PURGE_FIELDS(F, E)                                                                   \
    F(E, NUMBER, queue)                                                                            \
    F(E, NUMBER, group)                                                                            \
    F(E, TEXT, disposition)                                                                        \
    F(E, LIST(RANGES), messages)

/* What is not dead ends, in every group. */
#define EVENT_CANCEL_FIELDS(F, E)                                                                  \
    F(E, NUMBER, queue)                                                                            \
    F(E, LIST(RANGES), messages)

#define EVENT_DUE_FIELDS(F, E)                                                                     \
    F(E, NUMBER, queue)                                                                            \
    F(E, NUMBER, group)                                                                            \
    F(E, TIME, due)                                                                                \
    F(E, SPAN, delay)                                                                              \
    F(E, LIST(TOUCHED), messages)

#define EVENT_EXPIRE_FIELDS(F, E)                                                                  \
    F(E, NUMBER, queue)                                                                            \
    F(E, NUMBER, group)                                                                            \
    F(E, LIST(RANGES), messages)

#define EVENT_DROP_FIELDS(F, E)                                                                    \
    F(E, NUMBER, queue)                                                                            \
    F(E, LIST(RANGES), messages)

#define EVENT_FORMAT_SET_FIELDS(F, E) F(E, NUMBER, format)

/* X(UPPER, kind, lower, name in the dump). A kind is never used twice. */
#define EVENT_MAP(X)                                                                               \
    X(BOOT, 16, boot, "boot")                                                                      \
    X(SESSION_OPEN, 17, session_open, "session-open")                                              \
    X(SESSION_END, 18, session_end, "session-end")                                                 \
    X(QUEUE_SET, 19, queue_set, "queue-set")                                                       \
    X(QUEUE_DROP, 20, queue_drop, "queue-drop")                                                    \
    X(GROUP_SET, 21, group_set, "group-set")                                                       \
    X(GROUP_DROP, 22, group_drop, "group-drop")                                                    \
    X(GROUP_SEEK, 23, group_seek, "group-seek")                                                    \
    X(ENQUEUE, 24, enqueue, "enqueue")                                                             \
    X(ATTEMPT, 25, attempt, "attempt")                                                             \
    X(EXTEND, 26, extend, "extend")                                                                \
    X(ACK, 27, ack, "ack")                                                                         \
    X(RETRY, 28, retry, "retry")                                                                   \
    X(RELEASE, 29, release, "release")                                                             \
    X(DEAD_LETTER, 30, dead_letter, "dead-letter")                                                 \
    X(REDRIVE, 31, redrive, "redrive")                                                             \
    X(REPLACE, 32, replace, "replace")                                                             \
    X(PURGE, 33, purge, "purge")                                                                   \
    X(CANCEL, 34, cancel, "cancel")                                                                \
    X(DUE, 35, due, "due")                                                                         \
    X(EXPIRE, 36, expire, "expire")                                                                \
    X(DROP, 37, drop, "drop")                                                                      \
    X(FORMAT_SET, 38, format_set, "format-set")

enum event_kind {
#define X(upper, kind, lower, name) EVENT_##upper = (kind),
    EVENT_MAP(X)
#undef X
};

/* struct event_enqueue and so on. */
#define EVENT_DECLARE_NUMBER(name)       uint64_t name;
#define EVENT_DECLARE_TIME(name)         uint64_t name##_us;
#define EVENT_DECLARE_SPAN(name)         uint64_t name##_us;
#define EVENT_DECLARE_TEXT(name)         struct event_bytes name;
#define EVENT_DECLARE_BYTES(name)        struct event_bytes name;
#define EVENT_DECLARE_LIST(what)         EVENT_DECLARE_ITEMS
#define EVENT_DECLARE_ITEMS(name)        struct event_items name;
#define EVENT_DECLARE(lower, type, name) EVENT_DECLARE_##type(name)

#define X(upper, kind, lower, printed)                                                             \
    struct event_##lower {                                                                         \
        EVENT_##upper##_FIELDS(EVENT_DECLARE, lower)                                               \
    };
EVENT_MAP(X)
#undef X

struct event {
    enum event_kind kind;
    union {
#define X(upper, kind, lower, printed) struct event_##lower lower;
        EVENT_MAP(X)
#undef X
    };
};

/* ---- Writing ---- */

/* The size of the record that event_write() writes. */
size_t event_record_bytes(const struct event *event);

/* Writes the event as one record; the writer turns bad when it does not fit. */
void event_write(struct writer *writer, const struct event *event);

/* Adds a row of `width` numbers to a list that is written into memory of its own. The first numbers
 * must not descend. */
struct event_list {
    struct writer writer;
    uint64_t last;
    uint32_t count;
};

void event_list_add(struct event_list *list, const uint64_t *row, unsigned width);
struct event_items event_list_items(const struct event_list *list);

/* The most bytes that a row takes. */
#define EVENT_ROW_BYTES_MAX(width) ((width)*10)

/* ---- Reading ---- */

/* From a record of the log. PAWL_NOT_FOUND: a kind that is not known and may be passed over.
 * PAWL_VERSION: one that may not, or a field that is not known. PAWL_DAMAGED: the bytes are no
 * event; they stood under a checksum, so this is a writer's bug. */
pawl_status event_read(const struct record *record, struct event *ret_event);

struct event_rows {
    struct reader reader;
    uint64_t last;
    uint32_t left;
};

struct event_rows event_rows_of(const struct event_items *items);

/* The next row; false at the end. What event_read() gave has been checked. */
bool event_rows_next(struct event_rows *rows, uint64_t *ret_row, unsigned width);

/* Headers are names and values in turn, each with its length before it. False at their end. */
bool event_headers_next(struct reader *reader, struct event_bytes *ret_name,
                        struct event_bytes *ret_value);
void event_headers_add(struct writer *writer, struct event_bytes name, struct event_bytes value);

/* ---- The table, for who prints ---- */

enum event_type {
    EVENT_TYPE_NUMBER,
    EVENT_TYPE_TIME,
    EVENT_TYPE_SPAN,
    EVENT_TYPE_TEXT,
    EVENT_TYPE_BYTES,
    EVENT_TYPE_LIST,
};

struct event_field {
    const char *name;
    enum event_type type;
    uint8_t width; /* of a list's rows */
    uint16_t at;   /* in struct event */
};

struct event_layout {
    const char *name; /* as the dump has it: "session-open" */
    const struct event_field *fields;
    unsigned field_count;
};

/* NULL: the kind is not known. */
const struct event_layout *event_layout(unsigned kind);

#endif

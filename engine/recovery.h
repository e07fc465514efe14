/* recovery: where the log ends. The decision is a table over a few facts; a test enumerates every
 * combination of them and finds exactly one row for each.
 *
 * What it is not: the reading of the facts (scan.h) or the acting on them (opening.c).
 *
 * The proof behind it. Every frame states a position up to which the log was durable before the
 * frame was written (F3). Let X be the first position at which no whole frame stands. If anything
 * whole, anywhere, states a position beyond X, then X had been on stable storage, and what is
 * missing is damage. If nothing does, nobody was ever told that X is durable: whatever stands
 * behind X was in flight, and the log ends at X. What no interrupted write can leave is damage too.
 * (After the sync offsets of CockroachDB's Pebble and the recovery cases of TigerBeetle's journal.)
 * Threads: pure functions.
 */
#ifndef PAWL_ENGINE_RECOVERY_H
#define PAWL_ENGINE_RECOVERY_H

#include <stdbool.h>
#include <stdint.h>

/* What stands at X. */
enum recovery_bytes {
    RECOVERY_ZERO, /* zeros to the end of the file, or the file ends */
    RECOVERY_TORN, /* something that an interrupted write can leave */
    RECOVERY_ROT,  /* something that it cannot: no byte of the frame is missing, and it is wrong */
    RECOVERY_ABSURD, /* a header whose checksum holds and whose content cannot be */
    RECOVERY_BYTES_COUNT,
};

struct recovery_facts {
    enum recovery_bytes bytes;
    bool is_proved;   /* something whole states a position beyond X */
    bool has_later;   /* whole frames stand behind X, in this segment or a later one */
    bool is_sealed;   /* the frame before X is a footer: the next segment had been made */
    bool next_exists; /* the file of the next ordinal is there */
    bool has_gap;     /* it is not, but that of a higher one is */
};

enum recovery_row {
    RECOVERY_CLEAN,          /* the log ends here and goes on here */
    RECOVERY_CUT_TORN,       /* the log ends at X; the next segment begins there */
    RECOVERY_CUT_REORDERED,  /* the same, with whole frames behind X that nobody was promised */
    RECOVERY_LOST_DURABLE,   /* damage: X had been durable */
    RECOVERY_LOST_SEGMENT,   /* damage: a segment that had been begun is gone */
    RECOVERY_LOST_SUCCESSOR, /* damage: the segment after a footer is gone */
    RECOVERY_UNEXPLAINED,    /* damage: no interrupted write leaves this */
    RECOVERY_IMPOSSIBLE,     /* damage: a writer's bug or an attack */
    RECOVERY_ROW_COUNT,
};

/* Exactly one row for any facts. */
enum recovery_row recovery_decide(const struct recovery_facts *facts);

/* How many rows match: 1, unless the table is wrong. For the test. */
unsigned recovery_count_matches(const struct recovery_facts *facts);

bool recovery_is_damage(enum recovery_row row);

/* "cut-torn" */
const char *recovery_row_name(enum recovery_row row);

/* One sentence for the operator, without place. */
const char *recovery_row_sentence(enum recovery_row row);

/* What a segment's file is, before its frames are looked at. */
enum recovery_header {
    RECOVERY_HEADER_OURS,
    RECOVERY_HEADER_ABSENT,
    RECOVERY_HEADER_WRONG,
    RECOVERY_HEADER_FOREIGN,
    RECOVERY_HEADER_NEWER,
    RECOVERY_HEADER_COUNT,
};

struct recovery_file_facts {
    enum recovery_header header;
    bool is_named_right; /* the header's ordinal is the name's; true when there is no header */
    bool has_content;    /* something behind the header is not zero */
    bool is_followed;    /* a segment of a higher ordinal has begun */
};

enum recovery_file_row {
    RECOVERY_FILE_SEGMENT,    /* a segment of this log */
    RECOVERY_FILE_UNFINISHED, /* its making was interrupted; nothing was in it */
    RECOVERY_FILE_HEADER,     /* damage: the header of a segment in use */
    RECOVERY_FILE_FOREIGN,    /* damage: another store's file */
    RECOVERY_FILE_RENAMED,    /* damage: a segment under another's name */
    RECOVERY_FILE_NEWER,      /* a newer format */
    RECOVERY_FILE_ROW_COUNT,
};

enum recovery_file_row recovery_decide_file(const struct recovery_file_facts *facts);
unsigned recovery_count_file_matches(const struct recovery_file_facts *facts);
const char *recovery_file_row_name(enum recovery_file_row row);
const char *recovery_file_row_sentence(enum recovery_file_row row);

#endif

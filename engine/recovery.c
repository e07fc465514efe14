#include "recovery.h"

#include "check.h"

#include <stddef.h>

/* A row matches when every fact that it names has the value that it gives. */
enum want {
    NO,
    YES,
    ANY,
};

/* Sets of recovery_bytes. */
enum {
    ZERO = 1 << RECOVERY_ZERO,
    TORN = 1 << RECOVERY_TORN,
    ROT = 1 << RECOVERY_ROT,
    ABSURD = 1 << RECOVERY_ABSURD,
    ALL_BYTES = (1 << RECOVERY_BYTES_COUNT) - 1,
};

struct row {
    enum recovery_row row;
    unsigned bytes;
    enum want proved, later, gap;
    enum want successor_lost; /* sealed, and the next file is not there */
};

/* Proof goes before everything; then what is missing as a whole; then what the bytes say. */
/* clang-format off */
static const struct row rows[] = {
    /* row                     bytes        proved later gap  successor_lost */
    {RECOVERY_LOST_DURABLE,    ALL_BYTES,   YES,   ANY,  ANY, ANY},
    {RECOVERY_LOST_SEGMENT,    ALL_BYTES,   NO,    ANY,  YES, ANY},
    {RECOVERY_LOST_SUCCESSOR,  ALL_BYTES,   NO,    ANY,  NO,  YES},
    {RECOVERY_IMPOSSIBLE,      ABSURD,      NO,    ANY,  NO,  NO},
    {RECOVERY_UNEXPLAINED,     ROT,         NO,    ANY,  NO,  NO},
    {RECOVERY_CUT_REORDERED,   ZERO | TORN, NO,    YES,  NO,  NO},
    {RECOVERY_CUT_TORN,        TORN,        NO,    NO,   NO,  NO},
    {RECOVERY_CLEAN,           ZERO,        NO,    NO,   NO,  NO},
};
/* clang-format on */

static bool meets(enum want want, bool fact) {
    return want == ANY || (want == YES) == fact;
}

static bool row_matches(const struct row *row, const struct recovery_facts *facts) {
    return (row->bytes >> facts->bytes & 1) != 0 && meets(row->proved, facts->is_proved) &&
           meets(row->later, facts->has_later) && meets(row->gap, facts->has_gap) &&
           meets(row->successor_lost, facts->is_sealed && !facts->next_exists);
}

enum recovery_row recovery_decide(const struct recovery_facts *facts) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (row_matches(&rows[i], facts))
            return rows[i].row;
    }
    CHECK_STOP(); /* the test enumerates that this cannot be */
    return RECOVERY_IMPOSSIBLE;
}

unsigned recovery_count_matches(const struct recovery_facts *facts) {
    unsigned count = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        count += row_matches(&rows[i], facts);
    return count;
}

bool recovery_is_damage(enum recovery_row row) {
    return row != RECOVERY_CLEAN && row != RECOVERY_CUT_TORN && row != RECOVERY_CUT_REORDERED;
}

const char *recovery_row_name(enum recovery_row row) {
    static const char *const names[RECOVERY_ROW_COUNT] = {
        [RECOVERY_CLEAN] = "clean",
        [RECOVERY_CUT_TORN] = "cut-torn",
        [RECOVERY_CUT_REORDERED] = "cut-reordered",
        [RECOVERY_LOST_DURABLE] = "lost-durable",
        [RECOVERY_LOST_SEGMENT] = "lost-segment",
        [RECOVERY_LOST_SUCCESSOR] = "lost-successor",
        [RECOVERY_UNEXPLAINED] = "unexplained",
        [RECOVERY_IMPOSSIBLE] = "impossible",
    };
    return names[row];
}

const char *recovery_row_sentence(enum recovery_row row) {
    static const char *const sentences[RECOVERY_ROW_COUNT] = {
        [RECOVERY_CLEAN] = "the log ends cleanly",
        [RECOVERY_CUT_TORN] = "an unfinished write was cut off; nothing in it had been confirmed",
        [RECOVERY_CUT_REORDERED] =
            "unfinished writes were cut off; nothing in them had been confirmed",
        [RECOVERY_LOST_DURABLE] = "what had been durable is not whole",
        [RECOVERY_LOST_SEGMENT] = "a segment that was in use is missing",
        [RECOVERY_LOST_SUCCESSOR] = "the segment after a sealed one is missing",
        [RECOVERY_UNEXPLAINED] =
            "the last frame is wrong in a way that no interrupted write leaves",
        [RECOVERY_IMPOSSIBLE] = "a frame whose checksum holds says what cannot be",
    };
    return sentences[row];
}

/* Sets of recovery_header. */
enum {
    OURS = 1 << RECOVERY_HEADER_OURS,
    ABSENT = 1 << RECOVERY_HEADER_ABSENT,
    WRONG = 1 << RECOVERY_HEADER_WRONG,
    FOREIGN = 1 << RECOVERY_HEADER_FOREIGN,
    NEWER = 1 << RECOVERY_HEADER_NEWER,
};

struct file_row {
    enum recovery_file_row row;
    unsigned headers;
    enum want named_right;
    enum want in_use; /* it has content, or a later segment has begun */
};

/* clang-format off */
static const struct file_row file_rows[] = {
    /* row                      headers         named_right in_use */
    {RECOVERY_FILE_NEWER,       NEWER,          ANY,        ANY},
    {RECOVERY_FILE_FOREIGN,     FOREIGN,        ANY,        ANY},
    {RECOVERY_FILE_RENAMED,     OURS,           NO,         ANY},
    {RECOVERY_FILE_SEGMENT,     OURS,           YES,        ANY},
    {RECOVERY_FILE_HEADER,      ABSENT | WRONG, ANY,        YES},
    {RECOVERY_FILE_UNFINISHED,  ABSENT | WRONG, ANY,        NO},
};
/* clang-format on */

static bool file_row_matches(const struct file_row *row, const struct recovery_file_facts *facts) {
    return (row->headers >> facts->header & 1) != 0 &&
           meets(row->named_right, facts->is_named_right) &&
           meets(row->in_use, facts->has_content || facts->is_followed);
}

enum recovery_file_row recovery_decide_file(const struct recovery_file_facts *facts) {
    for (size_t i = 0; i < sizeof file_rows / sizeof file_rows[0]; i++) {
        if (file_row_matches(&file_rows[i], facts))
            return file_rows[i].row;
    }
    CHECK_STOP(); /* the test enumerates that this cannot be */
    return RECOVERY_FILE_HEADER;
}

unsigned recovery_count_file_matches(const struct recovery_file_facts *facts) {
    unsigned count = 0;
    for (size_t i = 0; i < sizeof file_rows / sizeof file_rows[0]; i++)
        count += file_row_matches(&file_rows[i], facts);
    return count;
}

const char *recovery_file_row_name(enum recovery_file_row row) {
    static const char *const names[RECOVERY_FILE_ROW_COUNT] = {
        [RECOVERY_FILE_SEGMENT] = "segment", [RECOVERY_FILE_UNFINISHED] = "unfinished",
        [RECOVERY_FILE_HEADER] = "header",   [RECOVERY_FILE_FOREIGN] = "foreign",
        [RECOVERY_FILE_RENAMED] = "renamed", [RECOVERY_FILE_NEWER] = "newer",
    };
    return names[row];
}

const char *recovery_file_row_sentence(enum recovery_file_row row) {
    static const char *const sentences[RECOVERY_FILE_ROW_COUNT] = {
        [RECOVERY_FILE_SEGMENT] = "a segment of this log",
        [RECOVERY_FILE_UNFINISHED] = "its making was interrupted; nothing was in it",
        [RECOVERY_FILE_HEADER] = "the header of a segment in use is not whole",
        [RECOVERY_FILE_FOREIGN] = "the file belongs to another store",
        [RECOVERY_FILE_RENAMED] = "the file is a segment under another segment's name",
        [RECOVERY_FILE_NEWER] = "the file was written in a newer format",
    };
    return sentences[row];
}

/* reader: a second reader of the format, for judging the first. It knows docs/format.md and xxHash
 * and nothing of the engine, is slow, and holds the whole store in memory.
 *
 * It reads every file in full, and only then asks where the log ends, while the engine reads from
 * the newest segment backwards and stops early. Both must come to the same.
 */
#ifndef PAWL_TESTS_ORACLE_READER_H
#define PAWL_TESTS_ORACLE_READER_H

#include <stdint.h>

enum reader_verdict {
    READER_OK,             /* an opening succeeds, and all before the end is whole */
    READER_DAMAGED_INSIDE, /* an opening succeeds; damage lies before what it reads */
    READER_DAMAGED,        /* an opening must refuse it */
    READER_NO_STORE,
    READER_FAILED, /* no memory, or a file can't be read */
};

struct reader_result {
    enum reader_verdict verdict;
    uint64_t end_lsn; /* OK and DAMAGED_INSIDE: where the log ends */
    uint64_t frames;  /* whole ones before it */
    char why[80];     /* what decided it */
};

struct reader_result reader_read_store(const char *directory);

const char *reader_verdict_name(enum reader_verdict verdict);

#endif

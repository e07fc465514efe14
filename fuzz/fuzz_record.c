/* Any bytes as a metadata block: it ends, within its bounds, and what is read is written alike. */
#include "record.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    struct reader reader = reader_over(bytes, count);
    uint8_t *copy = malloc(count + 1);
    if (copy == NULL)
        return 0;
    struct writer writer = writer_over(copy, count);
    struct record record;
    pawl_status status;
    while ((status = record_next(&reader, &record)) == PAWL_OK) {
        if (record.body < bytes || record.body + record.bytes > bytes + count)
            abort();
        record_write(&writer, record.kind, record.flags, record.body, record.bytes);
    }
    if (status == PAWL_EMPTY && (writer.bad || writer_used(&writer) != count ||
                                 (count > 0 && memcmp(copy, bytes, count) != 0)))
        abort();
    free(copy);
    return 0;
}

/* cli: makes a store for the command's tests.
 *     cli DIRECTORY SEGMENT_BYTES FRAMES PAYLOAD_BYTES          makes it and closes it
 *     cli DIRECTORY SEGMENT_BYTES FRAMES PAYLOAD_BYTES hold     keeps it open: says "ready", then
 *         appends as many durable frames as each line of standard input says and answers with the
 *         log's end; closes it at the end of the input
 * Frame number n has one record of kind 16 with the four bytes of n, and the payload "n:", a
 * newline and dots; that of every fifth begins with a byte that no UTF-8 has.
 */
#include "bytes.h"
#include "log.h"
#include "os_posix.h"
#include "record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAYLOAD_MAX = 4096 };

static uint32_t appended;

static int fail(pawl_status status, const pawl_error *error) {
    (void)fprintf(stderr, "cli: %s: %s\n", status_name(status), error->sentence);
    return 1;
}

static pawl_status append(struct log *log, size_t payload_bytes, bool is_durable,
                          pawl_error *error) {
    char payload[PAYLOAD_MAX];
    uint8_t body[4], metadata[16];
    uint64_t lsn, end_lsn;
    memset(payload, '.', sizeof payload);
    const int prefix = snprintf(payload, sizeof payload, "%u:\n", ++appended);
    payload[prefix] = '.'; /* over the end of the string */
    if (appended % 5 == 0)
        payload[0] = (char)0xff;
    bytes_store_u32(body, appended);
    struct writer writer = writer_over(metadata, sizeof metadata);
    record_write(&writer, RECORD_FIRST_OF_STATE, RECORD_SKIPPABLE, body, sizeof body);
    const struct log_draft draft = {
        .metadata = metadata,
        .metadata_bytes = (uint32_t)writer_used(&writer),
        .payload = payload,
        .payload_bytes = (uint32_t)payload_bytes,
        .record_count = 1,
        .flags = is_durable ? FRAME_NEEDS_SYNC : 0,
        .time_us = 1700000000000000U + appended * 1000U,
    };
    TRY(log_lock(log, frame_bytes(draft.metadata_bytes, payload_bytes), LOG_ORDINARY,
                 OS_NO_DEADLINE, error));
    const pawl_status status = log_append(log, &draft, &lsn, &end_lsn, error);
    log_unlock(log);
    if (status != PAWL_OK || !is_durable)
        return status;
    return log_wait_durable(log, end_lsn, OS_NO_DEADLINE, error);
}

static pawl_status hold(struct log *log, size_t payload_bytes, pawl_error *error) {
    char line[32];
    (void)puts("ready");
    (void)fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL) {
        for (unsigned long count = strtoul(line, NULL, 10); count > 0; count--)
            TRY(append(log, payload_bytes, true, error));
        (void)printf("%llu\n", (unsigned long long)log_tail(log));
        (void)fflush(stdout);
    }
    return PAWL_OK;
}

static int use(struct os *os, char **argv, bool is_held) {
    struct log *log;
    struct log_opening opening;
    pawl_error error = {0};
    const struct log_options options = {
        .segment_bytes = strtoull(argv[2], NULL, 10),
        .busy_ns = 10U * 1000 * 1000 * 1000,
        .create = true,
    };
    const unsigned long frames = strtoul(argv[3], NULL, 10);
    const size_t payload_bytes = strtoul(argv[4], NULL, 10);
    if (payload_bytes > PAYLOAD_MAX)
        return 2;
    pawl_status status = log_open(os, argv[1], &options, &log, &opening, &error);
    if (status != PAWL_OK)
        return fail(status, &error);
    for (unsigned long i = 0; i < frames && status == PAWL_OK; i++)
        status = append(log, payload_bytes, i + 1 == frames, &error);
    if (status == PAWL_OK && is_held)
        status = hold(log, payload_bytes, &error);
    const pawl_status closed = log_close(log, status == PAWL_OK ? &error : NULL);
    if (status == PAWL_OK)
        status = closed;
    return status == PAWL_OK ? 0 : fail(status, &error);
}

int main(int argc, char **argv) {
    struct os *os;
    if (argc < 5 || os_posix_create(&os) != 0)
        return 2;
    const int code = use(os, argv, argc > 5 && strcmp(argv[5], "hold") == 0);
    os_posix_destroy(os);
    return code;
}

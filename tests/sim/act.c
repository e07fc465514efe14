#include "act.h"

#include "frame.h"
#include "record.h"
#include "status.h"

static const uint64_t busy_ns = 2000000000U;

/* The smallest record that the log takes; what it says is nobody's concern here. */
static const uint8_t record[] = {RECORD_FIRST_OF_STATE, 0, 0};

const char act_store[] = "store";

struct log_options act_options(uint64_t segment_bytes, uint64_t reserve_bytes) {
    return (struct log_options){
        .segment_bytes = segment_bytes,
        .reserve_bytes = reserve_bytes,
        .busy_ns = busy_ns,
        .create = true,
    };
}

uint64_t act_deadline(struct os *os) {
    return os_clock_boot(os) + busy_ns;
}

size_t act_frame_bytes(uint32_t payload_bytes) {
    return frame_bytes(sizeof record, payload_bytes);
}

pawl_status act_append(struct oracle *oracle, struct log *log, uint32_t payload_bytes,
                       uint16_t flags, uint64_t *ret_end_lsn, pawl_error *error) {
    const uint8_t *payload;
    const uint32_t number = oracle_try(oracle, payload_bytes, &payload);
    const struct log_draft draft = {
        .metadata = record,
        .metadata_bytes = sizeof record,
        .payload = payload,
        .payload_bytes = payload_bytes,
        .record_count = 1,
        .flags = flags,
        .time_us = number,
    };
    uint64_t lsn;
    const pawl_status status = log_append(log, &draft, &lsn, ret_end_lsn, error);
    if (status == PAWL_OK)
        oracle_appended(oracle, number, lsn, *ret_end_lsn);
    else if (status != PAWL_FAILED_SYNC)
        oracle_refused(oracle, number); /* else it may be there */
    return status;
}

pawl_status act_read(struct oracle *oracle, struct oracle_reading *reading,
                     struct log_reader *reader, enum log_reach reach, uint64_t *proved_lsn,
                     pawl_error *error) {
    struct log_view view;
    TRY(log_reader_next(reader, reach, &view, error));
    if (view.header.durable_lsn > *proved_lsn)
        *proved_lsn = view.header.durable_lsn;
    if (view.header.payload_bytes == 0)
        return PAWL_OK;
    const uint8_t *payload;
    TRY(log_reader_payload(reader, &view, &payload, error));
    oracle_read(oracle, reading, view.header.lsn, log_reader_lsn(reader), payload,
                view.header.payload_bytes);
    return PAWL_OK;
}

pawl_status act_read_all(struct oracle *oracle, struct log *log, uint64_t *ret_proved_lsn,
                         pawl_error *error) {
    struct log_reader *reader;
    TRY(log_reader_open(log, log_first(log), &reader, error));
    struct oracle_reading *reading = oracle_read_begin(oracle);
    uint64_t proved_lsn = 0;
    pawl_status status = PAWL_OK;
    while (status == PAWL_OK)
        status = act_read(oracle, reading, reader, LOG_TO_TAIL, &proved_lsn, error);
    if (status == PAWL_EMPTY) {
        oracle_read_end(oracle, reading, log_first(log), log_reader_lsn(reader));
        *ret_proved_lsn = proved_lsn;
        status = PAWL_OK;
    }
    log_reader_close(reader);
    return status;
}

#include "stage.h"

#include "segment.h"

#include <string.h>

static const uint64_t busy_ns = 2000000000U;

void stage_init(struct stage *stage, uint64_t seed) {
    const struct world_options options = {
        .seed = seed, .blocks_max = 100000, .calls_max = 10000000};
    memset(stage, 0, sizeof *stage);
    stage->reserve_bytes = 4096;
    stage->world = world_make(&options);
    oracle_init(&stage->oracle);
}

void stage_deinit(struct stage *stage) {
    world_free(stage->world);
    oracle_deinit(&stage->oracle);
}

struct play {
    struct stage *stage;
    stage_act act;
    void *context;
};

static void stage_main(struct process *process, void *context) {
    const struct play *play = context;
    play->stage->os = process_os(process);
    play->act(play->stage, play->context);
}

void stage_run(struct stage *stage, stage_act act, void *context) {
    struct play play = {stage, act, context};
    (void)world_spawn(stage->world, stage_main, &play);
    const enum world_news news = world_run(stage->world);
    if (news != WORLD_QUIET && news != WORLD_POWER)
        oracle_complain(&stage->oracle, "it did not come to an end (%d): %s", (int)news,
                        world_complaint(stage->world));
}

pawl_status stage_open(struct stage *stage) {
    const struct log_options options = {
        .segment_bytes = SEGMENT_BYTES_MIN,
        .reserve_bytes = stage->reserve_bytes,
        .busy_ns = busy_ns,
        .create = true,
    };
    return log_open(stage->os, "store", &options, &stage->log, &stage->opening, &stage->error);
}

pawl_status stage_append(struct stage *stage, uint32_t bytes, bool is_durable,
                         enum log_class class) {
    static const uint8_t record[] = {RECORD_FIRST_OF_STATE, 0, 0};
    const uint8_t *payload;
    uint64_t lsn, end_lsn;
    TRY(log_lock(stage->log, frame_bytes(sizeof record, bytes), class,
                 os_clock_boot(stage->os) + busy_ns, &stage->error));
    const uint32_t number = oracle_try(&stage->oracle, bytes, &payload);
    const struct log_draft draft = {
        .metadata = record,
        .metadata_bytes = sizeof record,
        .payload = payload,
        .payload_bytes = bytes,
        .record_count = 1,
        .flags = is_durable ? FRAME_NEEDS_SYNC : 0,
        .time_us = number,
    };
    const pawl_status status = log_append(stage->log, &draft, &lsn, &end_lsn, &stage->error);
    log_unlock(stage->log);
    if (status != PAWL_OK && status != PAWL_FAILED_SYNC)
        oracle_refused(&stage->oracle, number); /* else it may be there */
    TRY(status);
    oracle_appended(&stage->oracle, number, lsn, end_lsn);
    if (!is_durable)
        return PAWL_OK;
    TRY(log_wait_durable(stage->log, end_lsn, OS_NO_DEADLINE, &stage->error));
    oracle_confirmed(&stage->oracle, end_lsn);
    return PAWL_OK;
}

pawl_status stage_read_all(struct stage *stage) {
    struct log_reader *reader;
    TRY(log_reader_open(stage->log, log_first(stage->log), &reader, &stage->error));
    struct oracle_reading *reading = oracle_read_begin(&stage->oracle);
    pawl_status status = PAWL_OK;
    while (status == PAWL_OK) {
        struct log_view view;
        const uint8_t *payload;
        status = log_reader_next(reader, LOG_TO_TAIL, &view, &stage->error);
        if (status != PAWL_OK || view.header.payload_bytes == 0)
            continue;
        status = log_reader_payload(reader, &view, &payload, &stage->error);
        if (status == PAWL_OK)
            oracle_read(&stage->oracle, reading, view.header.lsn, log_reader_lsn(reader), payload,
                        view.header.payload_bytes);
    }
    if (status == PAWL_EMPTY)
        oracle_read_end(&stage->oracle, reading, log_first(stage->log), log_reader_lsn(reader));
    log_reader_close(reader);
    return status == PAWL_EMPTY ? PAWL_OK : status;
}

_Noreturn void stage_cut_power(struct stage *stage) {
    stage->oracle.may_lose = true;
    process_cut_power((struct process *)(void *)stage->os);
}

pawl_status stage_close(struct stage *stage) {
    return log_close(stage->log, &stage->error);
}

void stage_fill(struct stage *stage, unsigned segments) {
    for (uint32_t i = 0; i < 400 && stage_segment(stage, segments + 1) < 0; i++) {
        if (stage_append(stage, 200 + i % 7 * 90, i % 3 == 0, LOG_ORDINARY) != PAWL_OK)
            oracle_complain(&stage->oracle, "filling: %s", stage->error.sentence);
    }
}

int stage_segment(struct stage *stage, unsigned ordinal) {
    char name[SEGMENT_NAME_BYTES];
    segment_name(ordinal, name);
    const struct disk *disk = world_disk(stage->world);
    const int store = disk_lookup(disk, 0, "store");
    const int dir = store < 0 ? -1 : disk_lookup(disk, store, "log");
    return dir < 0 ? -1 : disk_lookup(disk, dir, name);
}

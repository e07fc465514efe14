#include "stage.h"

#include "act.h"
#include "frame.h"
#include "segment.h"
#include "status.h"

#include <string.h>

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
    const struct log_options options = act_options(SEGMENT_BYTES_MIN, stage->reserve_bytes);
    return log_open(stage->os, act_store, &options, &stage->log, &stage->opening, &stage->error);
}

pawl_status stage_append(struct stage *stage, uint32_t bytes, bool is_durable,
                         enum log_class class) {
    uint64_t end_lsn;
    TRY(log_lock(stage->log, act_frame_bytes(bytes), class, act_deadline(stage->os),
                 &stage->error));
    const pawl_status status =
        act_append(&stage->oracle, stage->log, bytes, is_durable ? FRAME_NEEDS_SYNC : 0, &end_lsn,
                   &stage->error);
    log_unlock(stage->log);
    TRY(status);
    if (!is_durable)
        return PAWL_OK;
    TRY(log_wait_durable(stage->log, end_lsn, OS_NO_DEADLINE, &stage->error));
    oracle_confirmed(&stage->oracle, end_lsn);
    return PAWL_OK;
}

pawl_status stage_read_all(struct stage *stage) {
    uint64_t proved_lsn;
    return act_read_all(&stage->oracle, stage->log, &proved_lsn, &stage->error);
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
    const int store = disk_lookup(disk, 0, act_store);
    const int dir = store < 0 ? -1 : disk_lookup(disk, store, "log");
    return dir < 0 ? -1 : disk_lookup(disk, dir, name);
}

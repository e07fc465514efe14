/* Any bytes behind the frames of the last segment: the store opens or is called damaged, nothing
 * that was confirmed is missing, and what is appended afterwards is there too.
 */
#include "segment.h"
#include "stage.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void make(struct stage *stage, void *context) {
    (void)context;
    if (stage_open(stage) != PAWL_OK || stage_append(stage, 100, true, LOG_ORDINARY) != PAWL_OK)
        abort();
    stage_cut_power(stage);
}

static void look(struct stage *stage, void *context) {
    (void)context;
    const pawl_status status = stage_open(stage);
    if (status == PAWL_DAMAGED)
        return;
    if (status != PAWL_OK)
        abort();
    stage->oracle.may_lose = true;
    oracle_recovered(&stage->oracle, stage->opening.recovered_lsn);
    if (stage_append(stage, 100, true, LOG_ORDINARY) != PAWL_OK ||
        stage_read_all(stage) != PAWL_OK || stage_close(stage) != PAWL_OK)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    struct stage stage;
    if (count > 8192)
        return 0;
    stage_init(&stage, 1);
    stage_run(&stage, make, NULL);
    const int inode = stage_segment(&stage, 1);
    const size_t end = SEGMENT_DATA_AT + SEGMENT_START_FRAME_BYTES + frame_bytes(3, 100);
    (void)disk_write(world_disk(stage.world), inode, bytes, count, end);
    disk_sync(world_disk(stage.world), inode);
    stage_run(&stage, look, NULL);
    if (!oracle_is_content(&stage.oracle))
        abort();
    stage_deinit(&stage);
    return 0;
}

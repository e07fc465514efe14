/* Space for the log, on the simulator's disk, which can be exactly full. */
#include "core.h"
#include "stage.h"
#include "supply.h"

#include <criterion/criterion.h>
#include <errno.h>

static void play(stage_act act, uint64_t reserve_bytes) {
    struct stage stage;
    stage_init(&stage, 7);
    stage.reserve_bytes = reserve_bytes;
    stage_run(&stage, act, NULL);
    cr_assert(oracle_is_content(&stage.oracle), "%s", stage.oracle.complaint);
    stage_deinit(&stage);
}

#define EXPECT(status, expression)                                                                 \
    do {                                                                                           \
        const pawl_status got_ = (expression);                                                     \
        if (got_ != (status))                                                                      \
            oracle_complain(&stage->oracle, "%s: %s instead of %s: %s", #expression,               \
                            status_name(got_), status_name(status), stage->error.sentence);        \
    } while (0)

static void disk_fills(struct stage *stage) {
    struct disk *disk = world_disk(stage->world);
    disk->blocks_max = disk->blocks_used;
}

static void disk_has_room(struct stage *stage) {
    world_disk(stage->world)->blocks_max = 100000;
}

/* Appends until it is refused, and says with what. */
static pawl_status append_until_refused(struct stage *stage, enum log_class class) {
    pawl_status status = PAWL_OK;
    for (int i = 0; i < 1000 && status == PAWL_OK; i++)
        status = stage_append(stage, 300, true, class);
    return status;
}

static void full_disk(struct stage *stage, void *context) {
    (void)context;
    EXPECT(PAWL_OK, stage_open(stage));
    stage_fill(stage, 2);
    disk_fills(stage);
    EXPECT(PAWL_DISK_FULL, append_until_refused(stage, LOG_ORDINARY));
    const size_t before = stage->oracle.count;
    EXPECT(PAWL_DISK_FULL, append_until_refused(stage, LOG_FINISHING));
    if (stage->oracle.count < before + 10)
        oracle_complain(&stage->oracle, "the reserve took only %zu frames",
                        stage->oracle.count - before);
    EXPECT(PAWL_OK, stage_read_all(stage));
    EXPECT(PAWL_OK, stage_close(stage));
    EXPECT(PAWL_OK, stage_open(stage));
    EXPECT(PAWL_OK, stage_read_all(stage));
    EXPECT(PAWL_DISK_FULL, stage_append(stage, 300, true, LOG_ORDINARY));
    disk_has_room(stage);
    EXPECT(PAWL_OK, log_maintain(stage->log, &stage->error));
    EXPECT(PAWL_OK, stage_append(stage, 300, true, LOG_ORDINARY));
    disk_fills(stage);
    const size_t again = stage->oracle.count;
    EXPECT(PAWL_DISK_FULL, append_until_refused(stage, LOG_FINISHING));
    if (stage->oracle.count < again + 10)
        oracle_complain(&stage->oracle, "the reserve was not made again");
    EXPECT(PAWL_OK, stage_read_all(stage));
    EXPECT(PAWL_OK, stage_close(stage));
}

static void without_shared(struct stage *stage, void *context) {
    (void)context;
    EXPECT(PAWL_OK, stage_open(stage));
    EXPECT(PAWL_OK, stage_append(stage, 300, true, LOG_ORDINARY));
    EXPECT(PAWL_OK, stage_close(stage));
    struct disk *disk = world_disk(stage->world);
    disk_remove(disk, disk_lookup(disk, 0, "store"), SHARED_NAME);
    disk_fills(stage);
    EXPECT(PAWL_OK, stage_open(stage));
    EXPECT(PAWL_OK, stage_append(stage, 300, true, LOG_FINISHING));
    EXPECT(PAWL_OK, stage_read_all(stage));
    EXPECT(PAWL_OK, stage_close(stage));
}

Test(supply, with_no_byte_free_an_opening_takes_a_reserve_for_shared) {
    play(without_shared, 256 * 1024);
}

Test(supply, a_full_disk_takes_what_finishes_work_and_nothing_else) {
    play(full_disk, 8192);
}

/* The file that was ready, once tried in vain, is replaced by a reserve under the same name. */
static void replaced(struct stage *stage, void *context) {
    (void)context;
    enum { BIG = 30000 };
    EXPECT(PAWL_OK, stage_open(stage));
    EXPECT(PAWL_OK, stage_append(stage, 900, false, LOG_ORDINARY));
    struct shared *shared = stage->log->shared;
    /* More than is left of the active segment: the next one is made ready. */
    EXPECT(PAWL_OK, supply_room(stage->log, 7000, LOG_ORDINARY, OS_NO_DEADLINE, &stage->error));
    if (atomic_load(&shared->ready_ordinal) <= atomic_load(&shared->active_ordinal))
        oracle_complain(&stage->oracle, "nothing is ready");
    world_fail_call(stage->world, CALL_FILE_READ, 1, EIO, false);
    EXPECT(PAWL_IO, stage_append(stage, BIG, false, LOG_FINISHING));
    world_fail_call(stage->world, CALL_FILE_READ, 0, 0, false);
    disk_fills(stage);
    EXPECT(PAWL_DISK_FULL,
           supply_room(stage->log, BIG * 2, LOG_ORDINARY, OS_NO_DEADLINE, &stage->error));
    EXPECT(PAWL_OK, stage_append(stage, BIG, true, LOG_FINISHING));
    EXPECT(PAWL_OK, stage_close(stage));
    EXPECT(PAWL_OK, stage_open(stage));
    EXPECT(PAWL_OK, stage_read_all(stage));
    EXPECT(PAWL_OK, stage_close(stage));
}

Test(supply, a_reserve_in_the_place_of_a_segment_that_was_tried_is_opened_anew) {
    play(replaced, 65536);
}

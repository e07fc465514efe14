/* stage: one disk, for the sweeps: a store made once, then changed and opened again and again.
 *
 * It has room for one process: `os`, `log`, `opening` and `error` are those of the process that
 * acts. Where several take turns, each keeps its os and its log and puts them back when it goes
 * on.
 */
#ifndef PAWL_TESTS_SIM_STAGE_H
#define PAWL_TESTS_SIM_STAGE_H

#include "log.h"
#include "oracle.h"
#include "world.h"

struct stage {
    struct world *world;
    struct oracle oracle;
    uint64_t reserve_bytes; /* of the store; 4096 unless it is set */
    struct os *os;          /* of the process that runs */
    struct log *log;
    struct log_opening opening;
    pawl_error error;
};

typedef void (*stage_act)(struct stage *stage, void *context);

/* Stages of different seeds hold different stores. */
void stage_init(struct stage *stage, uint64_t seed);
void stage_deinit(struct stage *stage);

/* Runs `act` as a process of its own, to its end. What goes wrong is the oracle's complaint. */
void stage_run(struct stage *stage, stage_act act, void *context);

/* What a process does on the stage. */
pawl_status stage_open(struct stage *stage);
pawl_status stage_append(struct stage *stage, uint32_t bytes, bool is_durable,
                         enum log_class class);
pawl_status stage_read_all(struct stage *stage);
pawl_status stage_close(struct stage *stage);

/* The power fails under the running process, which does not come back. */
_Noreturn void stage_cut_power(struct stage *stage);

/* Appends until the log has `segments` segments in use; the last frames are not durable. */
void stage_fill(struct stage *stage, unsigned segments);

/* The inode of a file in log/, or -1. */
int stage_segment(struct stage *stage, unsigned ordinal);

#endif

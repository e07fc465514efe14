/* act: what any process of the simulator does with a log, with the oracle told of it.
 *
 * What it is not: a judgement of statuses. What a status may be here and now, the caller knows.
 */
#ifndef PAWL_TESTS_SIM_ACT_H
#define PAWL_TESTS_SIM_ACT_H

#include "log.h"
#include "oracle.h"
#include "os.h"

/* Where the store is. */
extern const char act_store[];

/* The store is made if it is missing. Waiting has an end. */
struct log_options act_options(uint64_t segment_bytes, uint64_t reserve_bytes);

/* Until when one waits for somebody else. */
uint64_t act_deadline(struct os *os);

/* How large the frame of such a payload is. */
size_t act_frame_bytes(uint32_t payload_bytes);

/* Appends a frame; the log is locked. */
pawl_status act_append(struct oracle *oracle, struct log *log, uint32_t payload_bytes,
                       uint16_t flags, uint64_t *ret_end_lsn, pawl_error *error);

/* Reads a frame; *proved_lsn is raised to what it states as durable. PAWL_EMPTY: there is none. */
pawl_status act_read(struct oracle *oracle, struct oracle_reading *reading,
                     struct log_reader *reader, enum log_reach reach, uint64_t *proved_lsn,
                     pawl_error *error);

/* Reads all of the log; PAWL_OK when it got to the end. */
pawl_status act_read_all(struct oracle *oracle, struct log *log, uint64_t *ret_proved_lsn,
                         pawl_error *error);

#endif

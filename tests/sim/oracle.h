/* oracle: what the log must hold, kept from what its callers were told. No files, no engine.
 *
 * Every frame that an actor tries to append has a number, its payload follows from the number
 * alone. The oracle knows of each: tried, in the log at this position, refused, or lost with a
 * power cut. What was confirmed is one position: everything that stood below it then must be there
 * for ever.
 */
#ifndef PAWL_TESTS_SIM_ORACLE_H
#define PAWL_TESTS_SIM_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum oracle_state {
    ORACLE_TRIED,   /* the call has not returned, or its process died in it */
    ORACLE_IN_LOG,  /* at a position that is known */
    ORACLE_REFUSED, /* the call said that it is not in the log and never will be */
    ORACLE_LOST,    /* it was in the log, unconfirmed, and a recovery ended the log before it */
};

struct oracle_frame {
    enum oracle_state state;
    uint32_t payload_bytes;
    uint64_t lsn, end_lsn;
    uint8_t *payload;
};

/* One pass over the log by one reader. */
struct oracle_reading {
    struct oracle_reading *next; /* of the oracle, which frees it: a reader may be killed */
    uint8_t *seen;               /* by number */
    size_t capacity;
};

struct oracle {
    struct oracle_frame *frames;
    size_t count, capacity;
    uint64_t confirmed_lsn; /* the greatest that anybody was told to be durable */
    size_t borrowed;        /* the payloads of so many are another oracle's */
    bool may_lose;          /* power was cut or a sync failed since the last recovery */
    struct oracle_reading *readings;
    char complaint[512]; /* the first thing that was wrong; "" when nothing was */
};

void oracle_init(struct oracle *oracle);
void oracle_deinit(struct oracle *oracle);

/* Makes `oracle` know what `from` knows, which must outlive it. */
void oracle_borrow(struct oracle *oracle, const struct oracle *from);

/* A new frame that is about to be appended; its number, and its payload, which the oracle keeps. */
uint32_t oracle_try(struct oracle *oracle, uint32_t payload_bytes, const uint8_t **ret_payload);

void oracle_appended(struct oracle *oracle, uint32_t number, uint64_t lsn, uint64_t end_lsn);
void oracle_refused(struct oracle *oracle, uint32_t number);
void oracle_confirmed(struct oracle *oracle, uint64_t lsn);

/* Somebody who was alone recovered the log, and it ends at `tail`. */
void oracle_recovered(struct oracle *oracle, uint64_t tail);

/* A payload begins with the frame's number and its length; the rest follows from them. */
enum { ORACLE_PAYLOAD_BYTES_MIN = 8 };

/* One reading of the log from its beginning: every frame that is not the log's own, then, if it got
 * there, the end. */
struct oracle_reading *oracle_read_begin(struct oracle *oracle);
void oracle_read(struct oracle *oracle, struct oracle_reading *reading, uint64_t lsn,
                 uint64_t end_lsn, const uint8_t *payload, uint32_t bytes);
void oracle_read_end(struct oracle *oracle, const struct oracle_reading *reading, uint64_t from_lsn,
                     uint64_t end_lsn);

/* The first complaint stays. */
void oracle_complain(struct oracle *oracle, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static inline bool oracle_is_content(const struct oracle *oracle) {
    return oracle->complaint[0] == '\0';
}

#endif

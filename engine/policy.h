/* policy: how a queue treats its messages, as numbers. Pure.
 *
 * A setting has a number in the log that is never used for another, a default and a range. A policy
 * is one value for each; a group's holds SETTING_INHERITED where the queue's counts. What is drawn
 * by chance is drawn by the caller and handed in, so the same arguments give the same answer.
 *
 * What it is not: the place where a policy is carried out.
 * Threads: pure functions over the caller's memory.
 */
#ifndef PAWL_ENGINE_POLICY_H
#define PAWL_ENGINE_POLICY_H

#include "event.h"
#include "status.h"

#include <stdbool.h>
#include <stdint.h>

/* Off, for ever or unlimited, where a setting's range allows it. */
#define SETTING_OFF       (-1)
#define SETTING_INHERITED INT64_MIN

#define SETTING_SECOND   INT64_C(1000)
#define SETTING_MINUTE   (60 * SETTING_SECOND)
#define SETTING_HOUR     (60 * SETTING_MINUTE)
#define SETTING_DAY      (24 * SETTING_HOUR)
/* A century: added to any store time it does not wrap. */
#define SETTING_SPAN_MAX (36525 * SETTING_DAY)

/* X(UPPER, number, name, default, least, most, may a group override it, may it be off). Times in
 * milliseconds, shares in thousandths. */
#define SETTING_MAP(X)                                                                             \
    X(MAX_ATTEMPTS, 1, max_attempts, 10, 1, UINT32_MAX, 1, 1)                                      \
    X(LEASE, 2, lease, 30 * SETTING_SECOND, 1, 7 * SETTING_DAY, 1, 0)                              \
    X(BACKOFF_MIN, 3, backoff_min, 2 * SETTING_SECOND, 0, SETTING_SPAN_MAX, 1, 0)                  \
    X(BACKOFF_MAX, 4, backoff_max, 30 * SETTING_MINUTE, 0, SETTING_SPAN_MAX, 1, 0)                 \
    X(BACKOFF_FACTOR, 5, backoff_factor, 3000, 1000, 100000, 1, 0)                                 \
    X(BACKOFF_JITTER, 6, backoff_jitter, 200, 0, 1000, 1, 0)                                       \
    X(MAX_HOLD, 7, max_hold, 12 * SETTING_HOUR, 1, SETTING_SPAN_MAX, 1, 0)                         \
    X(MAX_AGE_FAILING, 8, max_age_failing, SETTING_OFF, 1, SETTING_SPAN_MAX, 1, 1)                 \
    X(MAX_COST, 9, max_cost, SETTING_OFF, 0, INT64_MAX, 1, 1)                                      \
    X(TTL, 10, ttl, SETTING_OFF, 1, SETTING_SPAN_MAX, 0, 1)                                        \
    X(ON_EXPIRE, 11, on_expire, PAWL_ON_EXPIRE_DEAD, PAWL_ON_EXPIRE_DEAD, PAWL_ON_EXPIRE_DROP, 0,  \
      0)                                                                                           \
    X(MAX_MESSAGES, 12, max_messages, SETTING_OFF, 0, INT64_MAX, 0, 1)                             \
    X(MAX_BYTES, 13, max_bytes, SETTING_OFF, 0, INT64_MAX, 0, 1)                                   \
    X(ON_FULL, 14, on_full, PAWL_ON_FULL_REJECT, PAWL_ON_FULL_REJECT, PAWL_ON_FULL_DEAD_OLDEST, 0, \
      0)                                                                                           \
    X(DEDUP, 15, dedup, PAWL_DEDUP_WINDOW, PAWL_DEDUP_OFF, PAWL_DEDUP_BOTH, 0, 0)                  \
    X(DEDUP_WINDOW, 16, dedup_window, 10 * SETTING_MINUTE, 1, SETTING_SPAN_MAX, 0, 0)              \
    X(DEDUP_KEYS, 17, dedup_keys, 1000000, 1, INT64_MAX, 0, 0)                                     \
    X(ON_MISMATCH, 18, on_mismatch, PAWL_ON_MISMATCH_REFUSE, PAWL_ON_MISMATCH_REFUSE,              \
      PAWL_ON_MISMATCH_ACCEPT, 0, 0)                                                               \
    X(LEDGER_RETENTION, 19, ledger_retention, 7 * SETTING_DAY, 1, SETTING_SPAN_MAX, 1, 0)          \
    X(LEDGER_KEYS, 20, ledger_keys, 1000000, 1, INT64_MAX, 1, 0)                                   \
    X(ORDERING_ON_DEAD, 21, ordering_on_dead, PAWL_ORDERING_BLOCK, PAWL_ORDERING_BLOCK,            \
      PAWL_ORDERING_DEAD_REST, 1, 0)                                                               \
    X(DEAD_RETENTION, 22, dead_retention, SETTING_OFF, 1, SETTING_SPAN_MAX, 1, 1)                  \
    X(PAUSE_ON_DEAD_COUNT, 23, pause_on_dead_count, SETTING_OFF, 0, UINT32_MAX, 1, 1)              \
    X(PAUSE_ON_DEAD_PERIOD, 24, pause_on_dead_period, SETTING_OFF, 1, SETTING_SPAN_MAX, 1, 1)      \
    X(MAX_DEAD_BYTES, 25, max_dead_bytes, SETTING_OFF, 0, INT64_MAX, 0, 1)                         \
    X(RETAIN_ACKED, 26, retain_acked, SETTING_OFF, 1, SETTING_SPAN_MAX, 0, 1)                      \
    X(COMPRESSION, 27, compression, PAWL_COMPRESSION_AUTO, 0, PAWL_COMPRESSION_AUTO, 0, 0)

enum setting {
#define X(upper, number, name, usual, least, most, group, off) SETTING_##upper = (number),
    SETTING_MAP(X)
#undef X
        SETTING_LIMIT /* numbers are below it */
};

struct policy {
    int64_t values[SETTING_LIMIT]; /* by number; 0 is not used */
};

struct setting_rule {
    const char *name; /* as in pawl_policy, without its unit */
    int64_t usual, least, most;
    bool is_of_group, may_be_off;
};

/* NULL: no setting has that number. */
const struct setting_rule *setting_rule(uint64_t number);

/* Every setting at its default; every setting inherited. */
void policy_init(struct policy *ret_policy);
void policy_init_override(struct policy *ret_policy);

/* Is the value one that the setting may have, of a group or of a queue? PAWL_INVALID names the
 * setting and its range. */
pawl_status policy_check(enum setting setting, int64_t value, bool of_group, pawl_error *error);

/* What counts for a group: its own value, or the queue's. */
int64_t policy_value(const struct policy *queue, const struct policy *group, enum setting setting);

/* As rows of an event: those of a queue that are not the default, those of a group that are not
 * inherited. POLICY_ROWS_BYTES_MAX is room enough. */
enum { POLICY_ROWS_BYTES_MAX = SETTING_LIMIT * EVENT_ROW_BYTES_MAX(2) };
void policy_write(const struct policy *policy, bool of_group, struct event_list *list);

/* The other way: `policy` is set up by one of the two above before. Rows with numbers that are not
 * known are passed over. */
void policy_read(struct policy *policy, const struct event_items *rows);

/* How long a message waits after its failure number `failures`, from 1, in microseconds: the least
 * pause times the factor for each failure before, at most the greatest, and up or down by a share
 * of up to the jitter; `chance` is a random number. */
uint64_t policy_backoff_us(const struct policy *queue, const struct policy *group,
                           uint32_t failures, uint64_t chance);

#endif

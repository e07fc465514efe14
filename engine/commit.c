#include "commit.h"

/* Half a sync of a fast disk: what is gained is a whole one for each thread that makes it in time.
 */
static const uint64_t gather_ns_max = 100 * 1000;

enum commit_move commit_next(const struct commit_facts *facts) {
    if (facts->durable_lsn >= facts->wanted_lsn)
        return COMMIT_DONE;
    if (facts->is_failed)
        return COMMIT_FAILED;
    if (facts->is_interrupted)
        return COMMIT_INTERRUPTED;
    if (facts->is_past_deadline)
        return COMMIT_LATE;
    if (!facts->has_leader)
        return COMMIT_LEAD;
    return facts->leader_is_dead ? COMMIT_TAKE_OVER : COMMIT_WAIT;
}

bool commit_should_gather(uint64_t arrived, uint64_t expected, uint64_t waited_ns) {
    return arrived < expected && waited_ns < gather_ns_max;
}

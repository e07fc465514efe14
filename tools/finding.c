#include "finding.h"

#include "os_posix.h"

#include <inttypes.h>

int finding_run(const struct invocation *invocation,
                int (*look)(struct os *os, const struct invocation *invocation)) {
    struct os *os;
    if (os_posix_create(&os) != 0)
        return output_status(invocation->command->name, PAWL_NO_MEMORY, NULL);
    const int code = look(os, invocation);
    os_posix_destroy(os);
    return code;
}

void findings_add(struct findings *findings, const struct walk_finding *finding) {
    if (findings->count[finding->kind]++ == 0)
        findings->first[finding->kind] = *finding;
}

int findings_conclude(const struct invocation *invocation, const struct findings *findings,
                      const char *advice) {
    const char *what = invocation->command->name;
    const struct walk_finding *damage = &findings->first[WALK_DAMAGE];
    const struct walk_finding *unread = &findings->first[WALK_UNREAD];
    if (findings->count[WALK_DAMAGE] > 0) {
        output_failure(what,
                       "the store is damaged: %" PRIu64
                       " places, the first in %s at offset %" PRIu64 "%s",
                       findings->count[WALK_DAMAGE], damage->file, damage->offset, advice);
        return EXIT_DAMAGED;
    }
    if (findings->count[WALK_UNREAD] == 0)
        return EXIT_DONE;
    output_failure(
        what, "%" PRIu64 " places could not be read, the first in %s at offset %" PRIu64 ": %s",
        findings->count[WALK_UNREAD], unread->file, unread->offset, unread->what);
    return EXIT_FAILED;
}

void finding_set(json_t *object, const struct walk_finding *finding) {
    if (finding->ordinal != 0)
        output_set_number(object, "segment", finding->ordinal);
    output_set_text(object, "file", finding->file);
    output_set_number(object, "offset", finding->offset);
    if (finding->lsn != 0)
        output_set_number(object, "lsn", finding->lsn);
    output_set_text(object, "what", finding->what);
}

/* finding: what the commands that look at a store without opening it do alike: how they begin, how
 * a finding is shown, and the one line and the exit code that tell the worst of them.
 */
#ifndef PAWL_TOOLS_FINDING_H
#define PAWL_TOOLS_FINDING_H

#include "command.h"
#include "output.h"

#include "verify.h"

/* How many there are of each kind, and the first of them. */
struct findings {
    uint64_t count[WALK_KIND_COUNT];
    struct walk_finding first[WALK_KIND_COUNT];
};

/* Runs `look` on an os of its own; gives the exit code. */
int finding_run(const struct invocation *invocation,
                int (*look)(struct os *os, const struct invocation *invocation));

void findings_add(struct findings *findings, const struct walk_finding *finding);

/* Tells the worst in one line on standard error, with `advice` behind damage; gives the exit code,
 * which is EXIT_DONE when nothing but notes was found. */
int findings_conclude(const struct invocation *invocation, const struct findings *findings,
                      const char *advice);

/* Where and what, as members of an object; what is there already keeps its place. */
void finding_set(json_t *object, const struct walk_finding *finding);

#endif

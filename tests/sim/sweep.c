/* sweep: runs the sweeps; the last line counts them, and says so if one trial in them failed.
 *
 *     sweep [--every N]     of the trials that are many and alike, only each N-th: for slow builds
 */
#include "sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **arguments) {
    static const struct {
        const char *name;
        void (*run)(struct sweep_report *report);
    } sweeps[] = {{"errors", sweep_errors},
                  {"damage", sweep_damage},
                  {"heirs", sweep_heirs},
                  {"recovery", sweep_recovery}};
    int passed = 0, failed = 0;
    uint64_t every = 1;
    if (count == 3 && strcmp(arguments[1], "--every") == 0)
        every = strtoull(arguments[2], NULL, 10);
    if (every == 0 || (count != 1 && count != 3)) {
        fprintf(stderr, "usage: sweep [--every N]\n");
        return 2;
    }
    for (size_t i = 0; i < sizeof sweeps / sizeof sweeps[0]; i++) {
        struct sweep_report report = {.every = every};
        sweeps[i].run(&report);
        printf("%s: %llu trials, %llu failed\n", sweeps[i].name, (unsigned long long)report.tried,
               (unsigned long long)report.failed);
        if (report.failed == 0 && report.tried > 0)
            passed++;
        else
            failed++;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}

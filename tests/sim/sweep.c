/* sweep: runs the sweeps; the last line counts them, and says so if one trial in them failed.
 *
 *     sweep [--every N]     of the trials that are many and alike, only each N-th: for slow builds
 */
#include "sweep.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A trial takes and gives back a few large pieces. Given back to the system each time, they would
 * cost more than the trial. */
static void keep_memory(void) {
#ifdef __GLIBC__
    (void)mallopt(M_MMAP_THRESHOLD, 32 << 20);
    (void)mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}

int main(int count, char **arguments) {
    static const struct {
        const char *name;
        void (*run)(struct sweep_report *report);
    } sweeps[] = {{"errors", sweep_errors},
                  {"damage", sweep_damage},
                  {"heirs", sweep_heirs},
                  {"recovery", sweep_recovery}};
    int passed = 0, failed = 0;
    keep_memory();
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

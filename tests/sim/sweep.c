/* sweep: runs the sweeps; the last line counts them, and says so if one trial in them failed. */
#include "sweep.h"

#include <stdio.h>

int main(void) {
    static const struct {
        const char *name;
        void (*run)(struct sweep_report *report);
    } sweeps[] = {{"errors", sweep_errors}, {"damage", sweep_damage}};
    int passed = 0, failed = 0;
    for (size_t i = 0; i < sizeof sweeps / sizeof sweeps[0]; i++) {
        struct sweep_report report = {0};
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

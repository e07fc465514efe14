/* crash: tests of the log with real processes on a real file system, which are killed and stopped.
 *
 *     crash [--rounds N] [--seed S] [--keep] [TEST...]
 *
 * They find what a simulated machine can't: what the kernel really does with locks, futexes,
 * mappings and descriptors of the dead. The page cache survives them, so what a power cut takes is
 * for the simulator. Each test prints one line of what it did.
 */
#ifndef PAWL_CRASH_CRASH_H
#define PAWL_CRASH_CRASH_H

#include <stdbool.h>
#include <stdint.h>

struct crash_options {
    unsigned rounds; /* how often what is left to chance is repeated */
    uint64_t seed;
    bool keeps;       /* leave the store of a test that fails */
    const char *self; /* the program's file */
};

enum crash_result {
    CRASH_PASSED,
    CRASH_FAILED,
    CRASH_SKIPPED, /* the machine does not allow it; the test has said why */
};

enum crash_result crash_kill(const struct crash_options *options);
enum crash_result crash_stop(const struct crash_options *options);
enum crash_result crash_open(const struct crash_options *options);
enum crash_result crash_fork(const struct crash_options *options);
enum crash_result crash_disk(const struct crash_options *options);
enum crash_result crash_sync(const struct crash_options *options);
enum crash_result crash_strace(const struct crash_options *options);

/* What crash_strace() has strace run: an actor. Does not return. */
int crash_traced_main(const char *path, const char *process, const char *orders,
                      const char *reports);

/* On a clock that does not jump. */
uint64_t crash_nanoseconds(void);
uint64_t crash_seconds(void);

#endif

#include "crash.h"

#include "players.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct {
    const char *name;
    enum crash_result (*run)(const struct crash_options *options);
} tests[] = {
    {"stop", crash_stop}, {"fork", crash_fork}, {"disk", crash_disk},     {"sync", crash_sync},
    {"open", crash_open}, {"kill", crash_kill}, {"strace", crash_strace},
};

enum { TESTS = sizeof tests / sizeof tests[0] };

uint64_t crash_nanoseconds(void) {
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* Linux always has this clock */
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

uint64_t crash_seconds(void) {
    return crash_nanoseconds() / 1000000000U;
}

static int usage(void) {
    fprintf(stderr, "usage: crash [--rounds N] [--seed S] [--keep] [TEST...]\ntests:");
    for (size_t i = 0; i < TESTS; i++)
        fprintf(stderr, " %s", tests[i].name);
    fprintf(stderr, "\n");
    return 2;
}

static bool parse_number(const char *text, uint64_t *ret_number) {
    char *end;
    errno = 0;
    const unsigned long long number = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || text[0] == '-')
        return false;
    *ret_number = number;
    return true;
}

/* Returns how many arguments were options; 0: they were wrong. */
static int parse_options(int count, char **arguments, struct crash_options *options) {
    int at = 1;
    for (; at < count && strncmp(arguments[at], "--", 2) == 0; at++) {
        uint64_t number;
        if (strcmp(arguments[at], "--keep") == 0) {
            options->keeps = true;
            continue;
        }
        if (at + 1 >= count || !parse_number(arguments[at + 1], &number))
            return 0;
        if (strcmp(arguments[at], "--seed") == 0)
            options->seed = number;
        else if (strcmp(arguments[at], "--rounds") == 0 && number <= UINT32_MAX)
            options->rounds = (unsigned)number;
        else
            return 0;
        at++;
    }
    return at;
}

static bool is_named(const char *name, int count, char **names) {
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return count == 0;
}

int main(int count, char **arguments) {
    struct crash_options options = {.rounds = 30, .seed = 1, .self = arguments[0]};
    unsigned counts[3] = {0};
    if (count == 6 && strcmp(arguments[1], "--traced") == 0)
        return crash_traced_main(arguments[2], arguments[3], arguments[4], arguments[5]);
    const int first = parse_options(count, arguments, &options);
    if (first == 0)
        return usage();
    (void)signal(SIGPIPE, SIG_IGN); /* a write to a dead player fails instead */
    for (size_t i = 0; i < TESTS; i++) {
        if (!is_named(tests[i].name, count - first, arguments + first))
            continue;
        wrong_set_name("%s", tests[i].name);
        counts[tests[i].run(&options)]++;
        players_kill_all();
        (void)fflush(stdout);
    }
    if (counts[CRASH_SKIPPED] != 0)
        printf("%u skipped\n", counts[CRASH_SKIPPED]);
    printf("%u passed, %u failed\n", counts[CRASH_PASSED], counts[CRASH_FAILED]);
    return counts[CRASH_FAILED] == 0 && counts[CRASH_PASSED] + counts[CRASH_SKIPPED] > 0 ? 0 : 1;
}

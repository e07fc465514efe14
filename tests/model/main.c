/* model: runs the state against the model.
 *
 *     model [--steps N] [--seed S]   so many steps, a new store each RUN_STEPS
 *     model --canary                 planted faults, each of which must be found
 */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RUN_STEPS = 2048, NONSENSE_STEPS = 512, CANARY_SEEDS = 20 };

struct totals {
    uint64_t steps, events, wrong, refused, nonsense;
    uint64_t done[GENERATOR_OPERATION_COUNT];
    uint64_t failed;
};

static void totals_count(struct totals *totals, const char *what, uint64_t seed,
                         const struct run_report *report) {
    const bool is_well = report->complaint[0] == '\0';
    totals->failed += !is_well;
    if (!is_well)
        printf("%s, seed %llu: %s\n", what, (unsigned long long)seed, report->complaint);
}

static void run_seed(uint64_t seed, uint64_t steps, struct totals *totals) {
    struct run_report report;
    run_model(seed, steps < RUN_STEPS ? steps : RUN_STEPS, CANARY_NONE, &report);
    totals_count(totals, "model", seed, &report);
    totals->steps += report.steps;
    totals->events += report.events;
    for (unsigned i = 0; i < GENERATOR_OPERATION_COUNT; i++)
        totals->done[i] += report.done[i];
    run_nonsense(seed, NONSENSE_STEPS, &report);
    totals_count(totals, "nonsense", seed, &report);
    totals->wrong += report.steps;
    totals->refused += report.refused;
    totals->nonsense += report.nonsense;
}

static int run_steps(uint64_t seed, uint64_t steps) {
    struct totals totals = {0};
    struct timespec began, ended;
    clock_gettime(CLOCK_MONOTONIC, &began);
    for (; totals.steps < steps && totals.failed == 0; seed++)
        run_seed(seed, steps - totals.steps, &totals);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    const double seconds =
        (double)(ended.tv_sec - began.tv_sec) + (double)(ended.tv_nsec - began.tv_nsec) / 1e9;
    for (unsigned i = 0; i < GENERATOR_OPERATION_COUNT; i++)
        printf("  %-16s %llu\n", generator_operation_name(i), (unsigned long long)totals.done[i]);
    printf("steps %llu, operations %llu; wrong frames %llu, refused %llu, nonsense %llu; %.1f s\n",
           (unsigned long long)totals.steps, (unsigned long long)totals.events,
           (unsigned long long)totals.wrong, (unsigned long long)totals.refused,
           (unsigned long long)totals.nonsense, seconds);
    puts(totals.failed == 0 ? "1 passed, 0 failed" : "0 passed, 1 failed");
    return totals.failed == 0 ? 0 : 1;
}

static int run_canaries(void) {
    unsigned passed = 0, failed = 0;
    for (unsigned canary = CANARY_NONE + 1; canary < CANARY_COUNT; canary++) {
        struct run_report report = {0};
        for (uint64_t seed = 1; seed <= CANARY_SEEDS && report.complaint[0] == '\0'; seed++)
            run_model(seed, RUN_STEPS, (enum canary)canary, &report);
        const bool is_found = report.complaint[0] != '\0';
        printf("canary %u: %s\n", canary, is_found ? report.complaint : "not found");
        passed += is_found;
        failed += !is_found;
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}

/* The number that `text` is; 0: it is none. */
static uint64_t number_of(const char *text) {
    char *end;
    const unsigned long long number = strtoull(text, &end, 10);
    return *text == '\0' || *end != '\0' ? 0 : number;
}

int main(int count, char **arguments) {
    uint64_t steps = 0, seed = 1;
    if (count == 2 && strcmp(arguments[1], "--canary") == 0)
        return run_canaries();
    for (int i = 1; i < count; i += 2) {
        uint64_t *value = NULL;
        if (strcmp(arguments[i], "--steps") == 0)
            value = &steps;
        else if (strcmp(arguments[i], "--seed") == 0)
            value = &seed;
        if (value == NULL || i + 1 == count || (*value = number_of(arguments[i + 1])) == 0) {
            fprintf(stderr, "usage: model [--steps N] [--seed S] | --canary\n");
            return 2;
        }
    }
    return run_steps(seed, steps == 0 ? RUN_STEPS : steps);
}

/* sim: runs seeds of the workload.
 *
 *     sim --seeds N [--from S]     that many seeds, on both processors; the last line counts
 *     sim --seed S                 one, with its last calls when it fails
 *     sim --canary                 a planted fault that must be found
 */
#define _GNU_SOURCE
#include "workload.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 2 };

struct totals {
    uint64_t seeds, failed, calls, frames, openings, recoveries;
    uint64_t faults[FAULT_COUNT];
    uint64_t rows[RECOVERY_ROW_COUNT];
};

static void totals_add(struct totals *totals, const struct workload_report *report) {
    totals->seeds++;
    totals->failed += report->complaint[0] != '\0';
    totals->calls += report->calls;
    totals->frames += report->frames;
    totals->openings += report->openings;
    totals->recoveries += report->recoveries;
    for (int i = 0; i < FAULT_COUNT; i++)
        totals->faults[i] += report->faults[i];
    for (int i = 0; i < RECOVERY_ROW_COUNT; i++)
        totals->rows[i] += report->rows[i];
}

static void totals_join(struct totals *totals, const struct totals *other) {
    totals->seeds += other->seeds;
    totals->failed += other->failed;
    totals->calls += other->calls;
    totals->frames += other->frames;
    totals->openings += other->openings;
    totals->recoveries += other->recoveries;
    for (int i = 0; i < FAULT_COUNT; i++)
        totals->faults[i] += other->faults[i];
    for (int i = 0; i < RECOVERY_ROW_COUNT; i++)
        totals->rows[i] += other->rows[i];
}

static void totals_print(const struct totals *totals, double seconds) {
    printf("seeds %llu, calls %llu, frames %llu, openings %llu, recoveries %llu, %.1f s\n",
           (unsigned long long)totals->seeds, (unsigned long long)totals->calls,
           (unsigned long long)totals->frames, (unsigned long long)totals->openings,
           (unsigned long long)totals->recoveries, seconds);
    for (int i = 0; i < FAULT_COUNT; i++)
        printf("  %-20s %llu\n", fault_name((enum fault)i), (unsigned long long)totals->faults[i]);
    for (int i = 0; i < RECOVERY_ROW_COUNT; i++)
        printf("  row %-16s %llu\n", recovery_row_name((enum recovery_row)i),
               (unsigned long long)totals->rows[i]);
}

static bool run_seed(uint64_t seed, FILE *trace, struct workload_report *report) {
    workload_run(seed, WORKLOAD_HONEST, trace, report);
    if (report->complaint[0] == '\0')
        return true;
    printf("seed %llu: %s\n", (unsigned long long)seed, report->complaint);
    fflush(stdout);
    return false;
}

/* Every WORKERS-th seed, until one of them has failed. */
static void worker(uint64_t from, uint64_t seeds, int index, struct totals *totals,
                   _Atomic int *has_failed) {
    for (uint64_t i = (uint64_t)index; i < seeds && *has_failed == 0; i += WORKERS) {
        struct workload_report report;
        if (!run_seed(from + i, NULL, &report))
            *has_failed = 1;
        totals_add(totals, &report);
    }
}

static int run_seeds(uint64_t from, uint64_t seeds) {
    struct board {
        struct totals totals[WORKERS];
        _Atomic int has_failed;
    } *board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED)
        return 1;
    struct timespec began, ended;
    clock_gettime(CLOCK_MONOTONIC, &began);
    pid_t pids[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            worker(from, seeds, i, &board->totals[i], &board->has_failed);
            _exit(0);
        }
    }
    bool is_well = true;
    struct totals totals = {0};
    for (int i = 0; i < WORKERS; i++) {
        int status = 1;
        waitpid(pids[i], &status, 0);
        is_well &= status == 0;
        totals_join(&totals, &board->totals[i]);
    }
    clock_gettime(CLOCK_MONOTONIC, &ended);
    totals_print(&totals, (double)(ended.tv_sec - began.tv_sec) +
                              (double)(ended.tv_nsec - began.tv_nsec) / 1e9);
    is_well &= totals.failed == 0 && totals.seeds == seeds;
    printf("%d passed, %d failed\n", is_well, !is_well);
    return is_well ? 0 : 1;
}

static int run_canary(void) {
    struct workload_report report;
    workload_run(1, WORKLOAD_CANARY, NULL, &report);
    const bool is_found = report.complaint[0] != '\0';
    printf("canary: %s\n", is_found ? report.complaint : "not found");
    printf("%d passed, %d failed\n", is_found, !is_found);
    return is_found ? 0 : 1;
}

int main(int count, char **arguments) {
    uint64_t seeds = 0, from = 1;
    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], "--canary") == 0)
            return run_canary();
        if (i + 1 == count)
            break;
        const uint64_t value = strtoull(arguments[i + 1], NULL, 10);
        if (strcmp(arguments[i], "--seed") == 0) {
            struct workload_report report;
            const bool is_well = run_seed(value, stdout, &report);
            printf("calls %llu, hash %016llx\n%d passed, %d failed\n",
                   (unsigned long long)report.calls, (unsigned long long)report.hash, is_well,
                   !is_well);
            return is_well ? 0 : 1;
        }
        if (strcmp(arguments[i], "--seeds") == 0)
            seeds = value;
        if (strcmp(arguments[i], "--from") == 0)
            from = value;
    }
    if (seeds == 0) {
        fprintf(stderr, "usage: sim --seeds N [--from S] | --seed S | --canary\n");
        return 2;
    }
    return run_seeds(from, seeds);
}

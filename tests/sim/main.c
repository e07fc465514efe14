/* sim: runs seeds of the workload; seeds.h has the command line. */
#include "seeds.h"
#include "workload.h"

struct totals {
    uint64_t calls, frames, openings, recoveries;
    uint64_t faults[FAULT_COUNT];
    uint64_t rows[RECOVERY_ROW_COUNT];
};

static void totals_join(void *context, const void *more) {
    struct totals *totals = context;
    const struct totals *other = more;
    totals->calls += other->calls;
    totals->frames += other->frames;
    totals->openings += other->openings;
    totals->recoveries += other->recoveries;
    for (int i = 0; i < FAULT_COUNT; i++)
        totals->faults[i] += other->faults[i];
    for (int i = 0; i < RECOVERY_ROW_COUNT; i++)
        totals->rows[i] += other->rows[i];
}

static void totals_add(struct totals *totals, const struct workload_report *report) {
    struct totals one = {
        .calls = report->calls,
        .frames = report->frames,
        .openings = report->openings,
        .recoveries = report->recoveries,
    };
    for (int i = 0; i < FAULT_COUNT; i++)
        one.faults[i] = report->faults[i];
    for (int i = 0; i < RECOVERY_ROW_COUNT; i++)
        one.rows[i] = report->rows[i];
    totals_join(totals, &one);
}

static void totals_print(const void *context, double seconds) {
    const struct totals *totals = context;
    printf("calls %llu, frames %llu, openings %llu, recoveries %llu, %.1f s\n",
           (unsigned long long)totals->calls, (unsigned long long)totals->frames,
           (unsigned long long)totals->openings, (unsigned long long)totals->recoveries, seconds);
    for (int i = 0; i < FAULT_COUNT; i++)
        printf("  %-20s %llu\n", fault_name((enum fault)i), (unsigned long long)totals->faults[i]);
    for (int i = 0; i < RECOVERY_ROW_COUNT; i++)
        printf("  row %-16s %llu\n", recovery_row_name((enum recovery_row)i),
               (unsigned long long)totals->rows[i]);
}

static bool run_seed(uint64_t seed, FILE *trace, void *totals) {
    struct workload_report report;
    workload_run(seed, WORKLOAD_HONEST, trace, &report);
    totals_add(totals, &report);
    const bool is_well = report.complaint[0] == '\0';
    if (!is_well)
        printf("seed %llu: %s\n", (unsigned long long)seed, report.complaint);
    if (trace != NULL)
        printf("calls %llu, hash %016llx\n", (unsigned long long)report.calls,
               (unsigned long long)report.hash);
    return is_well;
}

static bool run_canary(unsigned canary) {
    (void)canary;
    struct workload_report report;
    workload_run(1, WORKLOAD_CANARY, NULL, &report);
    const bool is_found = report.complaint[0] != '\0';
    printf("canary: %s\n", is_found ? report.complaint : "not found");
    return is_found;
}

int main(int count, char **arguments) {
    static const struct seeds_program program = {
        .name = "sim",
        .totals_bytes = sizeof(struct totals),
        .run = run_seed,
        .join = totals_join,
        .print = totals_print,
        .run_canary = run_canary,
        .canaries = 1,
    };
    return seeds_main(&program, count, arguments);
}

/* fleet: runs seeds of it; seeds.h has the command line. */
#include "fleet.h"
#include "seeds.h"

enum { CANARY_SEEDS = 1000 };

struct totals {
    uint64_t calls, frames, lost, openings, recoveries, compared, adopted, given_up;
    uint64_t faults[FAULT_COUNT];
};

static void totals_join(void *context, const void *more) {
    struct totals *totals = context;
    const struct totals *other = more;
    totals->calls += other->calls;
    totals->frames += other->frames;
    totals->lost += other->lost;
    totals->openings += other->openings;
    totals->recoveries += other->recoveries;
    totals->compared += other->compared;
    totals->adopted += other->adopted;
    totals->given_up += other->given_up;
    for (int i = 0; i < FAULT_COUNT; i++)
        totals->faults[i] += other->faults[i];
}

static void totals_add(struct totals *totals, const struct fleet_report *report) {
    struct totals one = {
        .calls = report->calls,
        .frames = report->frames,
        .lost = report->lost,
        .openings = report->openings,
        .recoveries = report->recoveries,
        .compared = report->compared,
        .adopted = report->adopted,
        .given_up = report->given_up,
    };
    for (int i = 0; i < FAULT_COUNT; i++)
        one.faults[i] = report->faults[i];
    totals_join(totals, &one);
}

static void totals_print(const void *context, double seconds) {
    const struct totals *totals = context;
    printf("calls %llu, frames %llu and %llu lost, openings %llu, recoveries %llu, compared %llu, "
           "of the dead adopted %llu and given up %llu, %.1f s\n",
           (unsigned long long)totals->calls, (unsigned long long)totals->frames,
           (unsigned long long)totals->lost, (unsigned long long)totals->openings,
           (unsigned long long)totals->recoveries, (unsigned long long)totals->compared,
           (unsigned long long)totals->adopted, (unsigned long long)totals->given_up, seconds);
    for (int i = 0; i < FAULT_COUNT; i++)
        printf("  %-20s %llu\n", fault_name((enum fault)i), (unsigned long long)totals->faults[i]);
}

static bool run_seed(uint64_t seed, FILE *trace, void *totals) {
    struct fleet_report report;
    fleet_run(seed, CANARY_NONE, trace, &report);
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
    struct fleet_report report = {0};
    for (uint64_t seed = 1; seed <= CANARY_SEEDS && report.complaint[0] == '\0'; seed++)
        fleet_run(seed, (enum canary)(canary + 1), NULL, &report);
    const bool is_found = report.complaint[0] != '\0';
    printf("canary %u: %s\n", canary + 1, is_found ? report.complaint : "not found");
    return is_found;
}

int main(int count, char **arguments) {
    static const struct seeds_program program = {
        .name = "fleet",
        .totals_bytes = sizeof(struct totals),
        .run = run_seed,
        .join = totals_join,
        .print = totals_print,
        .run_canary = run_canary,
        .canaries = CANARY_COUNT - 1,
    };
    return seeds_main(&program, count, arguments);
}

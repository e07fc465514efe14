#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace.h"
#include "workload.h"

/* One that meets kills and more than one recovery. */
enum { SEEDS = 12 };

static uint64_t hash_of(uint64_t seed) {
    struct workload_report report;
    workload_run(seed, WORKLOAD_HONEST, NULL, &report);
    return report.hash;
}

Test(sim_trace, a_seed_does_the_same_again) {
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const uint64_t hash = hash_of(seed);
        cr_assert_eq(hash_of(seed), hash);
        cr_assert_neq(hash_of(seed + 1), hash);
    }
}

/* Other addresses, another environment: what a child has after it has shifted its heap. */
static uint64_t hash_in_child(uint64_t seed) {
    int pipe_ends[2];
    cr_assert_eq(pipe(pipe_ends), 0);
    const pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        void *shift = malloc(1000000 + seed * 4096);
        const uint64_t hash = hash_of(seed);
        free(shift);
        _exit(write(pipe_ends[1], &hash, sizeof hash) == sizeof hash ? 0 : 1);
    }
    uint64_t hash = 0;
    (void)close(pipe_ends[1]);
    cr_assert_eq(read(pipe_ends[0], &hash, sizeof hash), (ssize_t)sizeof hash);
    (void)close(pipe_ends[0]);
    int status = 1;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0);
    return hash;
}

Test(sim_trace, a_seed_does_the_same_in_another_process) {
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        cr_assert_eq(hash_in_child(seed), hash_of(seed));
}

static void note(struct trace *trace, unsigned what, const char *file, uint64_t offset) {
    struct trace_entry *entry = trace_begin(trace);
    *entry = (struct trace_entry){.at_ns = 1500000000,
                                  .offset = offset,
                                  .bytes = 10,
                                  .what = what,
                                  .process = 2,
                                  .thread = 1,
                                  .result = 0};
    (void)snprintf(entry->file, sizeof entry->file, "%s", file);
    trace_end(trace);
}

Test(sim_trace, every_part_of_a_call_changes_the_hash) {
    static struct trace one, other;
    note(&one, CALL_FILE_READ, "a", 0);
    note(&other, CALL_FILE_READ, "a", 0);
    cr_assert_eq(one.hash, other.hash);
    note(&one, CALL_FILE_READ, "a", 0);
    note(&other, CALL_FILE_WRITE, "a", 0);
    cr_assert_neq(one.hash, other.hash);
    other = one;
    note(&one, CALL_FILE_READ, "a", 1);
    note(&other, CALL_FILE_READ, "a", 2);
    cr_assert_neq(one.hash, other.hash);
    other = one;
    note(&one, CALL_FILE_READ, "a", 1);
    note(&other, CALL_FILE_READ, "b", 1);
    cr_assert_neq(one.hash, other.hash);
}

Test(sim_trace, the_last_calls_are_printed_oldest_first) {
    static struct trace trace;
    for (uint64_t i = 0; i < WORLD_TRACE; i++)
        note(&trace, CALL_FILE_READ, "old", i);
    note(&trace, CALL_FILE_WRITE, "a", 512);
    note(&trace, TRACE_KILLED, "", 0);
    static char text[WORLD_TRACE * 100];
    FILE *out = fmemopen(text, sizeof text, "w");
    cr_assert_not_null(out);
    trace_print(&trace, out);
    (void)fclose(out);
    cr_assert_null(strstr(text, "at 1, "), "the oldest are gone");
    cr_assert_eq(strstr(text, "at 2, 10 bytes") < strstr(text, "at 3, 10 bytes"), 1);
    const char *last = strstr(text, "    1.500000 p2.1  file_write  a");
    cr_assert_not_null(last);
    cr_assert_not_null(strstr(last, "* killed"));
}

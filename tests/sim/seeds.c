#define _GNU_SOURCE
#include "seeds.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 2 };

/* In memory that the workers share: its head, then the totals of each. */
struct board {
    _Atomic int has_failed;
    uint64_t done[WORKERS];
};

static void *totals_of(const struct seeds_program *program, struct board *board, int worker) {
    const size_t room = (program->totals_bytes + 63) / 64 * 64;
    return (char *)board + 4096 + room * (size_t)worker;
}

static struct board *board_make(const struct seeds_program *program) {
    const size_t bytes = 4096 + WORKERS * (program->totals_bytes + 64);
    void *board = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED)
        abort();
    return board;
}

/* Every WORKERS-th seed, until one of them has failed. */
static void work(const struct seeds_program *program, struct board *board, int worker,
                 uint64_t from, uint64_t seeds) {
    void *totals = totals_of(program, board, worker);
    for (uint64_t i = (uint64_t)worker; i < seeds && board->has_failed == 0; i += WORKERS) {
        if (program->run(from + i, NULL, totals))
            board->done[worker]++;
        else
            board->has_failed = 1;
        fflush(stdout);
    }
}

static int run_seeds(const struct seeds_program *program, uint64_t from, uint64_t seeds) {
    struct board *board = board_make(program);
    struct timespec began, ended;
    clock_gettime(CLOCK_MONOTONIC, &began);
    pid_t pids[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            work(program, board, i, from, seeds);
            _exit(0);
        }
    }
    bool is_well = true;
    uint64_t done = 0;
    for (int i = 0; i < WORKERS; i++) {
        int status = 1;
        waitpid(pids[i], &status, 0);
        is_well &= status == 0;
        done += board->done[i];
        if (i > 0)
            program->join(totals_of(program, board, 0), totals_of(program, board, i));
    }
    clock_gettime(CLOCK_MONOTONIC, &ended);
    printf("seeds %llu, ", (unsigned long long)done);
    program->print(totals_of(program, board, 0), (double)(ended.tv_sec - began.tv_sec) +
                                                     (double)(ended.tv_nsec - began.tv_nsec) / 1e9);
    is_well &= done == seeds;
    printf("%d passed, %d failed\n", is_well, !is_well);
    return is_well ? 0 : 1;
}

static int run_one(const struct seeds_program *program, uint64_t seed) {
    void *totals = totals_of(program, board_make(program), 0);
    const bool is_well = program->run(seed, stdout, totals);
    printf("%d passed, %d failed\n", is_well, !is_well);
    return is_well ? 0 : 1;
}

static int run_canaries(const struct seeds_program *program) {
    unsigned found = 0;
    for (unsigned canary = 0; canary < program->canaries; canary++)
        found += program->run_canary(canary);
    printf("%u passed, %u failed\n", found, program->canaries - found);
    return found == program->canaries ? 0 : 1;
}

int seeds_main(const struct seeds_program *program, int count, char **arguments) {
    uint64_t seeds = 0, from = 1;
    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], "--canary") == 0)
            return run_canaries(program);
        if (i + 1 == count)
            break;
        const uint64_t value = strtoull(arguments[i + 1], NULL, 10);
        if (strcmp(arguments[i], "--seed") == 0)
            return run_one(program, value);
        if (strcmp(arguments[i], "--seeds") == 0)
            seeds = value;
        if (strcmp(arguments[i], "--from") == 0)
            from = value;
    }
    if (seeds == 0) {
        fprintf(stderr, "usage: %s --seeds N [--from S] | --seed S | --canary\n", program->name);
        return 2;
    }
    return run_seeds(program, from, seeds);
}

/* What an append costs beside the bare floor of the same disk in the same run.
 *
 * Two sides take turns, a slice each, so that both meet the same weather; each pair of slices gives
 * one ratio of rates. Printed are the median of the ratios and the interval that holds it with 95 %
 * confidence (by ranks, which asks nothing of their distribution).
 *
 *     append [--pairs N] [--slice-ms N] [--only NAME] [--keep] DIRECTORY
 *
 * The floor: pwrite of as many bytes as the payload and a 16-byte head, into one file that was
 * filled with zeros before, and fdatasync after each where the append is durable.
 */
#define _GNU_SOURCE
#include "log.h"
#include "os_posix.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    PAYLOAD_BYTES = 256,
    FLOOR_HEAD_BYTES = 16,
    FLOOR_FILE_BYTES = 64 * 1024 * 1024,
    WORKERS_MAX = 16,
    PAIRS_MAX = 4096,
    STORE_BYTES_MAX = 512 * 1024 * 1024,
};

static void die(const char *what) {
    perror(what);
    exit(1);
}

static void check(pawl_status status, const pawl_error *error, const char *what) {
    if (status == PAWL_OK)
        return;
    fprintf(stderr, "append: %s: %s\n", what, error->sentence);
    exit(1);
}

static uint64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
}

/* ---- The floor ---- */

struct floor_file {
    int fd;
    off_t at;
};

static void floor_open(struct floor_file *file, const char *directory) {
    char path[4096];
    static const uint8_t zeros[4096];
    snprintf(path, sizeof path, "%s/floor", directory);
    file->fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file->fd < 0)
        die(path);
    for (off_t at = 0; at < FLOOR_FILE_BYTES; at += (off_t)sizeof zeros) {
        if (pwrite(file->fd, zeros, sizeof zeros, at) != (ssize_t)sizeof zeros)
            die("pwrite");
    }
    if (fsync(file->fd) != 0)
        die("fsync");
    unlink(path);
    file->at = 0;
}

static void floor_append(struct floor_file *file, bool is_durable) {
    static const uint8_t bytes[FLOOR_HEAD_BYTES + PAYLOAD_BYTES] = {1};
    if (file->at + (off_t)sizeof bytes > FLOOR_FILE_BYTES)
        file->at = 0;
    if (pwrite(file->fd, bytes, sizeof bytes, file->at) != (ssize_t)sizeof bytes)
        die("pwrite");
    if (is_durable && fdatasync(file->fd) != 0)
        die("fdatasync");
    file->at += (off_t)sizeof bytes;
}

/* ---- Ours ---- */

struct store {
    char path[4096];
    struct os *os;
    struct log *log;
    pthread_t upkeep;
    _Atomic bool is_closing;
};

static void *store_upkeep(void *context) {
    struct store *store = context;
    pawl_error error;
    while (!store->is_closing) {
        check(log_maintain(store->log, &error), &error, "log_maintain");
        const struct timespec pause = {.tv_nsec = 50 * 1000 * 1000};
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static void store_open(struct store *store, const char *directory) {
    const struct log_options options = {.busy_ns = 10000000000U, .create = true};
    struct log_opening opening;
    pawl_error error;
    snprintf(store->path, sizeof store->path, "%.4000s/store", directory);
    if (os_posix_create(&store->os) != 0)
        die("os_posix_create");
    check(log_open(store->os, store->path, &options, &store->log, &opening, &error), &error,
          "log_open");
    store->is_closing = false;
    if (pthread_create(&store->upkeep, NULL, store_upkeep, store) != 0)
        die("pthread_create");
}

static void store_close(struct store *store, bool is_removed) {
    pawl_error error;
    store->is_closing = true;
    pthread_join(store->upkeep, NULL);
    check(log_close(store->log, &error), &error, "log_close");
    os_posix_destroy(store->os);
    char command[4200];
    snprintf(command, sizeof command, "rm -rf '%.4000s'", store->path);
    if (is_removed && system(command) != 0)
        die("rm");
}

static void store_append(struct store *store, bool is_durable) {
    static const uint8_t payload[PAYLOAD_BYTES] = {1};
    static const uint8_t record[] = {16, 0, 0};
    const struct log_draft draft = {
        .metadata = record,
        .metadata_bytes = sizeof record,
        .payload = payload,
        .payload_bytes = sizeof payload,
        .record_count = 1,
        .flags = is_durable ? FRAME_NEEDS_SYNC : 0,
        .time_us = now_ns() / 1000,
    };
    uint64_t lsn, end_lsn;
    pawl_error error;
    const size_t size = frame_bytes(sizeof record, sizeof payload);
    check(log_lock(store->log, size, LOG_ORDINARY, OS_NO_DEADLINE, &error), &error, "log_lock");
    const pawl_status status = log_append(store->log, &draft, &lsn, &end_lsn, &error);
    log_unlock(store->log);
    check(status, &error, "log_append");
    if (is_durable)
        check(log_wait_durable(store->log, end_lsn, OS_NO_DEADLINE, &error), &error,
              "log_wait_durable");
}

/* ---- Sides ---- */

struct side {
    const char *name;
    bool is_floor;
    bool is_durable;
    unsigned threads;   /* of this process */
    unsigned processes; /* others, one thread each; 0 none */
};

struct workload {
    const char *name;
    struct side left, right;
    double bound; /* what the ratio of rates should reach */
};

static const struct workload workloads[] = {
    {"durable-1", {"ours", false, true, 1, 0}, {"floor", true, true, 1, 0}, 1 / 1.15},
    {"durable-16", {"16 threads", false, true, 16, 0}, {"1 thread", false, true, 1, 0}, 7},
    {"processes-4", {"4 processes", false, true, 0, 4}, {"1 thread", false, true, 1, 0}, 1},
    {"write-1", {"ours", false, false, 1, 0}, {"floor", true, false, 1, 0}, 0.5},
};

/* Work for `slice_ns` in each worker; the count of appends of all of them. */
struct slice {
    struct store *store;
    struct floor_file *floor;
    const struct side *side;
    uint64_t end_ns;
    _Atomic uint64_t *count;
};

static void *slice_work(void *context) {
    const struct slice *slice = context;
    uint64_t count = 0;
    do {
        for (int i = 0; i < (slice->side->is_durable ? 1 : 64); i++, count++) {
            if (slice->side->is_floor)
                floor_append(slice->floor, slice->side->is_durable);
            else
                store_append(slice->store, slice->side->is_durable);
        }
    } while (now_ns() < slice->end_ns);
    *slice->count += count;
    return NULL;
}

/* Helpers in processes of their own wait on a pipe for each slice. */
struct helpers {
    unsigned count;
    pid_t pids[WORKERS_MAX];
    int starts[WORKERS_MAX];
    void *memory;             /* shared between them */
    _Atomic uint64_t *counts; /* in it, one each; 0 while it works */
};

static void helper_main(int start, const char *directory, const struct side *side,
                        _Atomic uint64_t *count) {
    struct store store;
    uint64_t end_ns;
    store_open(&store, directory);
    while (read(start, &end_ns, sizeof end_ns) == (ssize_t)sizeof end_ns) {
        _Atomic uint64_t done = 0;
        struct slice slice = {&store, NULL, side, end_ns, &done};
        slice_work(&slice);
        *count = done;
    }
    store_close(&store, false);
    _exit(0);
}

static void helpers_start(struct helpers *helpers, unsigned count, const char *directory,
                          const struct side *side) {
    helpers->count = count;
    helpers->memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (helpers->memory == MAP_FAILED)
        die("mmap");
    helpers->counts = helpers->memory;
    for (unsigned i = 0; i < count; i++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0)
            die("pipe");
        helpers->pids[i] = fork();
        if (helpers->pids[i] == 0) {
            close(ends[1]);
            for (unsigned j = 0; j < i; j++)
                close(helpers->starts[j]);
            helper_main(ends[0], directory, side, &helpers->counts[i]);
        }
        close(ends[0]);
        helpers->starts[i] = ends[1];
    }
}

static uint64_t helpers_slice(struct helpers *helpers, uint64_t end_ns) {
    uint64_t count = 0;
    for (unsigned i = 0; i < helpers->count; i++) {
        helpers->counts[i] = 0;
        if (write(helpers->starts[i], &end_ns, sizeof end_ns) != (ssize_t)sizeof end_ns)
            die("write");
    }
    for (unsigned i = 0; i < helpers->count; i++) {
        while (helpers->counts[i] == 0)
            sched_yield();
        count += helpers->counts[i];
    }
    return count;
}

static void helpers_stop(struct helpers *helpers) {
    for (unsigned i = 0; i < helpers->count; i++) {
        close(helpers->starts[i]);
        waitpid(helpers->pids[i], NULL, 0);
    }
    if (helpers->memory != NULL)
        munmap(helpers->memory, 4096);
}

/* Appends a second on this side. */
static double slice_rate(struct store *store, struct floor_file *file, struct helpers *helpers,
                         const struct side *side, uint64_t slice_ns) {
    const uint64_t began = now_ns();
    _Atomic uint64_t count = 0;
    struct slice slice = {store, file, side, began + slice_ns, &count};
    pthread_t threads[WORKERS_MAX];
    if (side->processes > 0)
        count = helpers_slice(helpers, slice.end_ns);
    for (unsigned i = 0; i < side->threads; i++) {
        if (pthread_create(&threads[i], NULL, slice_work, &slice) != 0)
            die("pthread_create");
    }
    for (unsigned i = 0; i < side->threads; i++)
        pthread_join(threads[i], NULL);
    return (double)count * 1e9 / (double)(now_ns() - began);
}

static int compare(const void *left, const void *right) {
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(double *values, size_t count) {
    qsort(values, count, sizeof *values, compare);
    return values[count / 2];
}

/* Half the width, in ranks, of the 95 % interval of a median of `count` values. */
static size_t rank_reach(size_t count) {
    size_t reach = 0;
    while (reach * reach < count) /* 0.98 * sqrt(count), rounded up */
        reach++;
    return reach < count / 2 ? reach : count / 2;
}

static bool run(const struct workload *workload, const char *directory, size_t pairs,
                uint64_t slice_ns, bool is_kept) {
    static double left[PAIRS_MAX], right[PAIRS_MAX], ratios[PAIRS_MAX];
    struct floor_file file;
    struct helpers helpers = {0};
    struct store store;
    floor_open(&file, directory);
    if (workload->left.processes > 0)
        helpers_start(&helpers, workload->left.processes, directory, &workload->left);
    store_open(&store, directory);
    for (size_t i = 0; i < pairs; i++) {
        left[i] = slice_rate(&store, &file, &helpers, &workload->left, slice_ns);
        right[i] = slice_rate(&store, &file, &helpers, &workload->right, slice_ns);
        ratios[i] = left[i] / right[i];
        if (helpers.count == 0 && log_tail(store.log) > STORE_BYTES_MAX) {
            store_close(&store, true);
            store_open(&store, directory);
        }
    }
    helpers_stop(&helpers);
    store_close(&store, !is_kept);
    close(file.fd);
    const double ratio = median(ratios, pairs);
    const size_t reach = rank_reach(pairs);
    printf("%-12s %-12s %10.0f /s   %-9s %10.0f /s   ratio %.3f [%.3f, %.3f]   bound %.3f\n",
           workload->name, workload->left.name, median(left, pairs), workload->right.name,
           median(right, pairs), ratio, ratios[pairs / 2 - reach],
           ratios[pairs / 2 + reach < pairs ? pairs / 2 + reach : pairs - 1], workload->bound);
    fflush(stdout);
    return ratio >= workload->bound;
}

int main(int count, char **arguments) {
    size_t pairs = 200;
    uint64_t slice_ms = 100;
    const char *only = NULL, *directory = NULL;
    bool is_kept = false;
    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], "--pairs") == 0 && i + 1 < count)
            pairs = strtoul(arguments[++i], NULL, 10);
        else if (strcmp(arguments[i], "--slice-ms") == 0 && i + 1 < count)
            slice_ms = strtoul(arguments[++i], NULL, 10);
        else if (strcmp(arguments[i], "--only") == 0 && i + 1 < count)
            only = arguments[++i];
        else if (strcmp(arguments[i], "--keep") == 0)
            is_kept = true;
        else
            directory = arguments[i];
    }
    if (directory == NULL || pairs == 0 || pairs > PAIRS_MAX || slice_ms == 0) {
        fprintf(stderr,
                "usage: append [--pairs N] [--slice-ms N] [--only NAME] [--keep] DIRECTORY\n");
        return 2;
    }
    bool is_met = true;
    for (size_t i = 0; i < sizeof workloads / sizeof workloads[0]; i++) {
        if (only == NULL || strcmp(only, workloads[i].name) == 0)
            is_met &= run(&workloads[i], directory, pairs, slice_ms * 1000000, is_kept);
    }
    return is_met ? 0 : 1;
}

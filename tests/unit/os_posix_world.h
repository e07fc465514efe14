/* Shared by the tests of the real os: an os, and an open directory of its own for each test,
 * removed with what is in it at the end; children that tell what went wrong by their exit code.
 */
#ifndef PAWL_TESTS_OS_POSIX_WORLD_H
#define PAWL_TESTS_OS_POSIX_WORLD_H

#include <criterion/criterion.h>

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os_posix.h"

enum {
    READ_WRITE = OS_OPEN_READ | OS_OPEN_WRITE,
    MAKE = READ_WRITE | OS_OPEN_CREATE,
    PAGE = 4096,
};

static struct os *os;
static struct os_dir *dir;
static char root[512];

static inline void set_up(void) {
    const char *base = getenv("TMPDIR");
    (void)snprintf(root, sizeof root, "%s/pawl-os-XXXXXX", base == NULL ? "/tmp" : base);
    cr_assert(mkdtemp(root) != NULL);
    cr_assert_eq(os_posix_create(&os), 0);
    cr_assert_eq(os_dir_open(os, root, 0, &dir), 0);
}

static inline const char *path_of(const char *name) {
    static char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

static inline int remove_one(void *context, const char *name) {
    (void)context;
    (void)remove(path_of(name));
    return 0;
}

static inline void tear_down(void) {
    (void)os_dir_list(os, dir, remove_one, NULL);
    os_dir_close(os, dir);
    os_posix_destroy(os);
    (void)rmdir(root);
}

static inline struct os_file *must_open(const char *name, unsigned how) {
    struct os_file *file = NULL;
    const int error = os_file_open(os, dir, name, how, &file);
    cr_assert_eq(error, 0, "%s: %s", name, strerror(error));
    return file;
}

/* What a child process finds wrong goes to its exit code; an assertion of the test would not reach
 * its runner from there. */
#define NEED(holds)                                                                                \
    do {                                                                                           \
        if (!(holds)) {                                                                            \
            (void)fprintf(stderr, "%s:%d: in a child: %s\n", __FILE__, __LINE__, #holds);          \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

static inline pid_t start_child(int (*body)(void *context), void *context) {
    const pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0)
        _exit(body(context));
    return child;
}

static inline void must_end_well(pid_t child) {
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", (unsigned)status);
}

static inline void run_child(int (*body)(void *context), void *context) {
    must_end_well(start_child(body, context));
}

static inline int open_error(const char *name, unsigned how) {
    struct os_file *untouched = (struct os_file *)&root;
    const int error = os_file_open(os, dir, name, how, &untouched);
    cr_assert_neq(error, 0, "%s was opened", name);
    cr_assert(untouched == (struct os_file *)&root, "%s: a failing open gave a file", name);
    return error;
}

/* Visits the number and the target of each descriptor of this process that lies below `root`. */
static inline int count_open_below_root(int *ret_lowest, bool *ret_all_close_on_exec) {
    DIR *all = opendir("/proc/self/fd");
    int count = 0;
    if (all == NULL)
        return -1;
    for (const struct dirent *entry; (entry = readdir(all)) != NULL;) {
        char target[PATH_MAX] = "";
        if (readlinkat(dirfd(all), entry->d_name, target, sizeof target - 1) < 0 ||
            strncmp(target, root, strlen(root)) != 0)
            continue;
        const int number = (int)strtol(entry->d_name, NULL, 10);
        if (count++ == 0 || number < *ret_lowest)
            *ret_lowest = number;
        if ((fcntl(number, F_GETFD) & FD_CLOEXEC) == 0)
            *ret_all_close_on_exec = false;
    }
    (void)closedir(all);
    return count;
}

#endif

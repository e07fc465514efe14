#include "os_posix_world.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

/* Two pipes by which two processes take turns. */
struct turns {
    int to_child[2], to_parent[2];
};

static void turns_make(struct turns *turns) {
    cr_assert_eq(pipe(turns->to_child), 0);
    cr_assert_eq(pipe(turns->to_parent), 0);
}

static void turns_end(struct turns *turns) {
    for (int i = 0; i < 2; i++) {
        (void)close(turns->to_child[i]);
        (void)close(turns->to_parent[i]);
    }
}

static bool give_turn(const int to[2]) {
    return write(to[1], "x", 1) == 1;
}

static bool await_turn(const int to[2]) {
    char byte;
    return read(to[0], &byte, 1) == 1;
}

/* In the child: without its own copy of the other end it is not left waiting by a test that dies.
 */
static bool child_awaits_turn(const struct turns *turns) {
    (void)close(turns->to_child[1]);
    return await_turn(turns->to_child);
}

/* Descriptors. */

static int open_without_standard_streams(void *context) {
    (void)context;
    struct os *mine;
    struct os_dir *root_dir;
    struct os_file *file;
    int lowest = -1;
    bool closes = true;
    for (int number = 0; number < 2; number++)
        (void)close(number);
    NEED(os_posix_create(&mine) == 0);
    NEED(os_dir_open(mine, root, 0, &root_dir) == 0);
    (void)close(2);
    const bool opened = os_file_open(mine, root_dir, "file", MAKE, &file) == 0;
    const int count = count_open_below_root(&lowest, &closes);
    const bool free_again = open("/dev/null", O_RDWR) == 0 && dup(0) == 1 && dup(0) == 2;
    return opened && count == 2 && lowest >= 3 && closes && free_again ? 0 : 1;
}

Test(os_posix_descriptor, is_never_a_standard_stream, .init = set_up, .fini = tear_down) {
    run_child(open_without_standard_streams, NULL);
}

Test(os_posix_descriptor, is_closed_on_exec, .init = set_up, .fini = tear_down) {
    struct os_file *file = must_open("file", MAKE);
    int lowest = -1;
    bool closes = true;
    cr_assert_eq(count_open_below_root(&lowest, &closes), 2);
    cr_assert(closes);
    cr_assert_geq(lowest, 3);
    (void)os_file_close(os, file);
}

static int open_without_room(void *context) {
    (void)context;
    struct os *mine;
    struct os_dir *root_dir;
    struct os_file *file = NULL;
    NEED(os_posix_create(&mine) == 0);
    NEED(os_dir_open(mine, root, 0, &root_dir) == 0);
    NEED(setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, 0}) == 0);
    NEED(os_file_open(mine, root_dir, "file", MAKE, &file) == EMFILE && file == NULL);
    NEED(os_dir_list(mine, root_dir, remove_one, NULL) == EMFILE);
    os_dir_close(mine, root_dir);
    os_posix_destroy(mine);
    return 0;
}

Test(os_posix_descriptor, none_left_is_an_error, .init = set_up, .fini = tear_down) {
    run_child(open_without_room, NULL);
    cr_assert_eq(open_error("file", OS_OPEN_READ), ENOENT, "made nothing");
}

/* Byte locks. */

Test(os_posix_lock, excludes_another_open_of_the_process, .init = set_up, .fini = tear_down) {
    struct os_file *one = must_open("file", MAKE), *two = must_open("file", MAKE);
    cr_assert_eq(os_lock_take(os, one, 5), 0);
    cr_assert_eq(os_lock_take(os, one, 5), 0, "its own is no obstacle");
    cr_assert_eq(os_lock_take(os, two, 5), EAGAIN);
    cr_assert_eq(os_lock_take(os, two, 6), 0, "another byte");
    os_lock_drop(os, two, 5);
    cr_assert_eq(os_lock_take(os, two, 5), EAGAIN, "one who has it not can't drop it");
    os_lock_drop(os, one, 5);
    cr_assert_eq(os_lock_take(os, two, 5), 0);
    cr_assert_eq(os_lock_take(os, one, UINT64_MAX), EINVAL);
    cr_assert_eq(os_lock_take(os, one, INT64_MAX - 1), 0, "the last byte that there can be");
    (void)os_file_close(os, two);
    (void)os_file_close(os, one);
}

Test(os_posix_lock, goes_with_its_own_file_only, .init = set_up, .fini = tear_down) {
    struct os_file *one = must_open("file", MAKE), *two = must_open("file", MAKE);
    cr_assert_eq(os_lock_take(os, one, 5), 0);
    (void)os_file_close(os, must_open("file", READ_WRITE));
    cr_assert_eq(os_lock_take(os, two, 5), EAGAIN, "the close of a third open let it go");
    (void)os_file_close(os, one);
    cr_assert_eq(os_lock_take(os, two, 5), 0);
    (void)os_file_close(os, two);
}

Test(os_posix_lock, goes_at_close_though_a_mapping_stays, .init = set_up, .fini = tear_down) {
    struct os_file *one = must_open("file", MAKE), *two = must_open("file", MAKE);
    void *address = NULL;
    cr_assert_eq(os_file_zero_fill(os, one, 0, PAGE), 0);
    cr_assert_eq(os_file_map(os, one, PAGE, &address), 0);
    cr_assert_eq(os_lock_take(os, one, 5), 0);
    (void)os_file_close(os, one);
    cr_assert_eq(os_lock_take(os, two, 5), 0);
    os_file_unmap(os, address, PAGE);
    (void)os_file_close(os, two);
}

Test(os_posix_lock, find_tells_the_lowest_of_others, .init = set_up, .fini = tear_down) {
    struct os_file *one = must_open("file", MAKE), *two = must_open("file", MAKE);
    struct os_file *three = must_open("file", MAKE);
    uint64_t byte = 77;
    cr_assert_eq(os_lock_find(os, one, 0, 1000, &byte), ENOENT);
    static const uint64_t of_two[] = {900, 40, 300}, of_three[] = {500, 41, 20, 899};
    for (size_t i = 0; i < sizeof of_two / sizeof of_two[0]; i++)
        cr_assert_eq(os_lock_take(os, two, of_two[i]), 0);
    for (size_t i = 0; i < sizeof of_three / sizeof of_three[0]; i++)
        cr_assert_eq(os_lock_take(os, three, of_three[i]), 0);
    cr_assert_eq(os_lock_take(os, one, 1), 0);
    cr_assert_eq(os_lock_find(os, one, 0, 20, &byte), ENOENT, "its own is not told");
    cr_assert_eq(os_lock_find(os, one, 0, 0, &byte), ENOENT, "an empty range");
    cr_assert_eq(os_lock_find(os, one, UINT64_MAX, 2, &byte), EINVAL);
    cr_assert_eq(byte, 77, "untouched");
    static const uint64_t first[] = {0, 20, 21, 41, 42, 301, 501, 900};
    static const uint64_t found[] = {20, 20, 40, 41, 300, 500, 899, 900};
    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++) {
        cr_assert_eq(os_lock_find(os, one, first[i], 1000 - first[i], &byte), 0);
        cr_assert_eq(byte, found[i], "from %zu", (size_t)first[i]);
    }
    cr_assert_eq(os_lock_find(os, one, 301, 199, &byte), ENOENT, "the end is not included");
    (void)os_file_close(os, three);
    (void)os_file_close(os, two);
    (void)os_file_close(os, one);
}

static int hold_range(void *context) {
    struct turns *turns = context;
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 10, .l_len = 0};
    const int number = open(path_of("file"), O_RDWR);
    NEED(number >= 0 && fcntl(number, F_SETLK, &lock) == 0);
    NEED(give_turn(turns->to_parent));
    NEED(child_awaits_turn(turns));
    return 0;
}

Test(os_posix_lock, find_understands_a_strangers_range, .init = set_up, .fini = tear_down) {
    struct os_file *file = must_open("file", MAKE);
    struct turns turns;
    uint64_t byte = 0;
    turns_make(&turns);
    const pid_t child = start_child(hold_range, &turns);
    cr_assert(await_turn(turns.to_parent));
    cr_assert_eq(os_lock_find(os, file, 50, 10, &byte), 0);
    cr_assert_eq(byte, 50);
    cr_assert_eq(os_lock_find(os, file, 0, 100, &byte), 0);
    cr_assert_eq(byte, 10);
    cr_assert(give_turn(turns.to_child));
    must_end_well(child);
    cr_assert_eq(os_lock_find(os, file, 0, 100, &byte), ENOENT);
    turns_end(&turns);
    (void)os_file_close(os, file);
}

static int hold_lock_for_ever(void *context) {
    struct turns *turns = context;
    struct os *mine;
    struct os_dir *root_dir;
    struct os_file *file;
    NEED(os_posix_create(&mine) == 0);
    NEED(os_dir_open(mine, root, 0, &root_dir) == 0);
    NEED(os_file_open(mine, root_dir, "file", MAKE, &file) == 0);
    NEED(os_lock_take(mine, file, 8) == EAGAIN);
    NEED(os_lock_take(mine, file, 7) == 0);
    NEED(give_turn(turns->to_parent));
    (void)child_awaits_turn(turns); /* until it is killed */
    return 1;
}

Test(os_posix_lock, goes_when_its_process_is_killed, .init = set_up, .fini = tear_down) {
    struct os_file *file = must_open("file", MAKE);
    struct turns turns;
    uint64_t byte = 0;
    turns_make(&turns);
    cr_assert_eq(os_lock_take(os, file, 8), 0);
    const pid_t child = start_child(hold_lock_for_ever, &turns);
    cr_assert(await_turn(turns.to_parent));
    cr_assert_eq(os_lock_take(os, file, 7), EAGAIN);
    cr_assert_eq(os_lock_find(os, file, 0, 100, &byte), 0);
    cr_assert_eq(byte, 7);
    cr_assert_eq(kill(child, SIGKILL), 0);
    cr_assert_eq(waitpid(child, NULL, 0), child);
    cr_assert_eq(os_lock_take(os, file, 7), 0);
    turns_end(&turns);
    (void)os_file_close(os, file);
}

/* Forks. */

static int abandon_everything(void *context) {
    struct os_file *file = context;
    int lowest = -1;
    bool closes = true;
    uint64_t byte;
    size_t got;
    char back;
    struct os_stat found;
    NEED(os_is_forked_child(os));
    NEED(count_open_below_root(&lowest, &closes) == 0);
    NEED(os_file_write(os, file, "x", 1, 0) == EBADF);
    NEED(os_file_read(os, file, &back, 1, 0, &got) == EBADF);
    NEED(os_file_stat(os, file, &found) == EBADF);
    NEED(os_file_sync(os, file) == EBADF);
    NEED(os_lock_take(os, file, 5) == EBADF);
    NEED(os_lock_find(os, file, 5, 1, &byte) == EBADF);
    os_lock_drop(os, file, 5);
    NEED(os_file_close(os, file) == 0);
    os_dir_close(os, dir);
    os_posix_destroy(os);
    struct os *mine;
    NEED(os_posix_create(&mine) == 0);
    NEED(!os_is_forked_child(mine));
    NEED(os_dir_open(mine, root, 0, &dir) == 0);
    NEED(os_file_open(mine, dir, "file", READ_WRITE, &file) == 0);
    NEED(os_lock_take(mine, file, 5) == EAGAIN);
    const pid_t grandchild = fork();
    if (grandchild == 0)
        _exit(os_is_forked_child(mine) && count_open_below_root(&lowest, &closes) == 0 ? 0 : 1);
    int status = 1;
    NEED(waitpid(grandchild, &status, 0) == grandchild && status == 0);
    NEED(!os_is_forked_child(mine));
    return 0;
}

Test(os_posix_fork, child_has_nothing_and_parent_keeps_all, .init = set_up, .fini = tear_down) {
    struct os_file *file = must_open("file", MAKE);
    cr_assert_eq(os_lock_take(os, file, 5), 0);
    run_child(abandon_everything, file);
    cr_assert(!os_is_forked_child(os));
    struct os_file *again = must_open("file", MAKE);
    cr_assert_eq(os_lock_take(os, again, 5), EAGAIN, "the child let it go");
    cr_assert_eq(os_file_write(os, file, "x", 1, 0), 0);
    (void)os_file_close(os, again);
    (void)os_file_close(os, file);
}

/* Takes the lock, leaves a child behind that lives on, and dies. */
static int leave_child_behind(void *context) {
    struct turns *turns = context;
    struct os *mine;
    struct os_dir *root_dir;
    struct os_file *file;
    NEED(os_posix_create(&mine) == 0);
    NEED(os_dir_open(mine, root, 0, &root_dir) == 0);
    NEED(os_file_open(mine, root_dir, "file", MAKE, &file) == 0);
    NEED(os_lock_take(mine, file, 7) == 0);
    const pid_t grandchild = fork();
    NEED(grandchild >= 0);
    if (grandchild == 0) {
        const bool told = give_turn(turns->to_parent) && child_awaits_turn(turns);
        _exit(told && give_turn(turns->to_parent) ? 0 : 1);
    }
    return 0;
}

Test(os_posix_fork, child_keeps_no_lock_of_a_dead_parent, .init = set_up, .fini = tear_down) {
    struct os_file *file = must_open("file", MAKE);
    struct turns turns;
    turns_make(&turns);
    run_child(leave_child_behind, &turns);
    cr_assert(await_turn(turns.to_parent), "the grandchild runs");
    cr_assert_eq(os_lock_take(os, file, 7), 0);
    cr_assert(give_turn(turns.to_child));
    cr_assert(await_turn(turns.to_parent), "and ran until now");
    turns_end(&turns);
    (void)os_file_close(os, file);
}

static void *open_and_close(void *context) {
    _Atomic bool *stop = context;
    char name[32];
    (void)snprintf(name, sizeof name, "file%p", (void *)&name);
    while (!atomic_load(stop)) {
        struct os_file *file = NULL;
        if (os_file_open(os, dir, name, MAKE, &file) == 0)
            (void)os_file_close(os, file);
    }
    return NULL;
}

Test(os_posix_fork, misses_no_descriptor_in_the_making, .init = set_up, .fini = tear_down) {
    enum { FORKS = 300 };
    _Atomic bool stop = false;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, open_and_close, &stop), 0);
    int leaks = 0;
    for (int i = 0; i < FORKS; i++) {
        const pid_t child = fork();
        cr_assert_geq(child, 0);
        if (child == 0) {
            /* No directory stream: its memory may be another thread's to lock. */
            for (int number = 3; number < 64; number++) {
                char link[32], target[PATH_MAX] = "";
                (void)snprintf(link, sizeof link, "/proc/self/fd/%d", number);
                if (readlink(link, target, sizeof target - 1) > 0 &&
                    strncmp(target, root, strlen(root)) == 0)
                    _exit(1);
            }
            _exit(0);
        }
        int status = 1;
        cr_assert_eq(waitpid(child, &status, 0), child);
        leaks += status != 0;
    }
    atomic_store(&stop, true);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
    cr_assert_eq(leaks, 0);
}

#include "os_posix_world.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "log.h"

static int dir_open_error(const char *path, unsigned how) {
    struct os_dir *untouched = (struct os_dir *)&root;
    const int error = os_dir_open(os, path, how, &untouched);
    cr_assert_neq(error, 0, "%s was opened", path);
    cr_assert(untouched == (struct os_dir *)&root, "%s: a failing open gave a directory", path);
    return error;
}

static unsigned mode_of(const char *name) {
    struct stat found;
    cr_assert_eq(lstat(path_of(name), &found), 0);
    return found.st_mode & 07777;
}

static uint64_t bytes_of(struct os_file *file) {
    struct os_stat found;
    cr_assert_eq(os_file_stat(os, file, &found), 0);
    return found.bytes;
}

/* Directories. */

Test(os_posix_dir, is_made_0700_whatever_the_umask, .init = set_up, .fini = tear_down) {
    static const mode_t umasks[] = {0, 0027, 0777};
    for (size_t i = 0; i < sizeof umasks / sizeof umasks[0]; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "made%zu", i);
        const mode_t before = umask(umasks[i]);
        struct os_dir *made = NULL;
        const int error = os_dir_open_at(os, dir, name, OS_OPEN_CREATE, &made);
        (void)umask(before);
        cr_assert_eq(error, 0);
        cr_assert_eq(mode_of(name), 0700);
        cr_assert_eq(os_dir_sync(os, made), 0);
        os_dir_close(os, made);
    }
    cr_assert_eq(os_dir_sync(os, dir), 0);
}

Test(os_posix_dir, that_is_there_keeps_its_mode, .init = set_up, .fini = tear_down) {
    cr_assert_eq(mkdir(path_of("old"), 0755), 0);
    cr_assert_eq(chmod(path_of("old"), 0755), 0);
    struct os_dir *opened = NULL;
    cr_assert_eq(os_dir_open(os, path_of("old"), OS_OPEN_CREATE, &opened), 0);
    os_dir_close(os, opened);
    cr_assert_eq(os_dir_open(os, path_of("old///"), 0, &opened), 0);
    os_dir_close(os, opened);
    cr_assert_eq(mode_of("old"), 0755);
}

Test(os_posix_dir, refuses_what_is_none, .init = set_up, .fini = tear_down) {
    cr_assert_eq(mkdir(path_of("old"), 0700), 0);
    cr_assert_eq(symlink("old", path_of("link")), 0);
    cr_assert_eq(symlink("nowhere", path_of("dangling")), 0);
    cr_assert_eq(mkfifo(path_of("pipe"), 0600), 0);
    (void)os_file_close(os, must_open("file", MAKE));
    cr_assert_eq(dir_open_error(path_of("missing"), 0), ENOENT);
    cr_assert_eq(dir_open_error("", 0), ENOENT);
    cr_assert_eq(dir_open_error(path_of("old"), OS_OPEN_CREATE | OS_OPEN_EXCLUSIVE), EEXIST);
    cr_assert_eq(dir_open_error(path_of("old"), OS_OPEN_EXCLUSIVE), EINVAL);
    cr_assert_eq(dir_open_error(path_of("link"), 0), ELOOP);
    cr_assert_eq(dir_open_error(path_of("link//"), 0), ELOOP);
    cr_assert_eq(dir_open_error(path_of("link"), OS_OPEN_CREATE), ELOOP);
    cr_assert_eq(dir_open_error(path_of("dangling"), OS_OPEN_CREATE), ELOOP);
    cr_assert_eq(dir_open_error(path_of("file"), 0), ENOTDIR);
    cr_assert_eq(dir_open_error(path_of("file"), OS_OPEN_CREATE), ENOTDIR);
    cr_assert_eq(dir_open_error(path_of("pipe"), 0), ENOTDIR);
    char longer[PATH_MAX + 1];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    cr_assert_eq(dir_open_error(longer, 0), ENAMETOOLONG);
}

Test(os_posix_dir, takes_single_names_only, .init = set_up, .fini = tear_down) {
    static const char *const names[] = {"", ".", "..", "/", "a/b", "../x", "/tmp"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct os_dir *none = NULL;
        cr_assert_eq(os_dir_open_at(os, dir, names[i], OS_OPEN_CREATE, &none), EINVAL);
        cr_assert_eq(open_error(names[i], MAKE), EINVAL);
        cr_assert_eq(os_unlink(os, dir, names[i]), EINVAL);
        cr_assert_eq(os_rename(os, dir, names[i], "x"), EINVAL);
        cr_assert_eq(os_rename(os, dir, "x", names[i]), EINVAL);
    }
    char longer[OS_NAME_BYTES_MAX + 2];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    cr_assert_eq(open_error(longer, MAKE), ENAMETOOLONG);
    longer[OS_NAME_BYTES_MAX] = '\0';
    (void)os_file_close(os, must_open(longer, MAKE));
}

struct listing {
    int count, dots, stop_after;
};

static int note_name(void *context, const char *name) {
    struct listing *listing = context;
    listing->count++;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        listing->dots++;
    return listing->count == listing->stop_after ? -77 : 0;
}

Test(os_posix_dir, lists_every_name_but_the_dots, .init = set_up, .fini = tear_down) {
    for (int i = 0; i < 300; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "f%d", i);
        (void)os_file_close(os, must_open(name, MAKE));
    }
    for (int twice = 0; twice < 2; twice++) {
        struct listing listing = {.count = 0};
        cr_assert_eq(os_dir_list(os, dir, note_name, &listing), 0);
        cr_assert_eq(listing.count, 300);
        cr_assert_eq(listing.dots, 0);
    }
    struct listing stopped = {.stop_after = 5};
    cr_assert_eq(os_dir_list(os, dir, note_name, &stopped), -77);
    cr_assert_eq(stopped.count, 5);
}

/* Files. */

Test(os_posix_file, is_made_0600_whatever_the_umask, .init = set_up, .fini = tear_down) {
    static const mode_t umasks[] = {0, 0027, 0777};
    for (size_t i = 0; i < sizeof umasks / sizeof umasks[0]; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "made%zu", i);
        const mode_t before = umask(umasks[i]);
        struct os_file *made = NULL;
        const int error = os_file_open(os, dir, name, MAKE, &made);
        (void)umask(before);
        cr_assert_eq(error, 0);
        cr_assert_eq(mode_of(name), 0600);
        (void)os_file_close(os, made);
    }
}

Test(os_posix_file, that_is_there_keeps_its_mode, .init = set_up, .fini = tear_down) {
    (void)os_file_close(os, must_open("old", MAKE));
    cr_assert_eq(chmod(path_of("old"), 0640), 0);
    (void)os_file_close(os, must_open("old", MAKE));
    (void)os_file_close(os, must_open("old", OS_OPEN_READ));
    cr_assert_eq(mode_of("old"), 0640);
}

Test(os_posix_file, refuses_what_is_none, .init = set_up, .fini = tear_down) {
    (void)os_file_close(os, must_open("file", MAKE));
    cr_assert_eq(symlink("file", path_of("link")), 0);
    cr_assert_eq(symlink("nowhere", path_of("dangling")), 0);
    cr_assert_eq(mkdir(path_of("dir"), 0700), 0);
    cr_assert_eq(open_error("missing", READ_WRITE), ENOENT);
    cr_assert_eq(open_error("file", MAKE | OS_OPEN_EXCLUSIVE), EEXIST);
    cr_assert_eq(open_error("link", OS_OPEN_READ), ELOOP);
    cr_assert_eq(open_error("link", MAKE), ELOOP);
    cr_assert_eq(open_error("dangling", MAKE), ELOOP);
    cr_assert_eq(open_error("dir", OS_OPEN_READ), EINVAL);
    cr_assert_eq(open_error("dir", MAKE), EINVAL);
    cr_assert_eq(open_error("file", 0), EINVAL, "neither read nor write");
    cr_assert_eq(open_error("file", OS_OPEN_READ | OS_OPEN_EXCLUSIVE), EINVAL);
    struct stat found;
    cr_assert_neq(lstat(path_of("nowhere"), &found), 0, "made through a link");
}

Test(os_posix_file, does_not_block_on_a_pipe, .init = set_up, .fini = tear_down, .timeout = 20) {
    cr_assert_eq(mkfifo(path_of("pipe"), 0600), 0);
    cr_assert_eq(open_error("pipe", OS_OPEN_READ), EINVAL);
    cr_assert_eq(open_error("pipe", OS_OPEN_WRITE), EINVAL);
    cr_assert_eq(open_error("pipe", MAKE), EINVAL);
}

Test(os_posix_file, a_refused_open_leaves_no_descriptor, .init = set_up, .fini = tear_down) {
    cr_assert_eq(mkdir(path_of("dir"), 0700), 0);
    cr_assert_eq(mkfifo(path_of("pipe"), 0600), 0);
    cr_assert_eq(open_error("dir", OS_OPEN_READ), EINVAL);
    cr_assert_eq(open_error("pipe", OS_OPEN_READ), EINVAL);
    int lowest = -1;
    bool closes = true;
    cr_assert_eq(count_open_below_root(&lowest, &closes), 1, "the directory itself");
}

Test(os_posix_file, reads_what_was_written, .init = set_up, .fini = tear_down) {
    struct os_file *file = must_open("file", MAKE);
    struct os_file *again = must_open("file", OS_OPEN_READ);
    static uint8_t written[3 * PAGE], back[4 * PAGE];
    for (size_t i = 0; i < sizeof written; i++)
        written[i] = (uint8_t)(i * 31 + 7);
    cr_assert_eq(os_file_write(os, file, written, sizeof written, 100), 0);
    cr_assert_eq(os_file_sync(os, file), 0);
    cr_assert_eq(os_file_drop_cache(os, again), 0);
    size_t got = 0;
    cr_assert_eq(os_file_read(os, again, back, sizeof back, 0, &got), 0);
    cr_assert_eq(got, 100 + sizeof written, "a short read tells its length");
    cr_assert_arr_eq(back + 100, written, sizeof written);
    for (size_t i = 0; i < 100; i++)
        cr_assert_eq(back[i], 0, "a hole reads as zeros");
    cr_assert_eq(os_file_read(os, again, back, 10, 1000000, &got), 0);
    cr_assert_eq(got, 0, "beyond the end");
    cr_assert_eq(os_file_write(os, file, written, 0, 5), 0);
    cr_assert_eq(os_file_close(os, again), 0);
    cr_assert_eq(os_file_close(os, file), 0);
}

/* The root directory is root's; whoever runs this test ends as somebody else. */
static int open_what_is_not_ours(void *context) {
    struct os *own;
    struct os_dir *there;
    (void)context;
    NEED(os_posix_create(&own) == 0);
    NEED(geteuid() != 0 || setuid(65534) == 0);
    NEED(os_dir_open(own, "/", OS_OPEN_READ, &there) == 0);
    os_dir_close(own, there);
    NEED(os_dir_open(own, "/", OS_OPEN_READ | OS_OPEN_WRITE, &there) == EACCES);
    return 0;
}

Test(os_posix_dir, is_for_its_owner_to_write_to) {
    run_child(open_what_is_not_ours, NULL);
}

Test(os_posix_dir, made_in_another_one_has_its_owner, .init = set_up, .fini = tear_down) {
    struct os_dir *inner;
    struct stat found;
    const uid_t owner = geteuid() == 0 ? 65534 : geteuid();
    cr_assert_eq(chown(root, owner, (gid_t)-1), 0);
    cr_assert_eq(os_dir_open_at(os, dir, "inner", OS_OPEN_READ | OS_OPEN_CREATE, &inner), 0);
    os_dir_close(os, inner);
    cr_assert_eq(stat(path_of("inner"), &found), 0);
    cr_assert_eq(found.st_uid, owner);
    cr_assert_eq(rmdir(path_of("inner")), 0);
}

Test(os_posix_dir, is_held_beside_others_or_alone, .init = set_up, .fini = tear_down) {
    struct os_dir *first, *second;
    cr_assert_eq(os_dir_open(os, root, OS_OPEN_READ, &first), 0);
    cr_assert_eq(os_dir_open(os, root, OS_OPEN_READ, &second), 0);
    cr_assert_eq(os_dir_hold(os, first, true), 0);
    cr_assert_eq(os_dir_hold(os, second, false), EAGAIN);
    cr_assert_eq(os_dir_hold(os, first, false), 0);
    cr_assert_eq(os_dir_hold(os, second, false), 0);
    cr_assert_eq(os_dir_hold(os, second, true), EAGAIN);
    os_dir_close(os, first);
    cr_assert_eq(os_dir_hold(os, second, true), 0);
    os_dir_close(os, second);
}

/* The system takes a part and only then says why it takes no more: that part is in the file, and
 * the call has failed. The limit stands for a disk that fills up; it is lowered behind the first
 * write, which asked for it. */
Test(os_posix_file, a_write_taken_in_part_has_failed, .init = set_up, .fini = tear_down) {
    enum { LIMIT = 6000 };
    struct os_file *file = must_open("file", MAKE);
    uint8_t bytes[8192], found[8192];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i % 251);
    cr_assert_eq(os_file_write(os, file, bytes, 1, 0), 0);
    cr_assert(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    struct rlimit before;
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit small = {.rlim_cur = LIMIT, .rlim_max = before.rlim_max};
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    const int failed = os_file_write(os, file, bytes, sizeof bytes, 0);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    cr_assert_eq(failed, EFBIG);
    size_t got = 0;
    cr_assert_eq(os_file_read(os, file, found, sizeof found, 0, &got), 0);
    cr_assert_eq(got, LIMIT);
    cr_assert_arr_eq(found, bytes, LIMIT);
    (void)os_file_close(os, file);
}

Test(os_posix_file, tells_of_impossible_reads_and_writes, .init = set_up, .fini = tear_down) {
    struct os_file *file = must_open("file", MAKE);
    struct os_file *reader = must_open("file", OS_OPEN_READ);
    struct os_file *writer = must_open("file", OS_OPEN_WRITE);
    uint8_t byte = 1;
    size_t got = 99;
    cr_assert_eq(os_file_read(os, file, &byte, 1, UINT64_MAX, &got), EINVAL);
    cr_assert_eq(os_file_read(os, file, &byte, 1, INT64_MAX, &got), EINVAL);
    cr_assert_eq(os_file_read(os, writer, &byte, 1, 0, &got), EBADF);
    cr_assert_eq(got, 99, "untouched");
    cr_assert_eq(os_file_write(os, reader, &byte, 1, 0), EBADF);
    cr_assert_eq(os_file_write(os, file, &byte, 1, UINT64_MAX), EFBIG);
    cr_assert_eq(os_file_write(os, file, &byte, 1, INT64_MAX), EFBIG);
    cr_assert_eq(os_file_zero_fill(os, file, UINT64_MAX, 1), EFBIG);
    cr_assert_eq(os_file_truncate(os, file, UINT64_MAX), EFBIG);
    cr_assert_eq(bytes_of(file), 0);
    (void)os_file_close(os, writer);
    (void)os_file_close(os, reader);
    (void)os_file_close(os, file);
}

/* Blocks may be larger than a page, and where holes are not told all is data. */
static void must_find(struct os_file *file, uint64_t offset, uint64_t want) {
    uint64_t found = 0;
    cr_assert_eq(os_file_find_data(os, file, offset, &found), 0, "from %zu", (size_t)offset);
    cr_assert(found >= offset && found <= want, "from %zu: %zu", (size_t)offset, (size_t)found);
}

Test(os_posix_file, finds_data_behind_a_hole, .init = set_up, .fini = tear_down) {
    struct os_file *file = must_open("file", MAKE);
    uint64_t found = 77;
    const uint64_t far = (uint64_t)1 << 40;
    cr_assert_eq(os_file_find_data(os, file, 0, &found), ENOENT, "it is empty");
    cr_assert_eq(os_file_write(os, file, "x", 1, PAGE + 5), 0);
    must_find(file, PAGE + 5, PAGE + 5);
    must_find(file, 0, PAGE);
    cr_assert_eq(os_file_find_data(os, file, PAGE + 6, &found), ENOENT, "the end");
    cr_assert_eq(os_file_truncate(os, file, far), 0);
    cr_assert_eq(os_file_write(os, file, "x", 1, far - 1), 0);
    must_find(file, 2 * PAGE, far - PAGE);
    must_find(file, far - 1, far - 1);
    cr_assert_eq(os_file_find_data(os, file, far, &found), ENOENT);
    cr_assert_eq(os_file_find_data(os, file, UINT64_MAX, &found), ENOENT);
    cr_assert_eq(found, 77, "untouched");
    (void)os_file_close(os, file);
}

Test(os_posix_file, stat_tells_who_it_is, .init = set_up, .fini = tear_down) {
    struct os_file *file = must_open("file", MAKE);
    cr_assert_eq(os_file_zero_fill(os, file, 0, 5000), 0);
    cr_assert_eq(os_file_sync(os, file), 0);
    char first[1024];
    (void)snprintf(first, sizeof first, "%s/file", root);
    cr_assert_eq(link(first, path_of("second")), 0);
    struct os_stat found;
    struct stat truth;
    cr_assert_eq(os_file_stat(os, file, &found), 0);
    cr_assert_eq(stat(path_of("second"), &truth), 0);
    cr_assert_eq(found.bytes, 5000);
    cr_assert_geq(found.allocated_bytes, 5000);
    cr_assert_eq(found.device, truth.st_dev);
    cr_assert_eq(found.inode, truth.st_ino);
    cr_assert_eq(found.mode, 0600);
    cr_assert_eq(found.owner, geteuid());
    cr_assert_eq(found.group, truth.st_gid);
    cr_assert_eq(found.links, 2);
    (void)os_file_close(os, file);
}

static void must_hold(struct os_file *file, uint64_t offset, size_t bytes, uint8_t value) {
    for (size_t i = 0; i < bytes; i++) {
        uint8_t byte = 0;
        size_t got = 0;
        cr_assert_eq(os_file_read(os, file, &byte, 1, offset + i, &got), 0);
        cr_assert_eq(got, 1);
        cr_assert_eq(byte, value, "at %zu", (size_t)offset + i);
    }
}

Test(os_posix_file, zero_fill_covers_just_its_range, .init = set_up, .fini = tear_down) {
    struct os_file *file = must_open("file", MAKE);
    static uint8_t old[3 * PAGE];
    memset(old, 0xa5, sizeof old);
    cr_assert_eq(os_file_write(os, file, old, sizeof old, 0), 0);
    cr_assert_eq(os_file_zero_fill(os, file, 1000, 5000), 0);
    cr_assert_eq(bytes_of(file), sizeof old);
    must_hold(file, 0, 1000, 0xa5);
    must_hold(file, 1000, 5000, 0);
    must_hold(file, 6000, sizeof old - 6000, 0xa5);
    cr_assert_eq(os_file_zero_fill(os, file, 0, 0), 0);
    cr_assert_eq(os_file_zero_fill(os, file, 3 * PAGE - 1, 2), 0);
    cr_assert_eq(bytes_of(file), 3 * PAGE + 1, "grown");
    must_hold(file, 3 * PAGE - 2, 1, 0xa5);
    must_hold(file, 3 * PAGE - 1, 2, 0);
    (void)os_file_close(os, file);
}

Test(os_posix_file, truncate_cuts_and_grows, .init = set_up, .fini = tear_down) {
    struct os_file *file = must_open("file", MAKE);
    cr_assert_eq(os_file_write(os, file, "abcdef", 6, 0), 0);
    cr_assert_eq(os_file_truncate(os, file, 3), 0);
    cr_assert_eq(os_file_truncate(os, file, 5), 0);
    cr_assert_eq(bytes_of(file), 5);
    char back[5];
    size_t got = 0;
    cr_assert_eq(os_file_read(os, file, back, sizeof back, 0, &got), 0);
    cr_assert_arr_eq(back, "abc\0\0", 5);
    (void)os_file_close(os, file);
}

Test(os_posix_file, mapping_is_the_file, .init = set_up, .fini = tear_down) {
    struct os_file *file = must_open("file", MAKE);
    struct os_file *again = must_open("file", READ_WRITE);
    cr_assert_eq(os_file_zero_fill(os, file, 0, PAGE), 0);
    void *one = NULL, *two = NULL;
    cr_assert_eq(os_file_map(os, file, PAGE + 1, &one), EINVAL, "longer than the file");
    cr_assert_eq(os_file_map(os, file, 0, &one), EINVAL);
    cr_assert(one == NULL, "untouched");
    cr_assert_eq(os_file_map(os, file, PAGE, &one), 0);
    cr_assert_eq(os_file_map(os, again, PAGE, &two), 0);
    memcpy((char *)one + 10, "shared", 6);
    cr_assert_arr_eq((char *)two + 10, "shared", 6);
    must_hold(file, 10, 1, 's');
    os_file_unmap(os, one, PAGE);
    os_file_unmap(os, two, PAGE);
    (void)os_file_close(os, again);
    (void)os_file_close(os, file);
}

Test(os_posix_file, rename_replaces_and_unlink_removes, .init = set_up, .fini = tear_down) {
    struct os_file *file = must_open("from", MAKE);
    cr_assert_eq(os_file_write(os, file, "x", 1, 0), 0);
    (void)os_file_close(os, file);
    (void)os_file_close(os, must_open("to", MAKE));
    cr_assert_eq(os_rename(os, dir, "from", "to"), 0);
    cr_assert_eq(open_error("from", OS_OPEN_READ), ENOENT);
    file = must_open("to", OS_OPEN_READ);
    cr_assert_eq(bytes_of(file), 1);
    cr_assert_eq(os_unlink(os, dir, "to"), 0);
    cr_assert_eq(bytes_of(file), 1, "what is open stays");
    (void)os_file_close(os, file);
    cr_assert_eq(os_unlink(os, dir, "to"), ENOENT);
    cr_assert_eq(os_rename(os, dir, "from", "to"), ENOENT);
}

/* SIGXFSZ would end this child. */
static int meet_size_limit(void *context) {
    (void)context;
    (void)signal(SIGXFSZ, SIG_DFL);
    struct os *mine;
    struct os_dir *root_dir;
    struct os_file *file, *longer;
    static const uint8_t bytes[2 * PAGE] = {1};
    struct os_stat found;
    NEED(os_posix_create(&mine) == 0);
    NEED(os_dir_open(mine, root, 0, &root_dir) == 0);
    NEED(os_file_open(mine, root_dir, "file", MAKE, &file) == 0);
    NEED(os_file_open(mine, root_dir, "long", MAKE, &longer) == 0);
    NEED(os_file_zero_fill(mine, longer, 0, sizeof bytes) == 0);
    NEED(setrlimit(RLIMIT_FSIZE, &(struct rlimit){6000, 6000}) == 0);
    NEED(os_file_zero_fill(mine, file, 0, sizeof bytes) == EFBIG);
    NEED(os_file_write(mine, file, bytes, sizeof bytes, 0) == EFBIG);
    NEED(os_file_write(mine, file, bytes, 1, 6000) == EFBIG);
    NEED(os_file_write(mine, file, bytes, 1, UINT32_MAX) == EFBIG);
    NEED(os_file_truncate(mine, file, 6001) == EFBIG);
    NEED(os_file_stat(mine, file, &found) == 0 && found.bytes == 0);
    NEED(os_file_zero_fill(mine, file, 0, 6000) == 0);
    NEED(os_file_write(mine, file, bytes, 1, 5999) == 0);
    NEED(os_file_write(mine, file, bytes, 0, 6001) == 0);
    NEED(os_file_truncate(mine, file, 5000) == 0);
    NEED(os_file_truncate(mine, file, 6000) == 0);
    /* What was longer before the limit can be read and cut, not written beyond it, from when space
     * was asked for. */
    NEED(os_file_zero_fill(mine, longer, 7000, 1) == EFBIG);
    NEED(os_file_write(mine, longer, bytes, 1, 7000) == EFBIG);
    NEED(os_file_truncate(mine, longer, 7000) == 0);
    NEED(os_file_close(mine, longer) == 0);
    NEED(os_file_close(mine, file) == 0);
    os_dir_close(mine, root_dir);
    os_posix_destroy(mine);
    return 0;
}

Test(os_posix_file, a_limit_on_its_size_is_an_error_and_no_signal, .init = set_up,
     .fini = tear_down) {
    run_child(meet_size_limit, NULL);
}

/* What a program is told that may make short files only. */
static int open_log_within_limit(void *context) {
    (void)context;
    (void)signal(SIGXFSZ, SIG_DFL);
    struct os *mine;
    struct log *log;
    struct log_opening opening;
    pawl_error error;
    const struct log_options options = {.create = true};
    NEED(os_posix_create(&mine) == 0);
    NEED(setrlimit(RLIMIT_FSIZE, &(struct rlimit){PAGE, PAGE}) == 0);
    NEED(log_open(mine, path_of("store"), &options, &log, &opening, &error) == PAWL_DISK_FULL);
    NEED(error.os_errno == EFBIG);
    NEED(strstr(error.sentence, "limit") != NULL && strstr(error.sentence, "ulimit -f") != NULL);
    os_posix_destroy(mine);
    return 0;
}

Test(os_posix_file, a_limit_on_sizes_is_named_by_the_log, .init = set_up, .fini = tear_down) {
    run_child(open_log_within_limit, NULL);
    static const char *const made[] = {"store/log/0000000001.seg", "store/log", "store/identity",
                                       "store/shared"};
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++)
        (void)remove(path_of(made[i]));
}

/* Futexes and clocks. */

struct two_words {
    _Atomic uint32_t ping, pong;
};

/* Answers each ping by a pong until the ping is `rounds`. */
static void answer_pings(struct os *mine, struct two_words *words, uint32_t rounds) {
    for (uint32_t round = 1; round <= rounds; round++) {
        while (atomic_load(&words->ping) != round)
            (void)os_futex_wait(mine, &words->ping, round - 1, OS_NO_DEADLINE);
        atomic_store(&words->pong, round);
        os_futex_wake(mine, &words->pong, UINT32_MAX);
    }
}

static void send_pings(struct two_words *words, uint32_t rounds) {
    for (uint32_t round = 1; round <= rounds; round++) {
        atomic_store(&words->ping, round);
        os_futex_wake(os, &words->ping, 1);
        while (atomic_load(&words->pong) != round)
            (void)os_futex_wait(os, &words->pong, round - 1, OS_NO_DEADLINE);
    }
}

enum { PINGS = 2000 };

static void *answer_in_thread(void *context) {
    answer_pings(os, context, PINGS);
    return NULL;
}

Test(os_posix_futex, wakes_a_thread, .init = set_up, .fini = tear_down, .timeout = 60) {
    struct two_words words = {0};
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, answer_in_thread, &words), 0);
    send_pings(&words, PINGS);
    cr_assert_eq(pthread_join(thread, NULL), 0);
}

static int answer_in_process(void *context) {
    (void)context;
    struct os *mine;
    struct os_dir *root_dir;
    struct os_file *file;
    void *words;
    NEED(os_posix_create(&mine) == 0);
    NEED(os_dir_open(mine, root, 0, &root_dir) == 0);
    NEED(os_file_open(mine, root_dir, "file", READ_WRITE, &file) == 0);
    NEED(os_file_map(mine, file, PAGE, &words) == 0);
    answer_pings(mine, words, PINGS);
    return 0;
}

Test(os_posix_futex, wakes_a_process, .init = set_up, .fini = tear_down, .timeout = 60) {
    struct os_file *file = must_open("file", MAKE);
    void *words = NULL;
    cr_assert_eq(os_file_zero_fill(os, file, 0, PAGE), 0);
    cr_assert_eq(os_file_map(os, file, PAGE, &words), 0);
    const pid_t child = start_child(answer_in_process, NULL);
    send_pings(words, PINGS);
    must_end_well(child);
    os_file_unmap(os, words, PAGE);
    (void)os_file_close(os, file);
}

Test(os_posix_futex, keeps_its_deadline, .init = set_up, .fini = tear_down) {
    _Atomic uint32_t word = 1;
    cr_assert_eq(os_futex_wait(os, &word, 2, OS_NO_DEADLINE), 0, "the word differs");
    cr_assert_eq(os_futex_wait(os, &word, 2, 0), 0, "it does, whatever the time");
    cr_assert_eq(os_futex_wait(os, &word, 1, 0), ETIMEDOUT, "long past");
    cr_assert_eq(os_futex_wait(os, &word, 1, os_clock_boot(os)), ETIMEDOUT, "just past");
    const uint64_t deadline = os_clock_boot(os) + 3000000;
    int result;
    do
        result = os_futex_wait(os, &word, 1, deadline);
    while (result == 0);
    cr_assert_eq(result, ETIMEDOUT);
    cr_assert_geq(os_clock_boot(os), deadline, "not sooner");
    os_futex_wake(os, &word, 0);
    os_futex_wake(os, &word, UINT32_MAX);
}

Test(os_posix_clock, boot_clock_never_goes_back, .init = set_up, .fini = tear_down) {
    uint64_t before = os_clock_boot(os);
    for (int i = 0; i < 10000; i++) {
        const uint64_t now = os_clock_boot(os);
        cr_assert_geq(now, before);
        before = now;
    }
    os_pause(os, 0);
    os_pause(os, 1000000);
    cr_assert_geq(os_clock_boot(os), before + 1000000);
    os_step(os);
}

/* The unit alone: a wall clock in milliseconds or nanoseconds would be far off either way. */
Test(os_posix_clock, wall_clock_counts_microseconds, .init = set_up, .fini = tear_down) {
    const uint64_t wall = os_clock_wall(os);
    const uint64_t seconds = (uint64_t)time(NULL);
    cr_assert(wall / 1000000 > seconds / 2 && wall / 1000000 < seconds * 2);
}

/* The machine and the process. */

Test(os_posix_machine, tells_its_boot_id, .init = set_up, .fini = tear_down) {
    char text[64] = "", shown[64] = "";
    FILE *stream = fopen("/proc/sys/kernel/random/boot_id", "r");
    cr_assert(stream != NULL && fgets(text, sizeof text, stream) != NULL);
    (void)fclose(stream);
    uint8_t id[OS_BOOT_ID_BYTES];
    os_boot_id(os, id);
    size_t used = 0;
    for (size_t i = 0; i < sizeof id; i++) {
        const bool dash = i == 4 || i == 6 || i == 8 || i == 10;
        used += (size_t)snprintf(shown + used, sizeof shown - used, "%s%02x", dash ? "-" : "",
                                 (unsigned)id[i]);
    }
    text[strcspn(text, "\n")] = '\0';
    cr_assert_str_eq(shown, text);
}

Test(os_posix_machine, has_entropy, .init = set_up, .fini = tear_down) {
    static uint8_t one[1000], two[1000];
    cr_assert_eq(os_entropy(os, one, sizeof one), 0);
    cr_assert_eq(os_entropy(os, two, sizeof two), 0);
    cr_assert_arr_neq(one, two, sizeof one);
    static const uint8_t zeros[16];
    cr_assert_arr_neq(one + sizeof one - 16, zeros, 16, "filled to its end");
    cr_assert_eq(os_entropy(os, one, 0), 0);
}

static int tell_odd_name(void *context) {
    (void)context;
    struct os *mine;
    struct os_process process;
    NEED(prctl(PR_SET_NAME, "a\tb\033[1m\177z", 0, 0, 0) == 0);
    NEED(os_posix_create(&mine) == 0);
    os_process(mine, &process);
    NEED(strcmp(process.command, "a?b?[1m?z") == 0);
    NEED(process.pid == (uint32_t)getpid());
    os_posix_destroy(mine);
    return 0;
}

Test(os_posix_machine, names_the_process, .init = set_up, .fini = tear_down) {
    struct os_process process;
    os_process(os, &process);
    cr_assert_eq(process.pid, (uint32_t)getpid());
    cr_assert(strlen(process.command) > 0);
    char host[256] = "";
    cr_assert_eq(gethostname(host, sizeof host - 1), 0);
    cr_assert_eq(strncmp(process.host, host, sizeof process.host - 1), 0);
    run_child(tell_odd_name, NULL);
}

Test(os_posix_machine, allocates_zeroed_memory, .init = set_up, .fini = tear_down) {
    for (size_t bytes = 0; bytes < 5000; bytes = bytes * 2 + 1) {
        uint8_t *memory = os_allocate(os, bytes);
        cr_assert(memory != NULL);
        const uintptr_t beyond = (uintptr_t)memory % _Alignof(max_align_t);
        cr_assert_eq(beyond, 0);
        for (size_t i = 0; i < bytes; i++)
            cr_assert_eq(memory[i], 0);
        memset(memory, 0xff, bytes);
        os_release(os, memory, bytes);
    }
    os_release(os, NULL, 7);
}

Test(os_posix_machine, takes_any_number_of_os, .init = set_up, .fini = tear_down) {
    struct os *several[20];
    for (size_t i = 0; i < 20; i++)
        cr_assert_eq(os_posix_create(&several[i]), 0);
    for (size_t i = 0; i < 20; i++)
        os_posix_destroy(several[i]);
    os_posix_destroy(NULL);
}

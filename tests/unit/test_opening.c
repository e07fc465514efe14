#include "log_world.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static struct image image;

static void tear_down_image(void) {
    image_drop(&image);
    tear_down();
}

/* The status of an opening that must not succeed; nothing is handed out. */
static pawl_status refusal_of(const char *path, const struct log_options *options,
                              pawl_error *ret_error) {
    struct log *log = NULL;
    struct log_opening opening;
    memset(ret_error, 0, sizeof *ret_error);
    const pawl_status status = log_open(os, path, options, &log, &opening, ret_error);
    cr_assert_neq(status, PAWL_OK, "%s was opened", path);
    cr_assert_null(log);
    cr_assert_eq(ret_error->status, status);
    cr_assert_gt(strlen(ret_error->sentence), 0);
    return status;
}

static bool is_there(const char *name) {
    char path[700];
    join(path, sizeof path, store, "/", name);
    return access(path, F_OK) == 0;
}

static struct log_options joining(void) {
    struct log_options options = options_of(SMALL_SEGMENT);
    options.create = false;
    return options;
}

/* A new store. */

Test(opening, makes_a_store_where_none_is, .init = set_up, .fini = tear_down) {
    const struct log_options options = options_of(SMALL_SEGMENT);
    struct log_opening opening;
    struct log *log = must_open_with(&options, &opening);
    cr_assert(opening.was_created);
    cr_assert(opening.was_alone);
    cr_assert_eq(opening.row, RECOVERY_CLEAN);
    cr_assert_eq(opening.torn_bytes, 0);
    cr_assert_eq(log_first(log), SEGMENT_FIRST_LSN);
    cr_assert_eq(log_tail(log), SEGMENT_FIRST_LSN + SEGMENT_START_FRAME_BYTES);
    cr_assert_eq(log_durable(log), log_tail(log));
    must_read_all(log, 0);
    must_close(log);
    struct stat found;
    cr_assert_eq(stat(store, &found), 0);
    cr_assert_eq(found.st_mode & 0777, 0700, "for its owner alone");
    log = must_open_with(&options, &opening);
    cr_assert(!opening.was_created);
    cr_assert(opening.was_closed);
    must_close(log);
}

Test(opening, makes_a_store_in_an_empty_directory, .init = set_up, .fini = tear_down) {
    const struct log_options options = options_of(SMALL_SEGMENT);
    struct log_opening opening;
    char path[700];
    cr_assert_eq(mkdir(store, 0700), 0);
    join(path, sizeof path, store, "/", "lost+found");
    cr_assert_eq(mkdir(path, 0700), 0);
    must_close(must_open_with(&options, &opening));
    cr_assert(opening.was_created);
}

Test(opening, takes_a_path_with_slashes_at_its_end, .init = set_up, .fini = tear_down) {
    const struct log_options options = options_of(SMALL_SEGMENT);
    struct log *log = NULL;
    struct log_opening opening;
    char path[700];
    join(path, sizeof path, store, "//", "/");
    cr_assert_eq(log_open(os, path, &options, &log, &opening, NULL), PAWL_OK);
    cr_assert(opening.was_created);
    must_close(log);
    must_close(must_open_log(SMALL_SEGMENT));
}

Test(opening, makes_no_store_unless_asked, .init = set_up, .fini = tear_down) {
    const struct log_options options = joining();
    pawl_error error;
    cr_assert_eq(refusal_of(store, &options, &error), PAWL_NO_STORE);
    cr_assert_neq(access(store, F_OK), 0, "nothing was made");
    cr_assert_eq(mkdir(store, 0700), 0);
    cr_assert_eq(refusal_of(store, &options, &error), PAWL_NO_STORE);
    cr_assert(!is_there("identity"));
    cr_assert(!is_there("shared"));
    cr_assert(!is_there("log"));
}

Test(opening, leaves_a_directory_of_other_things_alone, .init = set_up, .fini = tear_down) {
    const struct log_options options = options_of(SMALL_SEGMENT);
    pawl_error error;
    char path[700];
    cr_assert_eq(mkdir(store, 0700), 0);
    join(path, sizeof path, store, "/", "letters");
    cr_assert_eq(mkdir(path, 0700), 0);
    cr_assert_eq(refusal_of(store, &options, &error), PAWL_EXISTS);
    cr_assert_not_null(strstr(error.sentence, "letters"), "%s", error.sentence);
    cr_assert(!is_there("identity"));
    cr_assert(!is_there("log"));
    const struct log_options join_options = joining();
    cr_assert_eq(refusal_of(store, &join_options, &error), PAWL_NO_STORE);
}

Test(opening, refuses_what_is_no_directory, .init = set_up, .fini = tear_down) {
    const struct log_options options = options_of(SMALL_SEGMENT);
    pawl_error error;
    char path[700];
    join(path, sizeof path, root, "/", "file");
    const int file = open(path, O_CREAT | O_WRONLY, 0600);
    cr_assert_geq(file, 0);
    cr_assert_eq(close(file), 0);
    (void)refusal_of(path, &options, &error);
    join(path, sizeof path, store, "/", "no/parent");
    (void)refusal_of(path, &options, &error);
}

Test(opening, takes_segments_of_8_KiB_and_no_smaller, .init = set_up, .fini = tear_down) {
    struct log_options options = options_of(SEGMENT_BYTES_MIN - 1);
    pawl_error error;
    cr_assert_eq(refusal_of(store, &options, &error), PAWL_INVALID);
    cr_assert_neq(access(store, F_OK), 0, "nothing was made");
    must_close(must_open_log(SEGMENT_BYTES_MIN));
    must_close(must_open_log(0));
}

/* An interrupted creation: identity is empty, and log/ is at some stage. */

static void must_begin_again(const char *stage) {
    const struct log_options options = options_of(SMALL_SEGMENT);
    const struct log_options join_options = joining();
    struct log_opening opening;
    pawl_error error;
    image_put(&image);
    cr_assert_eq(refusal_of(store, &join_options, &error), PAWL_NO_STORE, "%s", stage);
    image_put(&image);
    struct log *log = must_open_with(&options, &opening);
    cr_assert(opening.was_created, "%s", stage);
    (void)must_append_durably(log, 1, 40);
    must_close(log);
    log = must_open_log(SMALL_SEGMENT);
    must_read_all(log, 1);
    must_close(log);
}

/* The files of a store in which nothing has been written yet; with the handle open, so that no
 * mark of the closing is there. */
static void take_fresh_store(void) {
    struct log *log = must_open_log(SMALL_SEGMENT);
    image_take(&image);
    must_close(log);
    struct image_file *shared = image_find(&image, "shared");
    cr_assert_not_null(shared);
    image_remove(&image, shared);
}

Test(opening, finishes_an_interrupted_creation, .init = set_up, .fini = tear_down_image) {
    take_fresh_store();
    struct image_file *identity = image_find(&image, "identity");
    identity->count = 0;
    must_begin_again("all but the content of identity");
    identity->count = IDENTITY_BYTES;
    memset(identity->bytes, 0, IDENTITY_BYTES);
    must_begin_again("identity is all zeros");
    identity->count = 0;
    memset(image_segment(&image, 2)->bytes, 0, SEGMENT_DATA_AT);
    must_begin_again("the second segment has no header");
    image_segment(&image, 2)->count = 0;
    must_begin_again("the second segment is empty");
    image_remove(&image, image_segment(&image, 2));
    must_begin_again("there is no second segment");
    struct image_file *first = image_segment(&image, 1);
    first->bytes[SEGMENT_DATA_AT + 80] = 0;
    must_begin_again("the start is torn");
    memset(first->bytes + SEGMENT_DATA_AT, 0, SEGMENT_START_FRAME_BYTES);
    must_begin_again("there is no start");
    first->count = 100;
    must_begin_again("the first segment is torn");
    first->count = 0;
    must_begin_again("the first segment is empty");
    image_remove(&image, image_segment(&image, 1));
    must_begin_again("log/ is empty");
}

/* The writing of identity itself was interrupted: some bytes of it are there. */
Test(opening, finishes_a_creation_that_died_in_identity, .init = set_up, .fini = tear_down_image) {
    take_fresh_store();
    struct image_file *identity = image_find(&image, "identity");
    for (size_t count = 8; count < 56; count += 8) {
        identity->count = count;
        must_begin_again("identity is cut short");
    }
}

Test(opening, an_identity_lost_from_a_store_in_use_is_damage, .init = set_up,
     .fini = tear_down_image) {
    const struct log_options options = options_of(SMALL_SEGMENT);
    pawl_error error;
    struct log *log = must_open_log(SMALL_SEGMENT);
    (void)must_append_durably(log, 1, 40);
    image_take(&image);
    must_close(log);
    struct image_file *identity = image_find(&image, "identity");
    identity->count = 0;
    image_put(&image);
    cr_assert_eq(refusal_of(store, &options, &error), PAWL_DAMAGED, "empty");
    identity->name[0] = 'x';
    image_put(&image);
    cr_assert_eq(refusal_of(store, &options, &error), PAWL_DAMAGED, "gone");
    struct log_options no_making = options;
    no_making.create = false;
    cr_assert_eq(refusal_of(store, &no_making, &error), PAWL_DAMAGED, "gone");
    char path[1024];
    join(path, sizeof path, store, "/", "identity");
    cr_assert_neq(access(path, F_OK), 0, "none is made");
    identity->name[0] = 'i';
    identity->count = IDENTITY_BYTES;
    memset(identity->bytes, 0, IDENTITY_BYTES);
    image_put(&image);
    cr_assert_eq(refusal_of(store, &options, &error), PAWL_DAMAGED, "all zeros");
    cr_assert_str_eq(error.file, "identity");
}

/* The locks are on the file that was there before, where who comes later does not look. */
Test(opening, an_identity_replaced_while_the_store_is_open_lets_nobody_in, .init = set_up,
     .fini = tear_down_image) {
    struct log_options late = options_of(SMALL_SEGMENT);
    pawl_error error;
    late.busy_ns = 0;
    struct log *log = must_open_log(SMALL_SEGMENT);
    (void)must_append_durably(log, 1, 40);
    image_take(&image);
    const struct image_file *identity = image_find(&image, "identity");
    char path[1024], other[1024];
    join(path, sizeof path, store, "/", "identity");
    join(other, sizeof other, store, "/", "other");
    FILE *copy = fopen(other, "w");
    cr_assert(copy != NULL);
    cr_assert_eq(fwrite(identity->bytes, 1, identity->count, copy), identity->count);
    cr_assert_eq(fclose(copy), 0);
    cr_assert_eq(rename(other, path), 0);
    cr_assert_eq(refusal_of(store, &late, &error), PAWL_BUSY);
    cr_assert(strstr(error.sentence, "it was replaced") != NULL, "%s", error.sentence);
    late.exclusive = true;
    cr_assert_eq(refusal_of(store, &late, &error), PAWL_BUSY);
    (void)must_append_durably(log, 2, 40);
    must_close(log);
    log = must_open_log(SMALL_SEGMENT);
    must_read_all(log, 2);
    must_close(log);
}

/* As in a backup by hard links, or after a tool that joins equal files. */
Test(opening, a_reserve_with_a_second_name_or_without_blocks_is_made_anew, .init = set_up,
     .fini = tear_down_image) {
    struct log_options options = options_of(SMALL_SEGMENT);
    struct log_opening opening;
    char path[1024], second[1024];
    struct stat one, two;
    options.reserve_bytes = 16384;
    join(path, sizeof path, store, "/", "log/reserve-1");
    join(second, sizeof second, root, "/", "second");
    must_close(must_open_with(&options, &opening));
    cr_assert_eq(link(path, second), 0);
    must_close(must_open_with(&options, &opening));
    cr_assert_eq(stat(path, &one), 0);
    cr_assert_eq(stat(second, &two), 0);
    cr_assert_neq(one.st_ino, two.st_ino);
    const off_t bytes = one.st_size;
    cr_assert_eq(truncate(path, 0), 0);
    cr_assert_eq(truncate(path, bytes), 0);
    must_close(must_open_with(&options, &opening));
    cr_assert_eq(stat(path, &one), 0);
    cr_assert_eq(one.st_size, bytes);
    cr_assert_geq(one.st_blocks * 512, bytes);
}

Test(opening, a_segment_made_ahead_that_has_a_second_name_is_made_anew, .init = set_up,
     .fini = tear_down_image) {
    char path[1024], second[1024];
    struct stat before, after, ours;
    join(path, sizeof path, store, "/", "log/0000000002.seg");
    join(second, sizeof second, root, "/", "second");
    must_close(must_open_log(SMALL_SEGMENT));
    cr_assert_eq(link(path, second), 0);
    cr_assert_eq(stat(second, &before), 0);
    struct log *log = must_open_log(SMALL_SEGMENT);
    for (uint64_t i = 0; i < 12; i++)
        (void)must_append_durably(log, i + 1, 1000);
    must_read_all(log, 12);
    must_close(log);
    cr_assert_eq(stat(second, &after), 0);
    cr_assert_eq(stat(path, &ours), 0);
    cr_assert_neq(ours.st_ino, after.st_ino);
    cr_assert_eq(after.st_size, before.st_size);
    cr_assert_eq(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec, "nothing was written to it");
}

Test(opening, needs_one_copy_of_identity, .init = set_up, .fini = tear_down_image) {
    const struct log_options options = options_of(SMALL_SEGMENT);
    pawl_error error;
    struct log *log = must_open_log(SMALL_SEGMENT);
    (void)must_append_durably(log, 1, 40);
    must_close(log);
    image_take(&image);
    struct image_file *identity = image_find(&image, "identity");
    for (size_t copy = 0; copy < 2; copy++) {
        identity->bytes[copy * 512 + 20] ^= 1;
        image_put(&image);
        log = must_open_log(SMALL_SEGMENT);
        must_read_all(log, 1);
        must_close(log);
        identity->bytes[copy * 512 + 20] ^= 1;
    }
    identity->bytes[20] ^= 1;
    identity->bytes[512 + 20] ^= 1;
    image_put(&image);
    cr_assert_eq(refusal_of(store, &options, &error), PAWL_DAMAGED);
    cr_assert_str_eq(error.file, "identity");
}

/* No creation that died leaves that, so nothing is made anew, however little the log holds. */
Test(opening, refuses_two_whole_copies_of_identity_that_differ, .init = set_up,
     .fini = tear_down_image) {
    const struct log_options options = options_of(SMALL_SEGMENT);
    uint8_t other[512];
    pawl_error error;
    must_close(must_open_log(SMALL_SEGMENT));
    image_take(&image);
    memcpy(other, image_find(&image, "identity")->bytes, sizeof other);
    image_drop(&image);
    remove_tree(store);
    struct log *log = must_open_log(SMALL_SEGMENT);
    image_take(&image);
    must_close(log);
    struct image_file *identity = image_find(&image, "identity");
    memcpy(identity->bytes + sizeof other, other, sizeof other);
    image_put(&image);
    cr_assert_eq(refusal_of(store, &options, &error), PAWL_DAMAGED);
    cr_assert_not_null(strstr(error.sentence, "differ"), "%s", error.sentence);
    struct image after = {0};
    image_take(&after);
    cr_assert_arr_eq(image_find(&after, "identity")->bytes, identity->bytes, 1024, "as it was");
    image_drop(&after);
}

Test(opening, needs_its_log_directory, .init = set_up, .fini = tear_down) {
    const struct log_options options = options_of(SMALL_SEGMENT);
    pawl_error error;
    char path[700];
    must_close(must_open_log(SMALL_SEGMENT));
    join(path, sizeof path, store, "/", "log");
    remove_tree(path);
    cr_assert_eq(refusal_of(store, &options, &error), PAWL_DAMAGED);
    cr_assert_eq(mkdir(path, 0700), 0);
    cr_assert_eq(refusal_of(store, &options, &error), PAWL_DAMAGED, "nor is an empty one enough");
    cr_assert_str_eq(error.file, "0000000001.seg");
}

Test(opening, does_without_shared, .init = set_up, .fini = tear_down_image) {
    struct log *log = must_open_log(SMALL_SEGMENT);
    (void)must_append_durably(log, 1, 40);
    must_close(log);
    image_take(&image);
    struct image_file *shared = image_find(&image, "shared");
    memset(shared->bytes, 0xff, shared->count);
    image_put(&image);
    log = must_open_log(SMALL_SEGMENT);
    must_read_all(log, 1);
    must_close(log);
    shared->count = 0;
    image_put(&image);
    log = must_open_log(SMALL_SEGMENT);
    must_read_all(log, 1);
    must_close(log);
    image_remove(&image, shared);
    image_put(&image);
    log = must_open_log(SMALL_SEGMENT);
    must_read_all(log, 1);
    must_close(log);
}

/* B05. */
Test(opening, a_store_that_holds_nothing_takes_its_first_frame_after_a_crash, .init = set_up,
     .fini = tear_down_image) {
    take_fresh_store();
    for (int i = 0; i < 2; i++) {
        image_put(&image);
        struct log *log = must_open_log(SMALL_SEGMENT);
        (void)must_append_durably(log, 1, 40);
        must_read_all(log, 1);
        must_close(log);
        memset(image_segment(&image, 2)->bytes, 0, SEGMENT_DATA_AT);
    }
}

/* Several handles. */

static void must_name_this_process(const pawl_error *error) {
    char pid[32];
    (void)snprintf(pid, sizeof pid, "process %d ", (int)getpid());
    cr_assert_not_null(strstr(error->sentence, pid), "%s", error->sentence);
}

Test(opening, exclusive_keeps_everybody_else_out, .init = set_up, .fini = tear_down) {
    struct log_options exclusive = options_of(SMALL_SEGMENT), late = options_of(SMALL_SEGMENT);
    struct log_opening opening;
    pawl_error error;
    exclusive.exclusive = true;
    late.busy_ns = 0;
    struct log *log = must_open_with(&exclusive, &opening);
    (void)must_append_durably(log, 1, 40);
    cr_assert_eq(refusal_of(store, &late, &error), PAWL_BUSY);
    must_name_this_process(&error);
    late.exclusive = true;
    cr_assert_eq(refusal_of(store, &late, &error), PAWL_BUSY);
    must_name_this_process(&error);
    (void)must_append_durably(log, 2, 40);
    must_close(log);
    log = must_open_with(&exclusive, &opening);
    cr_assert(opening.was_closed);
    must_read_all(log, 2);
    must_close(log);
}

Test(opening, exclusive_waits_for_nobody_who_is_there, .init = set_up, .fini = tear_down) {
    struct log_options exclusive = options_of(SMALL_SEGMENT);
    pawl_error error;
    exclusive.exclusive = true;
    exclusive.busy_ns = 0;
    struct log *log = must_open_log(SMALL_SEGMENT);
    cr_assert_eq(refusal_of(store, &exclusive, &error), PAWL_BUSY);
    must_name_this_process(&error);
    (void)must_append_durably(log, 1, 40);
    must_close(log);
    struct log_opening opening;
    exclusive.busy_ns = 1000000000;
    log = must_open_with(&exclusive, &opening);
    must_read_all(log, 1);
    must_close(log);
}

Test(opening, the_first_one_decides_how_large_segments_are, .init = set_up, .fini = tear_down) {
    struct log *first = must_open_log(SMALL_SEGMENT);
    const struct log_options large = options_of(1024 * 1024);
    struct log_opening opening;
    struct log *second = must_open_with(&large, &opening);
    cr_assert(!opening.was_alone);
    for (uint64_t number = 1; number <= 40; number++)
        (void)must_append_durably(second, number, 300);
    image_take(&image);
    cr_assert_geq(image_newest_used(&image), 3);
    image_drop(&image);
    must_close(second);
    must_close(first);
}

Test(opening, only_the_last_one_out_closes_the_log, .init = set_up, .fini = tear_down_image) {
    struct log *first = must_open_log(SMALL_SEGMENT), *second = must_open_log(SMALL_SEGMENT);
    (void)must_append_durably(first, 1, 40);
    must_close(first);
    image_take(&image);
    (void)must_append_durably(second, 2, 40);
    must_close(second);
    const struct log_options options = options_of(SMALL_SEGMENT);
    struct log_opening opening;
    struct log *log = must_open_with(&options, &opening);
    cr_assert(opening.was_closed);
    must_read_all(log, 2);
    must_close(log);
    image_put(&image);
    log = must_open_with(&options, &opening);
    cr_assert(!opening.was_closed, "the second was there still");
    must_read_all(log, 1);
    must_close(log);
}

/* A child that appends one number, durably, and says so; then it waits to be killed. */
static void be_killed(int out) {
    struct os *own = NULL;
    struct log *log = NULL;
    struct log_opening opening;
    const struct log_options options = options_of(SMALL_SEGMENT);
    if (os_posix_create(&own) != 0 ||
        log_open(own, store, &options, &log, &opening, NULL) != PAWL_OK)
        _exit(1);
    struct place place;
    if (try_append(log, 1, 40, FRAME_NEEDS_SYNC, OS_NO_DEADLINE, &place, NULL) != PAWL_OK ||
        log_wait_durable(log, place.end_lsn, OS_NO_DEADLINE, NULL) != PAWL_OK ||
        log_lock(log, 1000, LOG_ORDINARY, OS_NO_DEADLINE, NULL) != PAWL_OK ||
        write(out, "x", 1) != 1)
        _exit(1);
    for (;;)
        (void)pause();
}

static pid_t start_doomed(void) {
    int pipes[2];
    char byte = 0;
    cr_assert_eq(pipe(pipes), 0);
    const pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0)
        be_killed(pipes[1]);
    cr_assert_eq(close(pipes[1]), 0);
    cr_assert_eq(read(pipes[0], &byte, 1), 1, "the child got as far as that");
    cr_assert_eq(close(pipes[0]), 0);
    return child;
}

static void kill_doomed(pid_t child) {
    int status = 0;
    cr_assert_eq(kill(child, SIGKILL), 0);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFSIGNALED(status));
}

Test(opening, after_a_killed_process_is_alone, .init = set_up, .fini = tear_down) {
    kill_doomed(start_doomed());
    const struct log_options options = options_of(SMALL_SEGMENT);
    struct log_opening opening;
    struct log *log = must_open_with(&options, &opening);
    cr_assert(opening.was_alone);
    cr_assert(!opening.was_created);
    cr_assert(!opening.was_closed);
    must_read_all(log, 1);
    (void)must_append_durably(log, 2, 40);
    must_read_all(log, 2);
    must_close(log);
}

/* Killed while it held the append lock, beside one who lives. */
Test(opening, a_lock_held_by_the_killed_is_taken_over, .init = set_up, .fini = tear_down) {
    struct log *log = must_open_log(SMALL_SEGMENT);
    const pid_t child = start_doomed();
    struct place place;
    pawl_error error = {0};
    cr_assert_eq(try_append(log, 2, 40, 0, 0, &place, &error), PAWL_BUSY);
    char pid[32];
    (void)snprintf(pid, sizeof pid, "process %d ", (int)child);
    cr_assert_not_null(strstr(error.sentence, pid), "%s", error.sentence);
    kill_doomed(child);
    (void)must_append_durably(log, 2, 40);
    must_read_all(log, 2);
    must_close(log);
}

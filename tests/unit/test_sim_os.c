#include <criterion/criterion.h>

#include <errno.h>
#include <string.h>

#include "world.h"

/* Asserting inside a fiber would leave by its stack: the first line that is wrong is kept. */
struct scene {
    struct world *world;
    int wrong_line;
    int result;
    uint64_t number;
    _Atomic bool has_it, may_end;
};

#define EXPECT(scene, holds) ((holds) ? (void)0 : expect_not((scene), __LINE__))

static void expect_not(struct scene *scene, int line) {
    if (scene->wrong_line == 0)
        scene->wrong_line = line;
}

enum { BYTES = 3 * DISK_BLOCK, CREATE = OS_OPEN_READ | OS_OPEN_WRITE | OS_OPEN_CREATE };

static struct scene scene_make(const struct world_options *options) {
    struct world_options all = options == NULL ? (struct world_options){0} : *options;
    all.blocks_max = all.blocks_max == 0 ? 1000 : all.blocks_max;
    all.calls_max = 100000;
    return (struct scene){.world = world_make(&all)};
}

/* Runs `main` alone, to its end. */
static enum world_news perform(struct scene *scene, process_main main) {
    cr_assert_geq(world_spawn(scene->world, main, scene), 0);
    const enum world_news news = world_run(scene->world);
    cr_assert_eq(scene->wrong_line, 0, "line %d", scene->wrong_line);
    return news;
}

static struct os_file *open_file(struct scene *scene, struct os *os, const char *name,
                                 unsigned how) {
    struct os_dir *dir;
    struct os_file *file = NULL;
    EXPECT(scene, os_dir_open(os, ".", OS_OPEN_READ, &dir) == 0);
    scene->result = os_file_open(os, dir, name, how, &file);
    os_dir_close(os, dir);
    return file;
}

static int write_all(struct os *os, struct os_file *file, char with) {
    char content[BYTES];
    memset(content, with, sizeof content);
    return os_file_write(os, file, content, sizeof content, 0);
}

/* How many bytes of that value the file begins with. */
static size_t count_in(struct scene *scene, const char *name, char with) {
    struct disk *disk = world_disk(scene->world);
    char content[BYTES];
    const size_t bytes = disk_read(disk, disk_lookup(disk, 0, name), content, sizeof content, 0);
    size_t count = 0;
    while (count < bytes && content[count] == with)
        count++;
    return count;
}

static void names_main(struct process *process, void *context) {
    struct scene *scene = context;
    struct os *os = process_os(process);
    struct os_dir *dir, *inner;
    struct os_file *file;
    EXPECT(scene, os_dir_open(os, "store", OS_OPEN_READ, &dir) == ENOENT);
    EXPECT(scene, os_dir_open(os, "store", OS_OPEN_READ | OS_OPEN_CREATE, &dir) == 0);
    EXPECT(scene, os_dir_open_at(os, dir, "log", OS_OPEN_CREATE | OS_OPEN_EXCLUSIVE, &inner) == 0);
    os_dir_close(os, inner);
    EXPECT(scene, os_dir_open(os, "store/log", OS_OPEN_READ, &inner) == 0);
    os_dir_close(os, inner);
    EXPECT(scene,
           os_dir_open_at(os, dir, "log", OS_OPEN_CREATE | OS_OPEN_EXCLUSIVE, &inner) == EEXIST);
    EXPECT(scene, os_file_open(os, dir, "log", OS_OPEN_READ, &file) == EINVAL);
    EXPECT(scene, os_file_open(os, dir, "a", OS_OPEN_READ, &file) == ENOENT);
    EXPECT(scene, os_file_open(os, dir, "a", CREATE | OS_OPEN_EXCLUSIVE, &file) == 0);
    EXPECT(scene, os_file_close(os, file) == 0);
    EXPECT(scene, os_file_open(os, dir, "a", CREATE | OS_OPEN_EXCLUSIVE, &file) == EEXIST);
    EXPECT(scene, os_dir_open_at(os, dir, "a", OS_OPEN_READ, &inner) == ENOTDIR);
    EXPECT(scene, os_file_open(os, dir, "a name of more than thirty-one bytes", CREATE, &file) ==
                      ENAMETOOLONG);
    EXPECT(scene, os_rename(os, dir, "b", "c") == ENOENT);
    EXPECT(scene, os_unlink(os, dir, "b") == ENOENT);
    EXPECT(scene, os_rename(os, dir, "a", "b") == 0);
    EXPECT(scene, os_unlink(os, dir, "b") == 0);
    os_dir_close(os, dir);
}

Test(sim_os, names_are_opened_as_the_seam_says) {
    struct scene scene = scene_make(NULL);
    cr_assert_eq(perform(&scene, names_main), WORLD_QUIET);
    world_free(scene.world);
}

static void finder_main(struct process *process, void *context) {
    struct scene *scene = context;
    struct os *os = process_os(process);
    struct os_file *file = open_file(scene, os, "a", CREATE);
    uint64_t found = 77;
    EXPECT(scene, os_file_find_data(os, file, 0, &found) == ENOENT && found == 77);
    EXPECT(scene, os_file_zero_fill(os, file, 0, BYTES) == 0);
    EXPECT(scene, os_file_find_data(os, file, 0, &found) == ENOENT && found == 77);
    EXPECT(scene, os_file_write(os, file, "x", 1, DISK_BLOCK + 700) == 0);
    EXPECT(scene, os_file_find_data(os, file, 9, &found) == 0 && found == DISK_BLOCK);
    EXPECT(scene, os_file_find_data(os, file, DISK_BLOCK + 600, &found) == 0);
    EXPECT(scene, found == DISK_BLOCK + 600);
    EXPECT(scene, os_file_find_data(os, file, DISK_BLOCK + 701, &found) == ENOENT);
    EXPECT(scene, os_file_find_data(os, file, UINT64_MAX, &found) == ENOENT);
    world_fail_call(scene->world, CALL_FIND_DATA, 1, EIO, false);
    EXPECT(scene, os_file_find_data(os, file, 0, &found) == EIO);
    EXPECT(scene, os_file_close(os, file) == 0);
}

Test(sim_os, what_lies_behind_zeros_is_found) {
    struct scene scene = scene_make(NULL);
    cr_assert_eq(perform(&scene, finder_main), WORLD_QUIET);
    world_free(scene.world);
}

static void writer_main(struct process *process, void *context) {
    struct scene *scene = context;
    struct os *os = process_os(process);
    struct os_file *file = open_file(scene, os, "a", CREATE);
    if (file == NULL)
        return;
    scene->result = write_all(os, file, 'w');
    if (scene->result == 0)
        scene->result = os_file_sync(os, file);
    EXPECT(scene, os_file_close(os, file) == 0);
}

Test(sim_os, a_kill_inside_a_write_leaves_a_prefix) {
    bool met_part = false, met_odd = false;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct scene scene = scene_make(&(struct world_options){.seed = seed});
        world_plan_fault(scene.world, FAULT_KILL_IN_WRITE, 1);
        cr_assert_eq(perform(&scene, writer_main), WORLD_DIED);
        const size_t bytes = count_in(&scene, "a", 'w');
        const struct disk *disk = world_disk(scene.world);
        cr_assert_eq(bytes, disk->inodes[disk_lookup(disk, 0, "a")].seen_bytes);
        met_part |= bytes > 0 && bytes < BYTES;
        met_odd |= bytes % DISK_BLOCK != 0;
        cr_assert_eq(world_fault_count(scene.world, FAULT_KILL_IN_WRITE), 1);
        world_free(scene.world);
    }
    cr_assert(met_part && met_odd);
}

Test(sim_os, a_disk_can_be_full_after_any_byte) {
    bool met_odd = false;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct scene scene = scene_make(&(struct world_options){.seed = seed});
        world_plan_fault(scene.world, FAULT_SPACE, 2); /* the first is at the name */
        cr_assert_eq(perform(&scene, writer_main), WORLD_QUIET);
        cr_assert_eq(scene.result, ENOSPC);
        cr_assert_lt(count_in(&scene, "a", 'w'), BYTES);
        met_odd |= count_in(&scene, "a", 'w') % DISK_SECTOR != 0;
        world_free(scene.world);
    }
    cr_assert(met_odd);
}

Test(sim_os, a_small_disk_is_full_at_its_end) {
    struct scene scene = scene_make(&(struct world_options){.blocks_max = 2});
    cr_assert_eq(perform(&scene, writer_main), WORLD_QUIET);
    cr_assert_eq(scene.result, ENOSPC);
    cr_assert_eq(count_in(&scene, "a", 'w'), 2 * DISK_BLOCK);
    world_heal(scene.world);
    cr_assert_eq(perform(&scene, writer_main), WORLD_QUIET);
    cr_assert_eq(scene.result, 0);
    world_free(scene.world);
}

Test(sim_os, any_call_fails_when_asked_to_once_or_for_ever) {
    static const enum call calls[] = {CALL_FILE_OPEN, CALL_FILE_WRITE, CALL_FILE_SYNC};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        for (int for_ever = 0; for_ever < 2; for_ever++) {
            struct scene scene = scene_make(NULL);
            world_fail_call(scene.world, calls[i], 2, EIO, for_ever);
            const int results[] = {0, EIO, for_ever ? EIO : 0};
            for (int run = 0; run < 3; run++) {
                cr_assert_eq(perform(&scene, writer_main), WORLD_QUIET);
                cr_assert_eq(scene.result, results[run], "%s, run %d", call_name(calls[i]), run);
            }
            cr_assert_geq(world_call_count(scene.world, calls[i]), 2);
            world_free(scene.world);
        }
    }
}

static void memory_main(struct process *process, void *context) {
    struct scene *scene = context;
    struct os *os = process_os(process);
    void *first = os_allocate(os, 100), *second = os_allocate(os, 100);
    scene->number = (uint64_t)(first == NULL) | (uint64_t)(second == NULL) << 1;
    os_release(os, first, 100);
    os_release(os, second, 100);
}

Test(sim_os, any_allocation_can_fail) {
    for (uint64_t number = 1; number <= 2; number++) {
        struct scene scene = scene_make(NULL);
        world_plan_fault(scene.world, FAULT_MEMORY, number);
        cr_assert_eq(perform(&scene, memory_main), WORLD_QUIET);
        cr_assert_eq(scene.number, number);
        world_free(scene.world);
    }
}

/* ---- Syncs ---- */

static void failed_sync_main(struct process *process, void *context) {
    struct scene *scene = context;
    struct os *os = process_os(process);
    struct os_file *file = open_file(scene, os, "a", CREATE);
    struct os_file *other = open_file(scene, os, "a", CREATE);
    EXPECT(scene, write_all(os, file, 'n') == 0);
    EXPECT(scene, os_file_sync(os, file) == EIO);
    EXPECT(scene, os_file_sync(os, file) == 0);
    const int told = os_file_sync(os, other);
    EXPECT(scene, told == 0 || told == EIO);
    scene->number = told == EIO;
    EXPECT(scene, os_file_sync(os, other) == 0);
    EXPECT(scene, count_in(scene, "a", 'n') == BYTES);
    EXPECT(scene, os_file_drop_cache(os, file) == 0);
    (void)os_file_close(os, file);
    (void)os_file_close(os, other);
}

Test(sim_os, a_failed_sync_is_told_once_and_loses_what_it_had) {
    unsigned told = 0, lost = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct scene scene = scene_make(&(struct world_options){.seed = seed});
        cr_assert_eq(perform(&scene, writer_main), WORLD_QUIET);
        world_plan_fault(scene.world, FAULT_SYNC, 1);
        cr_assert_eq(perform(&scene, failed_sync_main), WORLD_QUIET);
        told += scene.number == 1;
        lost += count_in(&scene, "a", 'n') < BYTES;
        world_free(scene.world);
    }
    cr_assert(told > 20 && told < 80);
    cr_assert_gt(lost, 90);
}

static void late_error_main(struct process *process, void *context) {
    struct scene *scene = context;
    struct os *os = process_os(process);
    struct os_file *file = open_file(scene, os, "a", CREATE);
    EXPECT(scene, write_all(os, file, 'n') == 0);
    struct os_file *later = open_file(scene, os, "a", CREATE);
    EXPECT(scene, os_file_sync(os, later) == EIO);
    EXPECT(scene, os_file_sync(os, later) == 0);
    EXPECT(scene, os_file_sync(os, file) == EIO);
    struct os_file *latest = open_file(scene, os, "a", CREATE);
    EXPECT(scene, os_file_sync(os, latest) == 0);
    (void)os_file_close(os, file);
    (void)os_file_close(os, later);
    (void)os_file_close(os, latest);
}

Test(sim_os, an_error_of_the_write_back_is_told_to_all_who_have_it_open) {
    struct scene scene = scene_make(NULL);
    world_plan_fault(scene.world, FAULT_WRITE_BACK, 1);
    cr_assert_eq(perform(&scene, late_error_main), WORLD_QUIET);
    world_free(scene.world);
}

static void unsynced_main(struct process *process, void *context) {
    struct scene *scene = context;
    struct os *os = process_os(process);
    struct os_file *file = open_file(scene, os, "a", CREATE);
    EXPECT(scene, write_all(os, file, 'n') == 0);
    (void)os_file_close(os, file);
}

Test(sim_os, an_error_that_nobody_was_told_of_waits_until_faults_end) {
    for (int is_healed = 0; is_healed < 2; is_healed++) {
        struct scene scene = scene_make(NULL);
        world_plan_fault(scene.world, FAULT_WRITE_BACK, 1);
        cr_assert_eq(perform(&scene, unsynced_main), WORLD_QUIET);
        if (is_healed)
            world_heal(scene.world);
        cr_assert_eq(perform(&scene, writer_main), WORLD_QUIET);
        cr_assert_eq(scene.result, is_healed ? 0 : EIO);
        cr_assert_eq(perform(&scene, writer_main), WORLD_QUIET);
        cr_assert_eq(scene.result, 0);
        world_free(scene.world);
    }
}

/* ---- Locks ---- */

static void locks_main(struct process *process, void *context) {
    struct scene *scene = context;
    struct os *os = process_os(process);
    struct os_file *one = open_file(scene, os, "a", CREATE);
    struct os_file *other = open_file(scene, os, "a", CREATE);
    uint64_t byte = 99;
    EXPECT(scene, os_lock_take(os, one, 5) == 0);
    EXPECT(scene, os_lock_take(os, one, 5) == 0);
    EXPECT(scene, os_lock_take(os, other, 5) == EAGAIN);
    EXPECT(scene, os_lock_take(os, other, 6) == 0);
    EXPECT(scene, os_lock_find(os, one, 0, 10, &byte) == 0 && byte == 6);
    EXPECT(scene, os_lock_find(os, other, 0, 10, &byte) == 0 && byte == 5);
    EXPECT(scene, os_lock_find(os, other, 6, 4, &byte) == ENOENT);
    os_lock_drop(os, one, 5);
    EXPECT(scene, os_lock_take(os, other, 5) == 0);
    EXPECT(scene, os_file_close(os, other) == 0);
    EXPECT(scene, os_lock_find(os, one, 0, 10, &byte) == ENOENT);
    EXPECT(scene, os_file_close(os, one) == 0);
}

Test(sim_os, locks_are_of_an_open_and_exclude_each_other) {
    struct scene scene = scene_make(NULL);
    cr_assert_eq(perform(&scene, locks_main), WORLD_QUIET);
    world_free(scene.world);
}

static void holder_main(struct process *process, void *context) {
    struct scene *scene = context;
    struct os *os = process_os(process);
    struct os_file *file = open_file(scene, os, "a", CREATE);
    EXPECT(scene, os_lock_take(os, file, 1) == 0);
    EXPECT(scene, os_allocate(os, 1000) != NULL);
    scene->has_it = true;
    for (;;)
        os_pause(os, 1000000);
}

static void taker_main(struct process *process, void *context) {
    struct scene *scene = context;
    struct os *os = process_os(process);
    while (!scene->has_it)
        os_pause(os, 1000000);
    struct os_file *file = open_file(scene, os, "a", CREATE);
    scene->result = os_lock_take(os, file, 1);
    EXPECT(scene, os_file_close(os, file) == 0);
    scene->may_end = true;
}

/* Runs until the taker has tried. */
static void try_to_take(struct scene *scene) {
    scene->may_end = false;
    cr_assert_geq(world_spawn(scene->world, taker_main, scene), 0);
    for (int i = 0; i < 1000 && !scene->may_end; i++) {
        world_limit_calls(scene->world, 100);
        (void)world_run(scene->world);
    }
    cr_assert(scene->may_end);
    cr_assert_eq(scene->wrong_line, 0, "line %d", scene->wrong_line);
}

Test(sim_os, a_stopped_process_keeps_its_locks_and_a_killed_one_does_not) {
    struct scene scene = scene_make(&(struct world_options){.switching = 20000});
    const int holder = world_spawn(scene.world, holder_main, &scene);
    try_to_take(&scene);
    cr_assert_eq(scene.result, EAGAIN);
    world_stop_process(scene.world, holder);
    try_to_take(&scene);
    cr_assert_eq(scene.result, EAGAIN);
    world_kill_process(scene.world, holder);
    cr_assert_not(world_is_alive(scene.world, holder));
    try_to_take(&scene);
    cr_assert_eq(scene.result, 0);
    world_free(scene.world);
}

/* ---- Mappings and words ---- */

static void mapper_main(struct process *process, void *context) {
    struct scene *scene = context;
    struct os *os = process_os(process);
    struct os_file *file = open_file(scene, os, "a", CREATE);
    struct os_stat stat;
    EXPECT(scene, os_file_stat(os, file, &stat) == 0);
    void *memory = NULL;
    EXPECT(scene, os_file_map(os, file, stat.bytes + 1, &memory) == EINVAL);
    EXPECT(scene, os_file_map(os, file, stat.bytes, &memory) == 0);
    EXPECT(scene, os_file_close(os, file) == 0);
    _Atomic uint32_t *word = memory;
    /* The first to come, to an odd number, waits for the second. */
    if (atomic_fetch_add(word, 1) % 2 == 1) {
        const uint32_t mine = atomic_load(word);
        EXPECT(scene, os_futex_wait(os, word, mine, OS_NO_DEADLINE) == 0);
        scene->number++;
    } else {
        os_futex_wake(os, word, 1);
    }
    os_file_unmap(os, memory, stat.bytes);
}

Test(sim_os, a_mapping_is_one_memory_for_all_and_words_in_it_wake) {
    struct scene scene = scene_make(NULL);
    cr_assert_eq(perform(&scene, writer_main), WORLD_QUIET);
    cr_assert_geq(world_spawn(scene.world, mapper_main, &scene), 0);
    cr_assert_eq(world_run(scene.world), WORLD_STRANDED);
    cr_assert_eq(perform(&scene, mapper_main), WORLD_QUIET);
    cr_assert_eq(scene.number, 1);
    world_free(scene.world);
}

/* ---- Misuse ---- */

static void leaks_memory(struct process *process, void *context) {
    struct scene *scene = context;
    EXPECT(scene, os_allocate(process_os(process), 100) != NULL);
}

static void leaks_file(struct process *process, void *context) {
    EXPECT((struct scene *)context, open_file(context, process_os(process), "a", CREATE) != NULL);
}

static void releases_other_size(struct process *process, void *context) {
    struct scene *scene = context;
    void *memory = os_allocate(process_os(process), 100);
    EXPECT(scene, memory != NULL);
    os_release(process_os(process), memory, 99);
}

static void writes_unasked(struct process *process, void *context) {
    struct scene *scene = context;
    struct os *os = process_os(process);
    (void)os_file_close(os, open_file(scene, os, "a", CREATE));
    struct os_file *file = open_file(scene, os, "a", OS_OPEN_READ);
    EXPECT(scene, os_file_write(os, file, "x", 1, 0) == EBADF);
    (void)os_file_close(os, file);
}

static void unmaps_nothing(struct process *process, void *context) {
    os_file_unmap(process_os(process), context, 1);
}

Test(sim_os, misuse_of_the_seam_is_news) {
    static const struct {
        process_main main;
        const char *complaint;
    } misuses[] = {
        {leaks_memory, "p0 ended and did not release 100 bytes"},
        {leaks_file, "p0 ended and did not close a"},
        {releases_other_size, "p0 released what is no memory of it, or not of this size"},
        {writes_unasked, "p0 writes to a, which it has opened for reading"},
        {unmaps_nothing, "p0 unmapped what is not mapped"},
    };
    for (size_t i = 0; i < sizeof misuses / sizeof misuses[0]; i++) {
        struct scene scene = scene_make(NULL);
        cr_assert_eq(perform(&scene, misuses[i].main), WORLD_BROKEN);
        cr_assert_str_eq(world_complaint(scene.world), misuses[i].complaint);
        world_free(scene.world);
    }
}

/* ---- Boots ---- */

static void boot_main(struct process *process, void *context) {
    struct scene *scene = context;
    struct os *os = process_os(process);
    uint8_t id[OS_BOOT_ID_BYTES];
    os_boot_id(os, id);
    memcpy(&scene->number, id, sizeof scene->number);
    const uint64_t before = os_clock_boot(os);
    os_pause(os, 1000);
    EXPECT(scene, os_clock_boot(os) >= before + 1000);
}

Test(sim_os, a_power_cut_begins_another_boot) {
    struct scene scene = scene_make(NULL);
    cr_assert_eq(perform(&scene, boot_main), WORLD_QUIET);
    const uint64_t first = scene.number;
    cr_assert_eq(perform(&scene, boot_main), WORLD_QUIET);
    cr_assert_eq(scene.number, first);
    world_cut_power(scene.world);
    cr_assert_eq(perform(&scene, boot_main), WORLD_QUIET);
    cr_assert_neq(scene.number, first);
    world_free(scene.world);
}

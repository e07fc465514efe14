#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "disk.h"

enum { SEEDS = 400, BYTES = 16 * DISK_SECTOR };

static struct disk disk;
static int file; /* durable under the name "a", full of 'o' */
static struct prng prng;

static void fill(int inode, char with, size_t bytes, uint64_t offset) {
    uint8_t content[BYTES];
    memset(content, with, sizeof content);
    cr_assert_eq(disk_write(&disk, inode, content, bytes, offset), bytes);
}

static void start(uint64_t seed) {
    prng = prng_stream(seed, 1);
    disk_init(&disk, 1000);
    file = disk_create(&disk, 0, "a", false);
    fill(file, 'o', BYTES, 0);
    disk_sync(&disk, file);
    disk_sync_dir(&disk, 0);
}

static char seen_at(int inode, uint64_t offset) {
    char byte = '?';
    (void)disk_read(&disk, inode, &byte, 1, offset);
    return byte;
}

/* The one value that a whole sector has; '!' when it is torn. */
static char sector_of(int inode, uint64_t sector) {
    char bytes[DISK_SECTOR] = {'!'};
    (void)disk_read(&disk, inode, bytes, sizeof bytes, sector * DISK_SECTOR);
    for (size_t i = 1; i < sizeof bytes; i++) {
        if (bytes[i] != bytes[0])
            return '!';
    }
    return bytes[0];
}

Test(sim_disk, what_was_synced_survives_every_cut) {
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        start(seed);
        fill(file, 'n', 3 * DISK_SECTOR, 5 * DISK_SECTOR);
        for (int cut = 0; cut < 3; cut++) {
            disk_crash(&disk, &prng);
            cr_assert_eq(disk_lookup(&disk, 0, "a"), file);
            cr_assert_eq(disk.inodes[file].seen_bytes, BYTES);
            for (uint64_t i = 0; i < BYTES / DISK_SECTOR; i++)
                cr_assert(sector_of(file, i) == 'o' ||
                          (i >= 5 && i < 8 && sector_of(file, i) == 'n'));
        }
        disk_deinit(&disk);
    }
}

Test(sim_disk, a_cut_leaves_every_subset_of_dirty_sectors) {
    bool met[16] = {false};
    for (uint64_t seed = 0; seed < 5 * SEEDS; seed++) {
        start(seed);
        fill(file, 'n', 4 * DISK_SECTOR, 0);
        disk_crash(&disk, &prng);
        unsigned subset = 0;
        for (unsigned i = 0; i < 4; i++)
            subset |= (unsigned)(sector_of(file, i) == 'n') << i;
        met[subset] = true;
        disk_deinit(&disk);
    }
    for (unsigned i = 0; i < 16; i++)
        cr_assert(met[i], "subset %u", i);
}

Test(sim_disk, a_cut_leaves_any_size_between_old_and_new) {
    bool met_old = false, met_new = false, met_between = false;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        start(seed);
        fill(file, 'n', 4 * DISK_SECTOR, BYTES);
        disk_crash(&disk, &prng);
        const size_t bytes = disk.inodes[file].seen_bytes;
        cr_assert(bytes >= BYTES && bytes <= BYTES + 4 * DISK_SECTOR);
        met_old |= bytes == BYTES;
        met_new |= bytes == BYTES + 4 * DISK_SECTOR;
        met_between |= bytes % DISK_SECTOR != 0;
        for (uint64_t at = BYTES; at < bytes; at += 100)
            cr_assert(seen_at(file, at) == 'n' || seen_at(file, at) == '\0');
        disk_deinit(&disk);
    }
    cr_assert(met_old && met_new && met_between);
}

Test(sim_disk, a_shortened_file_keeps_what_was_synced_below) {
    bool met_cut = false, met_uncut = false;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        start(seed);
        disk_truncate(&disk, file, BYTES / 2);
        disk_crash(&disk, &prng);
        met_cut |= disk.inodes[file].seen_bytes == BYTES / 2;
        met_uncut |= disk.inodes[file].seen_bytes == BYTES;
        for (uint64_t i = 0; i < BYTES / 2 / DISK_SECTOR; i++)
            cr_assert_eq(sector_of(file, i), 'o');
        disk_deinit(&disk);
    }
    cr_assert(met_cut && met_uncut);
}

/* Bit 0: `first` is there. Bit 1: `second` is. */
static unsigned names_after_cut(const char *first, const char *second) {
    disk_crash(&disk, &prng);
    const unsigned names = (unsigned)(disk_lookup(&disk, 0, first) >= 0) |
                           (unsigned)(disk_lookup(&disk, 0, second) >= 0) << 1;
    disk_deinit(&disk);
    return names;
}

Test(sim_disk, unsynced_names_survive_in_any_subset) {
    bool met[4] = {false};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        start(seed);
        disk_sync(&disk, disk_create(&disk, 0, "b", false)); /* which is no sync of the name */
        (void)disk_create(&disk, 0, "c", false);
        met[names_after_cut("b", "c")] = true;
    }
    cr_assert(met[0] && met[1] && met[2] && met[3]);
}

Test(sim_disk, a_directorys_sync_makes_its_names_durable_and_no_others) {
    bool met_lost = false;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        start(seed);
        const int dir = disk_create(&disk, 0, "d", true);
        (void)disk_create(&disk, dir, "inner", false);
        disk_sync_dir(&disk, 0);
        disk_crash(&disk, &prng);
        cr_assert_eq(disk_lookup(&disk, 0, "d"), dir);
        met_lost |= disk_lookup(&disk, dir, "inner") < 0;
        disk_deinit(&disk);
    }
    cr_assert(met_lost);
}

Test(sim_disk, a_rename_is_old_or_new_and_never_both) {
    bool met[2] = {false};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        start(seed);
        const int other = disk_create(&disk, 0, "b", false);
        disk_sync_dir(&disk, 0);
        disk_rename(&disk, 0, "b", "a");
        cr_assert_eq(disk_lookup(&disk, 0, "a"), other);
        disk_crash(&disk, &prng);
        const bool is_new = disk_lookup(&disk, 0, "a") == other;
        cr_assert_eq(disk_lookup(&disk, 0, "a"), is_new ? other : file);
        cr_assert_eq(disk_lookup(&disk, 0, "b"), is_new ? -1 : other);
        met[is_new] = true;
        disk_deinit(&disk);
    }
    cr_assert(met[0] && met[1]);
}

Test(sim_disk, an_unlinked_name_may_come_back_with_its_bytes) {
    bool met[2] = {false};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        start(seed);
        disk_unlink(&disk, 0, "a");
        cr_assert_eq(disk_lookup(&disk, 0, "a"), -1);
        disk_crash(&disk, &prng);
        const int back = disk_lookup(&disk, 0, "a");
        met[back >= 0] = true;
        cr_assert(back < 0 || sector_of(back, 3) == 'o');
        disk_deinit(&disk);
    }
    cr_assert(met[0] && met[1]);
}

Test(sim_disk, a_failed_sync_loses_what_a_later_one_says_is_there) {
    bool met_lost = false;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        start(seed);
        fill(file, 'n', BYTES, 0);
        disk_sync_failing(&disk, file, &prng);
        cr_assert_eq(sector_of(file, 0), 'n', "the cache has it");
        disk_sync(&disk, file);
        cr_assert_eq(sector_of(file, 0), 'n', "and goes on having it");
        char before[BYTES], after[BYTES];
        disk_drop_cache(&disk, file);
        (void)disk_read(&disk, file, before, BYTES, 0);
        met_lost |= memchr(before, 'o', BYTES) != NULL;
        disk_crash(&disk, &prng);
        (void)disk_read(&disk, file, after, BYTES, 0);
        cr_assert_arr_eq(before, after, BYTES);
        disk_deinit(&disk);
    }
    cr_assert(met_lost);
}

Test(sim_disk, dropping_the_cache_keeps_what_is_dirty) {
    start(1);
    fill(file, 'n', DISK_SECTOR, 0);
    disk_drop_cache(&disk, file);
    cr_assert_eq(sector_of(file, 0), 'n');
    disk_truncate(&disk, file, DISK_SECTOR);
    disk_truncate(&disk, file, BYTES);
    disk_drop_cache(&disk, file);
    cr_assert_eq(sector_of(file, 0), 'n');
    cr_assert_eq(sector_of(file, 1), '\0', "what was cut off does not come back");
    disk_deinit(&disk);
}

Test(sim_disk, a_full_disk_takes_a_part_and_still_lets_overwrite) {
    start(1);
    disk.blocks_max = disk.blocks_used + 1;
    static uint8_t many[4 * DISK_BLOCK];
    cr_assert_eq(disk_write(&disk, file, many, sizeof many, BYTES - 100), DISK_BLOCK + 100);
    cr_assert_eq(disk.inodes[file].seen_bytes, BYTES + DISK_BLOCK);
    cr_assert_not(disk_grows(&disk, file, BYTES + DISK_BLOCK));
    cr_assert(disk_grows(&disk, file, BYTES + DISK_BLOCK + 1));
    fill(file, 'n', BYTES, 0);
    disk_truncate(&disk, file, 0);
    cr_assert_eq(disk.blocks_used, 0);
    fill(file, 'n', BYTES, 0);
    disk_deinit(&disk);
}

Test(sim_disk, a_file_lives_while_it_is_open_or_mapped) {
    start(1);
    disk_open(&disk, file);
    (void)disk_map(&disk, file);
    disk_unlink(&disk, 0, "a");
    disk_sync_dir(&disk, 0);
    disk_close(&disk, file);
    cr_assert_eq(sector_of(file, 0), 'o');
    disk_close(&disk, file);
    cr_assert_not(disk.inodes[file].is_used);
    cr_assert_eq(disk.blocks_used, 0);
    disk_deinit(&disk);
}

Test(sim_disk, a_cut_may_spoil_a_sector_in_flight_only_if_asked_to) {
    unsigned spoiled = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        start(seed);
        disk.garbage = 20000;
        fill(file, 'n', 4 * DISK_SECTOR, 0);
        disk_crash(&disk, &prng);
        unsigned count = 0;
        for (uint64_t i = 0; i < BYTES / DISK_SECTOR; i++)
            count += sector_of(file, i) == '!';
        cr_assert_eq(count, disk.garbage_count);
        cr_assert_leq(count, 4);
        spoiled += count;
        disk_deinit(&disk);
    }
    cr_assert(spoiled > SEEDS / 2 && spoiled < 2 * SEEDS);
}

Test(sim_disk, damage_is_seen_at_once_and_for_ever) {
    start(1);
    const int other = disk_put(&disk, 0, "b", "short", 5);
    fill(other, 'b', 2 * DISK_SECTOR, 0);
    disk_sync(&disk, other);
    disk_flip(&disk, file, 3, 0);
    disk_zero_sector(&disk, file, 1);
    disk_swap_sectors(&disk, file, 2, other, 1);
    disk_cut(&disk, file, 4 * DISK_SECTOR);
    disk_move(&disk, 0, "b", "c");
    (void)disk_put(&disk, 0, "d", "x", 1);
    disk_remove(&disk, 0, "d");
    for (int cut = 0; cut < 2; cut++) {
        cr_assert_eq(seen_at(file, 3), 'o' ^ 1);
        cr_assert_eq(sector_of(file, 1), '\0');
        cr_assert_eq(sector_of(file, 2), 'b');
        cr_assert_eq(sector_of(other, 1), 'o');
        cr_assert_eq(disk.inodes[file].seen_bytes, 4 * DISK_SECTOR);
        cr_assert_eq(disk_lookup(&disk, 0, "b"), -1);
        cr_assert_eq(disk_lookup(&disk, 0, "c"), other);
        cr_assert_eq(disk_lookup(&disk, 0, "d"), -1);
        disk_crash(&disk, &prng);
    }
    disk_deinit(&disk);
}

Test(sim_disk, a_copy_is_whole_and_independent) {
    static struct disk copy;
    start(1);
    fill(file, 'n', DISK_SECTOR, 0);
    disk_copy(&copy, &disk);
    disk_remove(&disk, 0, "a");
    cr_assert_eq(disk_lookup(&disk, 0, "a"), -1);
    disk_copy(&disk, &copy);
    cr_assert_eq(disk_lookup(&disk, 0, "a"), file);
    cr_assert_eq(sector_of(file, 0), 'n');
    disk_drop_cache(&disk, file);
    cr_assert_eq(sector_of(file, 0), 'n', "still dirty");
    disk_deinit(&disk);
    disk_deinit(&copy);
}

#include "disk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CAPACITY_FIRST = 16 * 1024 };

static void *need(void *memory) {
    if (memory == NULL)
        abort();
    return memory;
}

/* ---- Inodes ---- */

static uint64_t blocks_of(size_t bytes) {
    return (bytes + DISK_BLOCK - 1) / DISK_BLOCK;
}

static int inode_make(struct disk *disk, bool is_dir) {
    int at = 0;
    while (at < disk->inode_count && disk->inodes[at].is_used)
        at++;
    if (at == DISK_INODES_MAX)
        return -1;
    if (at == disk->inode_count)
        disk->inode_count++;
    disk->inodes[at] = (struct disk_inode){.is_used = true, .is_dir = is_dir};
    return at;
}

static void inode_grow(struct disk_inode *inode, size_t bytes) {
    if (bytes <= inode->capacity)
        return;
    if (inode->is_mapped)
        abort(); /* a mapping does not move */
    size_t capacity = CAPACITY_FIRST;
    while (capacity < bytes)
        capacity *= 2;
    uint8_t *seen = need(calloc(1, capacity)), *kept = need(calloc(1, capacity));
    uint8_t *dirty = need(calloc(1, capacity / DISK_SECTOR));
    if (inode->capacity > 0) {
        memcpy(seen, inode->seen, inode->capacity);
        memcpy(kept, inode->kept, inode->capacity);
        memcpy(dirty, inode->dirty, inode->capacity / DISK_SECTOR);
    }
    free(inode->seen);
    free(inode->kept);
    free(inode->dirty);
    inode->seen = seen;
    inode->kept = kept;
    inode->dirty = dirty;
    inode->capacity = capacity;
}

static bool inode_has_name(const struct disk *disk, int inode) {
    for (size_t i = 0; i < disk->live_count; i++) {
        if (disk->live[i].inode == inode)
            return true;
    }
    for (size_t i = 0; i < disk->kept_count; i++) {
        if (disk->kept[i].inode == inode)
            return true;
    }
    for (size_t i = 0; i < disk->change_count; i++) {
        if (disk->changes[i].inode == inode)
            return true;
    }
    return false;
}

/* What was in a directory that is gone has no name any more. */
static void names_drop(struct disk *disk, int dir) {
    for (size_t i = disk->live_count; i > 0; i--) {
        if (disk->live[i - 1].dir == dir)
            disk->live[i - 1] = disk->live[--disk->live_count];
    }
    for (size_t i = disk->kept_count; i > 0; i--) {
        if (disk->kept[i - 1].dir == dir)
            disk->kept[i - 1] = disk->kept[--disk->kept_count];
    }
    size_t left = 0;
    for (size_t i = 0; i < disk->change_count; i++) {
        if (disk->changes[i].dir != dir)
            disk->changes[left++] = disk->changes[i];
    }
    disk->change_count = left;
}

static void inode_free(struct disk *disk, int at) {
    struct disk_inode *inode = &disk->inodes[at];
    if (inode->is_dir)
        names_drop(disk, at);
    disk->blocks_used -= blocks_of(inode->seen_bytes);
    free(inode->seen);
    free(inode->kept);
    free(inode->dirty);
    *inode = (struct disk_inode){.is_used = false};
}

/* Frees every file that no name, open or change refers to. */
static void inodes_collect(struct disk *disk) {
    for (int i = 1; i < disk->inode_count; i++) {
        if (disk->inodes[i].is_used && disk->inodes[i].opens == 0 && !inode_has_name(disk, i)) {
            inode_free(disk, i);
            i = 0; /* what was in it may be next */
        }
    }
}

static void name_copy(char to[DISK_NAME_BYTES], const char *from) {
    (void)snprintf(to, DISK_NAME_BYTES, "%s", from);
}

static void inode_call(struct disk *disk, int inode, const char *name) {
    name_copy(disk->inodes[inode].name, name);
}

void disk_init(struct disk *disk, uint64_t blocks_max) {
    memset(disk, 0, sizeof *disk);
    disk->blocks_max = blocks_max;
    (void)inode_make(disk, true);
}

void disk_deinit(struct disk *disk) {
    for (int i = 0; i < disk->inode_count; i++) {
        free(disk->inodes[i].seen);
        free(disk->inodes[i].kept);
        free(disk->inodes[i].dirty);
    }
    disk->inode_count = 0;
}

void disk_open(struct disk *disk, int inode) {
    disk->inodes[inode].opens++;
}

void disk_close(struct disk *disk, int inode) {
    if (--disk->inodes[inode].opens == 0)
        inodes_collect(disk);
}

/* ---- Names ---- */

static size_t names_find(const struct disk_name *names, size_t count, int dir, const char *name) {
    for (size_t i = 0; i < count; i++) {
        if (names[i].dir == dir && strcmp(names[i].name, name) == 0)
            return i;
    }
    return count;
}

static void names_set(struct disk_name *names, size_t *count, int dir, const char *name,
                      int inode) {
    const size_t at = names_find(names, *count, dir, name);
    if (at == DISK_NAMES_MAX)
        abort();
    names[at].dir = dir;
    names[at].inode = inode;
    name_copy(names[at].name, name);
    if (at == *count)
        ++*count;
}

static void names_remove(struct disk_name *names, size_t *count, int dir, const char *name) {
    const size_t at = names_find(names, *count, dir, name);
    if (at < *count)
        names[at] = names[--*count];
}

static void change_note(struct disk *disk, enum disk_op op, int dir, const char *name,
                        const char *to, int inode) {
    if (disk->change_count == DISK_NAMES_MAX)
        abort();
    struct disk_change *change = &disk->changes[disk->change_count++];
    *change = (struct disk_change){.op = op, .dir = dir, .inode = inode};
    name_copy(change->name, name);
    if (to != NULL)
        name_copy(change->to, to);
}

static void change_apply(const struct disk_change *change, struct disk_name *names, size_t *count) {
    switch (change->op) {
    case DISK_LINK: names_set(names, count, change->dir, change->name, change->inode); break;
    case DISK_UNLINK: names_remove(names, count, change->dir, change->name); break;
    case DISK_RENAME: {
        const size_t at = names_find(names, *count, change->dir, change->name);
        if (at < *count && names[at].inode == change->inode)
            names_remove(names, count, change->dir, change->name);
        names_set(names, count, change->dir, change->to, change->inode);
        break;
    }
    }
}

int disk_lookup(const struct disk *disk, int dir, const char *name) {
    const size_t at = names_find(disk->live, disk->live_count, dir, name);
    return at < disk->live_count ? disk->live[at].inode : -1;
}

int disk_create(struct disk *disk, int dir, const char *name, bool is_dir) {
    const int inode = inode_make(disk, is_dir);
    if (inode < 0)
        return -1;
    names_set(disk->live, &disk->live_count, dir, name, inode);
    change_note(disk, DISK_LINK, dir, name, NULL, inode);
    inode_call(disk, inode, name);
    return inode;
}

void disk_unlink(struct disk *disk, int dir, const char *name) {
    const int inode = disk_lookup(disk, dir, name);
    change_note(disk, DISK_UNLINK, dir, name, NULL, inode);
    names_remove(disk->live, &disk->live_count, dir, name);
    inodes_collect(disk);
}

void disk_rename(struct disk *disk, int dir, const char *from, const char *to) {
    change_note(disk, DISK_RENAME, dir, from, to, disk_lookup(disk, dir, from));
    change_apply(&disk->changes[disk->change_count - 1], disk->live, &disk->live_count);
    inode_call(disk, disk_lookup(disk, dir, to), to);
    inodes_collect(disk);
}

void disk_sync_dir(struct disk *disk, int dir) {
    size_t left = 0;
    for (size_t i = 0; i < disk->change_count; i++) {
        if (disk->changes[i].dir == dir)
            change_apply(&disk->changes[i], disk->kept, &disk->kept_count);
        else
            disk->changes[left++] = disk->changes[i];
    }
    disk->change_count = left;
    inodes_collect(disk);
}

/* ---- Bytes ---- */

uint64_t disk_allocated(const struct disk *disk, int inode) {
    return blocks_of(disk->inodes[inode].seen_bytes) * DISK_BLOCK;
}

bool disk_grows(const struct disk *disk, int inode, uint64_t bytes) {
    return blocks_of(bytes) > blocks_of(disk->inodes[inode].seen_bytes);
}

/* Lets the file be `bytes` long if there is space; else as long as there is space for. */
static size_t space_for(struct disk *disk, struct disk_inode *inode, size_t bytes) {
    if (bytes <= inode->seen_bytes)
        return bytes;
    const uint64_t has = blocks_of(inode->seen_bytes);
    const uint64_t wants = blocks_of(bytes);
    const uint64_t free_blocks =
        disk->blocks_max > disk->blocks_used ? disk->blocks_max - disk->blocks_used : 0;
    if (wants - has > free_blocks) {
        const size_t most = (size_t)(has + free_blocks) * DISK_BLOCK;
        bytes = bytes < most ? bytes : most;
    }
    if (bytes > inode->seen_bytes) {
        inode_grow(inode, bytes);
        disk->blocks_used += blocks_of(bytes) - has;
        inode->seen_bytes = bytes;
    }
    return bytes;
}

size_t disk_write(struct disk *disk, int at, const void *bytes, size_t count, uint64_t offset) {
    struct disk_inode *inode = &disk->inodes[at];
    const size_t end = space_for(disk, inode, (size_t)offset + count);
    if (end <= offset)
        return 0;
    const size_t written = end - (size_t)offset < count ? end - (size_t)offset : count;
    memcpy(inode->seen + offset, bytes, written);
    if (written > 0)
        memset(inode->dirty + offset / DISK_SECTOR, 1,
               (offset + written - 1) / DISK_SECTOR - offset / DISK_SECTOR + 1);
    return written;
}

size_t disk_read(const struct disk *disk, int at, void *bytes, size_t count, uint64_t offset) {
    const struct disk_inode *inode = &disk->inodes[at];
    if (offset >= inode->seen_bytes)
        return 0;
    const size_t left = inode->seen_bytes - (size_t)offset;
    const size_t read = count < left ? count : left;
    memcpy(bytes, inode->seen + offset, read);
    return read;
}

uint64_t disk_find_data(const struct disk *disk, int at, uint64_t offset) {
    const struct disk_inode *inode = &disk->inodes[at];
    uint64_t byte = offset;
    while (byte < inode->seen_bytes && inode->seen[byte] == 0)
        byte++;
    if (byte >= inode->seen_bytes)
        return inode->seen_bytes;
    const uint64_t block = byte / DISK_BLOCK * DISK_BLOCK;
    return block > offset ? block : offset;
}

void disk_truncate(struct disk *disk, int at, size_t bytes) {
    struct disk_inode *inode = &disk->inodes[at];
    if (bytes < inode->seen_bytes) {
        memset(inode->seen + bytes, 0, inode->seen_bytes - bytes);
        memset(inode->dirty + (bytes + DISK_SECTOR - 1) / DISK_SECTOR, 0,
               blocks_of(inode->seen_bytes) * (DISK_BLOCK / DISK_SECTOR) -
                   (bytes + DISK_SECTOR - 1) / DISK_SECTOR);
        inode->cut_to = inode->was_cut && inode->cut_to < bytes ? inode->cut_to : bytes;
        inode->was_cut = true;
        disk->blocks_used -= blocks_of(inode->seen_bytes) - blocks_of(bytes);
        inode->seen_bytes = bytes;
    } else {
        (void)space_for(disk, inode, bytes);
    }
}

/* The cut reaches the disk. */
static void kept_cut(struct disk_inode *inode) {
    memset(inode->kept + inode->cut_to, 0, inode->capacity - inode->cut_to);
    if (inode->kept_bytes > inode->cut_to)
        inode->kept_bytes = inode->cut_to;
}

void disk_sync(struct disk *disk, int at) {
    struct disk_inode *inode = &disk->inodes[at];
    if (inode->capacity == 0)
        return;
    if (inode->was_cut)
        kept_cut(inode);
    for (size_t i = 0; i * DISK_SECTOR < inode->seen_bytes; i++) {
        if (inode->dirty[i])
            memcpy(inode->kept + i * DISK_SECTOR, inode->seen + i * DISK_SECTOR, DISK_SECTOR);
    }
    memset(inode->dirty, 0, inode->capacity / DISK_SECTOR);
    inode->kept_bytes = inode->seen_bytes;
    inode->was_cut = false;
}

void disk_sync_failing(struct disk *disk, int at, struct prng *prng) {
    struct disk_inode *inode = &disk->inodes[at];
    inode->errors++;
    inode->error_is_new = true;
    if (inode->capacity == 0)
        return;
    /* Some of it may have got there. */
    for (size_t i = 0; i < inode->capacity / DISK_SECTOR; i++) {
        if (inode->dirty[i] && !inode->was_cut && prng_below(prng, 4) == 0)
            memcpy(inode->kept + i * DISK_SECTOR, inode->seen + i * DISK_SECTOR, DISK_SECTOR);
        inode->dirty[i] = 0;
    }
}

void disk_forget_errors(struct disk *disk) {
    for (int i = 0; i < disk->inode_count; i++) {
        if (disk->inodes[i].opens == 0)
            disk->inodes[i].error_is_new = false;
    }
}

void disk_evict(struct disk *disk, int inode) {
    disk->inodes[inode].error_is_new = false;
    disk_drop_cache(disk, inode);
}

void disk_drop_cache(struct disk *disk, int at) {
    struct disk_inode *inode = &disk->inodes[at];
    if (inode->is_mapped)
        return;
    /* What was cut off and not written again reads as zeros, whatever the disk still has there. */
    const size_t whole = inode->was_cut ? inode->cut_to : inode->capacity;
    for (size_t i = 0; i * DISK_SECTOR < inode->seen_bytes; i++) {
        const size_t begin = i * DISK_SECTOR;
        if (inode->dirty[i])
            continue;
        const size_t left = begin < whole ? whole - begin : 0;
        const size_t old = left < DISK_SECTOR ? left : DISK_SECTOR;
        memcpy(inode->seen + begin, inode->kept + begin, old);
        memset(inode->seen + begin + old, 0, DISK_SECTOR - old);
    }
}

uint8_t *disk_map(struct disk *disk, int at) {
    struct disk_inode *inode = &disk->inodes[at];
    if (!inode->is_mapped)
        inode_grow(inode, DISK_MAPPED_BYTES);
    inode->is_mapped = true;
    inode->opens++;
    return inode->seen;
}

/* ---- The power cut ---- */

/* How one file's dirty sectors fare: so that the extremes come often. */
enum fate {
    FATE_ALL,
    FATE_NONE,
    FATE_RANDOM,
    FATE_PREFIX,
    FATE_SUFFIX,
    FATE_ONE_LOST,
    FATE_ONE_KEPT
};

static bool survives(enum fate fate, size_t index, size_t chosen, struct prng *prng) {
    switch (fate) {
    case FATE_ALL: return true;
    case FATE_NONE: return false;
    case FATE_RANDOM: return prng_below(prng, 2) == 0;
    case FATE_PREFIX: return index < chosen;
    case FATE_SUFFIX: return index >= chosen;
    case FATE_ONE_LOST: return index != chosen;
    case FATE_ONE_KEPT: return index == chosen;
    }
    return false;
}

static void crash_bytes(struct disk *disk, struct disk_inode *inode, struct prng *prng) {
    size_t dirty = 0, index = 0;
    const size_t sectors = inode->capacity / DISK_SECTOR;
    for (size_t i = 0; i < sectors; i++)
        dirty += inode->dirty[i];
    const enum fate fate = (enum fate)prng_below(prng, FATE_ONE_KEPT + 1);
    const size_t chosen = (size_t)prng_below(prng, dirty);
    for (size_t i = 0; i < sectors; i++) {
        if (!inode->dirty[i])
            continue;
        if (survives(fate, index++, chosen, prng))
            memcpy(inode->kept + i * DISK_SECTOR, inode->seen + i * DISK_SECTOR, DISK_SECTOR);
        if (prng_chance(prng, disk->garbage)) {
            disk->garbage_count++;
            for (size_t j = 0; j < DISK_SECTOR; j++)
                inode->kept[i * DISK_SECTOR + j] = (uint8_t)prng_next(prng);
        }
    }
}

static void crash_inode(struct disk *disk, struct disk_inode *inode, struct prng *prng) {
    size_t bytes = inode->kept_bytes;
    if (inode->is_mapped && prng_below(prng, 2) == 0) {
        for (size_t i = 0; i < inode->seen_bytes; i += 1 + prng_below(prng, 4096))
            inode->kept[i] ^= (uint8_t)prng_next(prng);
    }
    if (inode->was_cut && prng_below(prng, 2) == 0) {
        /* The cut is not on the disk, and so nothing after it is. */
    } else {
        if (inode->was_cut)
            kept_cut(inode);
        bytes = inode->kept_bytes;
        crash_bytes(disk, inode, prng);
        if (inode->seen_bytes > bytes) {
            static const unsigned whole_in = 3;
            const size_t gained = inode->seen_bytes - bytes;
            const uint64_t choice = prng_below(prng, whole_in);
            bytes += choice == 0 ? 0 : choice == 1 ? gained : (size_t)prng_below(prng, gained + 1);
        }
    }
    if (inode->capacity > 0) {
        memset(inode->kept + bytes, 0, inode->capacity - bytes);
        memcpy(inode->seen, inode->kept, inode->capacity);
        memset(inode->dirty, 0, inode->capacity / DISK_SECTOR);
    }
    inode->seen_bytes = inode->kept_bytes = bytes;
    inode->was_cut = inode->is_mapped = inode->error_is_new = false;
    inode->opens = 0;
}

void disk_crash(struct disk *disk, struct prng *prng) {
    const enum fate fate = (enum fate)prng_below(prng, FATE_ONE_KEPT + 1);
    const size_t chosen = (size_t)prng_below(prng, disk->change_count);
    for (size_t i = 0; i < disk->change_count; i++) {
        if (survives(fate, i, chosen, prng))
            change_apply(&disk->changes[i], disk->kept, &disk->kept_count);
    }
    disk->change_count = 0;
    memcpy(disk->live, disk->kept, disk->kept_count * sizeof disk->kept[0]);
    disk->live_count = disk->kept_count;
    disk->blocks_used = 0;
    for (int i = 0; i < disk->inode_count; i++) {
        if (disk->inodes[i].is_used && !disk->inodes[i].is_dir) {
            crash_inode(disk, &disk->inodes[i], prng);
            disk->blocks_used += blocks_of(disk->inodes[i].seen_bytes);
        }
        disk->inodes[i].opens = 0;
    }
    inodes_collect(disk);
}

/* ---- Damage ---- */

void disk_flip(struct disk *disk, int at, uint64_t offset, unsigned bit) {
    struct disk_inode *inode = &disk->inodes[at];
    inode->kept[offset] ^= (uint8_t)(1U << bit);
    inode->seen[offset] ^= (uint8_t)(1U << bit);
}

void disk_zero_sector(struct disk *disk, int at, uint64_t sector) {
    memset(disk->inodes[at].kept + sector * DISK_SECTOR, 0, DISK_SECTOR);
    memset(disk->inodes[at].seen + sector * DISK_SECTOR, 0, DISK_SECTOR);
}

static void bytes_swap(uint8_t *one, uint8_t *other) {
    uint8_t held[DISK_SECTOR];
    memcpy(held, one, DISK_SECTOR);
    memmove(one, other, DISK_SECTOR);
    memcpy(other, held, DISK_SECTOR);
}

void disk_swap_sectors(struct disk *disk, int at, uint64_t sector, int other,
                       uint64_t other_sector) {
    struct disk_inode *one = &disk->inodes[at], *two = &disk->inodes[other];
    bytes_swap(one->kept + sector * DISK_SECTOR, two->kept + other_sector * DISK_SECTOR);
    bytes_swap(one->seen + sector * DISK_SECTOR, two->seen + other_sector * DISK_SECTOR);
}

void disk_cut(struct disk *disk, int at, size_t bytes) {
    disk_truncate(disk, at, bytes);
    disk_sync(disk, at);
}

/* Both at once, and out of what waits for a sync. */
static void name_settle(struct disk *disk, int dir, const char *name, int inode) {
    size_t left = 0;
    for (size_t i = 0; i < disk->change_count; i++) {
        const struct disk_change *change = &disk->changes[i];
        if (change->dir != dir ||
            (strcmp(change->name, name) != 0 && strcmp(change->to, name) != 0))
            disk->changes[left++] = *change;
    }
    disk->change_count = left;
    if (inode < 0) {
        names_remove(disk->live, &disk->live_count, dir, name);
        names_remove(disk->kept, &disk->kept_count, dir, name);
    } else {
        names_set(disk->live, &disk->live_count, dir, name, inode);
        names_set(disk->kept, &disk->kept_count, dir, name, inode);
        inode_call(disk, inode, name);
    }
}

int disk_put(struct disk *disk, int dir, const char *name, const void *bytes, size_t count) {
    int inode = disk_lookup(disk, dir, name);
    if (inode < 0)
        inode = inode_make(disk, false);
    if (inode < 0)
        abort();
    name_settle(disk, dir, name, inode);
    disk_truncate(disk, inode, 0);
    if (disk_write(disk, inode, bytes, count, 0) != count)
        abort();
    disk_sync(disk, inode);
    return inode;
}

void disk_remove(struct disk *disk, int dir, const char *name) {
    name_settle(disk, dir, name, -1);
    inodes_collect(disk);
}

void disk_move(struct disk *disk, int dir, const char *from, const char *to) {
    const int inode = disk_lookup(disk, dir, from);
    name_settle(disk, dir, from, -1);
    name_settle(disk, dir, to, inode);
    inodes_collect(disk);
}

static uint8_t *copy_of(const uint8_t *bytes, size_t count) {
    return count == 0 ? NULL : memcpy(need(malloc(count)), bytes, count);
}

void disk_copy(struct disk *to, const struct disk *from) {
    disk_deinit(to);
    memcpy(to, from, sizeof *to);
    for (int i = 0; i < to->inode_count; i++) {
        struct disk_inode *inode = &to->inodes[i];
        inode->seen = copy_of(inode->seen, inode->capacity);
        inode->kept = copy_of(inode->kept, inode->capacity);
        inode->dirty = copy_of(inode->dirty, inode->capacity / DISK_SECTOR);
    }
}

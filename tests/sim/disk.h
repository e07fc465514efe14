/* disk: files and names in memory, with what is on the disk kept apart from what programs see.
 *
 * A file has the bytes that reads see (the page cache) and those that a power cut leaves. A sector
 * of 512 bytes is dirty from its write to the next sync. Names are in directories, live and kept
 * apart likewise; an entry waits for its directory's sync. disk_crash() decides by the seed what
 * survives: any subset of the dirty sectors, any subset of the names, any size between old and new.
 * Nothing here fails by itself but for want of space; machine.c injects the rest.
 */
#ifndef PAWL_TESTS_SIM_DISK_H
#define PAWL_TESTS_SIM_DISK_H

#include "prng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DISK_SECTOR = 512,
    DISK_BLOCK = 4096,
    DISK_INODES_MAX = 512,
    DISK_NAMES_MAX = 1024,
    DISK_NAME_BYTES = 32,
};

struct disk_inode {
    bool is_used, is_dir;
    uint8_t *seen, *kept; /* `capacity` bytes each; those behind the size are zero */
    uint8_t *dirty;       /* one for each sector */
    size_t seen_bytes, kept_bytes, capacity;
    bool was_cut;    /* shortened since the last sync: the cut may not survive */
    size_t cut_to;   /* to so many bytes at the shortest */
    bool is_mapped;  /* its bytes change without a write: a power cut leaves anything */
    unsigned opens;  /* how often it is open */
    uint64_t errors; /* failed syncs so far */
};

/* One name in one directory. */
struct disk_name {
    int dir; /* the directory's inode */
    char name[DISK_NAME_BYTES];
    int inode;
};

enum disk_op { DISK_LINK, DISK_UNLINK, DISK_RENAME };

/* A change of names that its directory's sync has not made durable. */
struct disk_change {
    enum disk_op op;
    int dir;
    char name[DISK_NAME_BYTES], to[DISK_NAME_BYTES];
    int inode;
};

struct disk {
    struct disk_inode inodes[DISK_INODES_MAX]; /* 0 is the root directory */
    int inode_count;
    struct disk_name live[DISK_NAMES_MAX], kept[DISK_NAMES_MAX];
    size_t live_count, kept_count;
    struct disk_change changes[DISK_NAMES_MAX];
    size_t change_count;
    uint64_t blocks_max, blocks_used;
};

void disk_init(struct disk *disk, uint64_t blocks_max);
void disk_deinit(struct disk *disk);

/* -1 when there is none. */
int disk_lookup(const struct disk *disk, int dir, const char *name);
/* -1 when there is no space for it. */
int disk_create(struct disk *disk, int dir, const char *name, bool is_dir);
void disk_unlink(struct disk *disk, int dir, const char *name);
void disk_rename(struct disk *disk, int dir, const char *from, const char *to);
void disk_sync_dir(struct disk *disk, int dir);

void disk_open(struct disk *disk, int inode);
void disk_close(struct disk *disk, int inode);

/* How many bytes there was space for; they are written. */
size_t disk_write(struct disk *disk, int inode, const void *bytes, size_t count, uint64_t offset);
size_t disk_read(const struct disk *disk, int inode, void *bytes, size_t count, uint64_t offset);
void disk_truncate(struct disk *disk, int inode, size_t bytes);
void disk_sync(struct disk *disk, int inode);
/* The sync that the device failed: the pages are clean and the disk is as it was. */
void disk_sync_failing(struct disk *disk, int inode, struct prng *prng);
void disk_drop_cache(struct disk *disk, int inode);
/* The bytes for a mapping: they stay where they are. */
uint8_t *disk_map(struct disk *disk, int inode);

/* The power is cut: nothing is open any more, and what programs see is what survived. */
void disk_crash(struct disk *disk, struct prng *prng);

/* Damage to what is durable, seen at once. */
void disk_flip(struct disk *disk, int inode, uint64_t offset, unsigned bit);

/* Everything as it is, for taking back later. Nothing may be open. */
void disk_copy(struct disk *to, const struct disk *from);

#endif

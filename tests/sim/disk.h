/* disk: files and names in memory, with what is on the disk kept apart from what programs see.
 *
 * A file has the bytes that reads see (the page cache) and those that a power cut leaves. A sector
 * of 512 bytes is dirty from its write to the next sync. Names are in directories, live and kept
 * apart likewise; an entry waits for its directory's sync. disk_crash() decides by the seed what
 * survives: any subset of the dirty sectors, any subset of the names, any size between old and new.
 * Nothing here fails by itself but for want of space; machine.c injects the rest. Closing a file
 * makes nothing durable.
 *
 * 1  What was synced, and not written since, survives every power cut as it was.
 * 2  A clean sector that no sync has made durable (its sync failed) is seen until the cache is
 *    dropped or the power is cut, and then never again.
 * 3  An inode lives as long as a name, an unsynced change of names, an open or a mapping has it.
 * 4  Bytes behind a file's size are zero, seen and kept.
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
    DISK_MAPPED_BYTES = 128 * 1024,
};

struct disk_inode {
    bool is_used, is_dir;
    uint8_t *seen, *kept; /* `capacity` bytes each; those behind the size are zero */
    uint8_t *dirty;       /* one for each sector */
    size_t seen_bytes, kept_bytes, capacity;
    bool was_cut;               /* shortened since the last sync: the cut may not survive */
    size_t cut_to;              /* to so many bytes at the shortest */
    bool is_mapped;             /* its bytes change without a write: a power cut leaves anything */
    unsigned opens;             /* how often it is open or mapped */
    uint64_t errors;            /* failed syncs so far */
    bool error_is_new;          /* nobody has been told of the last one */
    char name[DISK_NAME_BYTES]; /* the last that it had, for traces */
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
    unsigned garbage;       /* chance, in 100,000, that a power cut spoils a dirty sector */
    uint64_t garbage_count; /* how often it did */
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

/* What it takes of the disk. */
uint64_t disk_allocated(const struct disk *disk, int inode);
/* Would the file need more space, to be so long? */
bool disk_grows(const struct disk *disk, int inode, uint64_t bytes);
/* How many bytes there was space for; they are written. */
size_t disk_write(struct disk *disk, int inode, const void *bytes, size_t count, uint64_t offset);
size_t disk_read(const struct disk *disk, int inode, void *bytes, size_t count, uint64_t offset);
/* Where the first block begins, from `offset` on, in which a byte is not zero, but not before
 * `offset`; the size when there is none. */
uint64_t disk_find_data(const struct disk *disk, int inode, uint64_t offset);
/* Longer: as long as there was space for. */
void disk_truncate(struct disk *disk, int inode, size_t bytes);
void disk_sync(struct disk *disk, int inode);
/* The device failed a sync: the pages are clean, and on the disk some sectors are as before. */
void disk_sync_failing(struct disk *disk, int inode, struct prng *prng);
/* What nobody was told of yet is forgotten with the inode, where nobody has it open. */
void disk_forget_errors(struct disk *disk);
/* The same for one inode that nobody has open, and its clean sectors go from the cache too. */
void disk_evict(struct disk *disk, int inode);
/* Clean sectors are read anew from the disk. A mapped file keeps all: its pages are dirty. */
void disk_drop_cache(struct disk *disk, int inode);
/* The bytes for a mapping: they stay where they are, at most DISK_MAPPED_BYTES. Counts as an open
 * until disk_close(). */
uint8_t *disk_map(struct disk *disk, int inode);

/* The power is cut: nothing is open any more, and what programs see is what survived. */
void disk_crash(struct disk *disk, struct prng *prng);

/* Damage to what is durable, seen at once. Sectors and bytes must be inside the file. */
void disk_flip(struct disk *disk, int inode, uint64_t offset, unsigned bit);
void disk_zero_sector(struct disk *disk, int inode, uint64_t sector);
/* Two sectors of two files, or of one: a misdirected write, or a stale one. */
void disk_swap_sectors(struct disk *disk, int inode, uint64_t sector, int other,
                       uint64_t other_sector);
void disk_cut(struct disk *disk, int inode, size_t bytes);
/* A durable file of that name with these bytes, made or overwritten; its inode. With what
 * disk_read() gives, of this disk or of an older copy, it doubles a file or makes it older. */
int disk_put(struct disk *disk, int dir, const char *name, const void *bytes, size_t count);
void disk_remove(struct disk *disk, int dir, const char *name);
void disk_move(struct disk *disk, int dir, const char *from, const char *to);

/* Everything as it is, unsynced changes too, for taking back later. Nothing may be open. `to` is a
 * disk, or all zero. */
void disk_copy(struct disk *to, const struct disk *from);

#endif

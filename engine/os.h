/* os: the one door to the machine. Files, directories, byte locks, clocks, entropy, memory,
 * futexes.
 *
 * What it is: a private run-time table of calls. The os_posix rooms are the real one; the simulator
 * under tests/sim/ is another, under the unchanged engine. No other room of the engine makes a
 * system call, allocates, reads a clock or sleeps.
 *
 * Conventions. Every call that can fail returns 0 or a positive errno value and leaves its
 * out-parameters untouched on failure. Times are nanoseconds on the boot clock unless a name says
 * otherwise; a deadline is such a time, OS_NO_DEADLINE means for ever, a past one means try once.
 * Calls may come from any number of threads; one os_file may be read by many threads at a time and
 * written by many as long as their ranges do not overlap.
 *
 * What the machine promises, and all that it promises (the simulator has a knob for each line):
 *
 * D1  A write that no successful sync has followed may survive a power cut wholly, by sectors of
 *     512 bytes in any combination, or not at all; writes to several files survive in any order.
 *
 * D2  A sector in flight at a power cut holds its old bytes or its new ones. (Powersafe overwrite;
 *     with sector padding the neighbours may be lost too, and the log does not mind.)
 *
 * D3  A successful sync makes every earlier write to that file durable, whichever process made it.
 *     After a failed sync nothing is known, whatever a later sync says: the pages may be clean, in
 *     the cache and not on the disk. An error that nobody was told of may go with the last
 *     descriptor.
 *
 * D4  A created, renamed or removed name is durable only after its directory's sync; until then any
 *     subset of them may survive. A rename is atomic. A file's first sync does not make its name
 *     durable.
 *
 * D5  A read may fail, and may return wrong bytes; checksums must notice.
 *
 * D6  A process may be killed between any two calls and inside any write, which then has a prefix.
 *     Its byte locks go when its last thread is out of its last call, never sooner. A write that
 *     fails may have left any prefix of itself, even all.
 *
 * D7  A full disk shows as ENOSPC after any byte of a write. Space that was once zero-filled and
 *     synced can be written again without new space on file systems that overwrite in place.
 *
 * D8  The boot clock never goes backward within a boot; the wall clock may jump. The boot id
 *     changes with each boot.
 */
#ifndef PAWL_ENGINE_OS_H
#define PAWL_ENGINE_OS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OS_NO_DEADLINE UINT64_MAX

enum {
    OS_SECTOR_BYTES = 512,
    OS_BOOT_ID_BYTES = 16,
    OS_NAME_BYTES_MAX = 255,
};

struct os;
struct os_dir;  /* an open directory; names are relative to it */
struct os_file; /* an open regular file */

/* How a file or a directory is opened. */
enum os_open {
    OS_OPEN_READ = 1 << 0,
    OS_OPEN_WRITE = 1 << 1,
    OS_OPEN_CREATE = 1 << 2,    /* make it if it is missing */
    OS_OPEN_EXCLUSIVE = 1 << 3, /* with CREATE: fail with EEXIST if it is there */
};

struct os_stat {
    uint64_t bytes;
    uint64_t allocated_bytes; /* what it takes of the disk */
    uint64_t device, inode;
    uint32_t mode; /* the permission bits alone */
    uint32_t owner, group;
    uint32_t links;
};

/* Who a process is, for the line that names it to somebody who waits for it. */
struct os_process {
    uint32_t pid;
    char host[64];
    char command[64];
};

/* One visit per name while a directory is read; a non-zero answer ends the listing and is returned
 * by it. The name is valid during the visit only. */
typedef int (*os_visit)(void *context, const char *name);

struct os_ops {
    int (*dir_open)(struct os *os, const char *path, unsigned how, struct os_dir **ret_dir);
    int (*dir_open_at)(struct os *os, struct os_dir *parent, const char *name, unsigned how,
                       struct os_dir **ret_dir);
    int (*dir_list)(struct os *os, struct os_dir *dir, os_visit visit, void *context);
    int (*dir_sync)(struct os *os, struct os_dir *dir);
    int (*dir_hold)(struct os *os, struct os_dir *dir, bool is_alone);
    void (*dir_close)(struct os *os, struct os_dir *dir);

    int (*file_open)(struct os *os, struct os_dir *dir, const char *name, unsigned how,
                     struct os_file **ret_file);
    int (*file_close)(struct os *os, struct os_file *file);
    int (*file_stat)(struct os *os, struct os_file *file, struct os_stat *ret_stat);
    int (*file_read)(struct os *os, struct os_file *file, void *buffer, size_t bytes,
                     uint64_t offset, size_t *ret_read);
    int (*file_find_data)(struct os *os, struct os_file *file, uint64_t offset,
                          uint64_t *ret_offset);
    int (*file_write)(struct os *os, struct os_file *file, const void *buffer, size_t bytes,
                      uint64_t offset);
    int (*file_sync)(struct os *os, struct os_file *file);
    int (*file_zero_fill)(struct os *os, struct os_file *file, uint64_t offset, uint64_t bytes);
    int (*file_truncate)(struct os *os, struct os_file *file, uint64_t bytes);
    int (*file_drop_cache)(struct os *os, struct os_file *file);
    int (*file_map)(struct os *os, struct os_file *file, size_t bytes, void **ret_address);
    void (*file_unmap)(struct os *os, void *address, size_t bytes);
    int (*rename)(struct os *os, struct os_dir *dir, const char *from, const char *to);
    int (*unlink)(struct os *os, struct os_dir *dir, const char *name);

    int (*lock_take)(struct os *os, struct os_file *file, uint64_t byte);
    void (*lock_drop)(struct os *os, struct os_file *file, uint64_t byte);
    int (*lock_find)(struct os *os, struct os_file *file, uint64_t first, uint64_t count,
                     uint64_t *ret_byte);

    int (*futex_wait)(struct os *os, _Atomic uint32_t *word, uint32_t expected, uint64_t deadline);
    void (*futex_wake)(struct os *os, _Atomic uint32_t *word, uint32_t waiters_max);
    void (*pause)(struct os *os, uint64_t nanoseconds);
    void (*step)(struct os *os);

    uint64_t (*clock_boot)(struct os *os);
    uint64_t (*clock_wall)(struct os *os);
    void (*boot_id)(struct os *os, uint8_t ret_id[OS_BOOT_ID_BYTES]);
    int (*entropy)(struct os *os, void *buffer, size_t bytes);
    void (*process)(struct os *os, struct os_process *ret_process);
    bool (*is_forked_child)(struct os *os);

    void *(*allocate)(struct os *os, size_t bytes);
    void (*release)(struct os *os, void *memory, size_t bytes);
};

/* An implementation's own struct begins with this one. It outlives everything opened through it. */
struct os {
    const struct os_ops *ops;
};

/* Directories. WRITE says that files will be made in it, and is refused with EACCES to all but its
 * owner and root. CREATE makes the directory (mode 0700 whatever the umask) and does not sync its
 * parent. A symbolic link as the last component is refused with ELOOP. EXCLUSIVE as for files. */
static inline int os_dir_open(struct os *os, const char *path, unsigned how,
                              struct os_dir **ret_dir) {
    return os->ops->dir_open(os, path, how, ret_dir);
}

static inline int os_dir_open_at(struct os *os, struct os_dir *parent, const char *name,
                                 unsigned how, struct os_dir **ret_dir) {
    return os->ops->dir_open_at(os, parent, name, how, ret_dir);
}

/* Every name but "." and "..", in no order. */
static inline int os_dir_list(struct os *os, struct os_dir *dir, os_visit visit, void *context) {
    return os->ops->dir_list(os, dir, visit, context);
}

static inline int os_dir_sync(struct os *os, struct os_dir *dir) {
    return os->ops->dir_sync(os, dir);
}

/* Holds the directory beside others, or so that nobody else holds it. EAGAIN: others are in the
 * way; what this open held before it may then hold no longer. Over with os_dir_close() and the
 * process. */
static inline int os_dir_hold(struct os *os, struct os_dir *dir, bool is_alone) {
    return os->ops->dir_hold(os, dir, is_alone);
}

static inline void os_dir_close(struct os *os, struct os_dir *dir) {
    os->ops->dir_close(os, dir);
}

/* Files. Regular ones only (else EINVAL), no symbolic links (ELOOP), mode 0600 when made, never on
 * descriptor 0, 1 or 2, closed on exec. ENOENT when missing and not CREATE. */
static inline int os_file_open(struct os *os, struct os_dir *dir, const char *name, unsigned how,
                               struct os_file **ret_file) {
    return os->ops->file_open(os, dir, name, how, ret_file);
}

/* Drops the locks taken through this os_file. An error may be that of an earlier write: whoever
 * wrote treats it as a failed sync. The file is closed in either case. */
static inline int os_file_close(struct os *os, struct os_file *file) {
    return os->ops->file_close(os, file);
}

static inline int os_file_stat(struct os *os, struct os_file *file, struct os_stat *ret_stat) {
    return os->ops->file_stat(os, file, ret_stat);
}

/* Reads until `bytes` are there or the file ends; *ret_read says how many. */
static inline int os_file_read(struct os *os, struct os_file *file, void *buffer, size_t bytes,
                               uint64_t offset, size_t *ret_read) {
    return os->ops->file_read(os, file, buffer, bytes, offset, ret_read);
}

/* An offset at or after `offset`, in the file, before which nothing but zeros lies: what a sparse
 * file leaves out need not be read to be known. ENOENT: nothing else lies up to the file's end. May
 * answer `offset` itself whatever stands there; who looks for the first byte that is not zero reads
 * on from the answer. */
static inline int os_file_find_data(struct os *os, struct os_file *file, uint64_t offset,
                                    uint64_t *ret_offset) {
    return os->ops->file_find_data(os, file, offset, ret_offset);
}

/* Writes all of it, or fails with a prefix of unknown length in the file, perhaps all. */
static inline int os_file_write(struct os *os, struct os_file *file, const void *buffer,
                                size_t bytes, uint64_t offset) {
    return os->ops->file_write(os, file, buffer, bytes, offset);
}

/* Makes every earlier write to the file durable, with the size that is needed to read it (D3).
 * Never called again on a store after it failed once. */
static inline int os_file_sync(struct os *os, struct os_file *file) {
    return os->ops->file_sync(os, file);
}

/* Writes zeros over the range, growing the file if need be, in pieces of 4 KiB (larger ones leave
 * large folios in the page cache, in which small writes then cost ten times more). Not yet durable.
 */
static inline int os_file_zero_fill(struct os *os, struct os_file *file, uint64_t offset,
                                    uint64_t bytes) {
    return os->ops->file_zero_fill(os, file, offset, bytes);
}

static inline int os_file_truncate(struct os *os, struct os_file *file, uint64_t bytes) {
    return os->ops->file_truncate(os, file, bytes);
}

/* Forgets clean cached pages, so that the next read comes from the disk. Dirty ones stay. */
static inline int os_file_drop_cache(struct os *os, struct os_file *file) {
    return os->ops->file_drop_cache(os, file);
}

/* Maps the file's first bytes, shared, for reading and writing. All of them must be allocated. */
static inline int os_file_map(struct os *os, struct os_file *file, size_t bytes,
                              void **ret_address) {
    return os->ops->file_map(os, file, bytes, ret_address);
}

static inline void os_file_unmap(struct os *os, void *address, size_t bytes) {
    os->ops->file_unmap(os, address, bytes);
}

static inline int os_rename(struct os *os, struct os_dir *dir, const char *from, const char *to) {
    return os->ops->rename(os, dir, from, to);
}

static inline int os_unlink(struct os *os, struct os_dir *dir, const char *name) {
    return os->ops->unlink(os, dir, name);
}

/* Byte locks: exclusive, owned by the os_file, so two opens of one file in one process exclude each
 * other too. lock_take never waits: EAGAIN when somebody else has the byte. The kernel drops them
 * when the process dies. */
static inline int os_lock_take(struct os *os, struct os_file *file, uint64_t byte) {
    return os->ops->lock_take(os, file, byte);
}

static inline void os_lock_drop(struct os *os, struct os_file *file, uint64_t byte) {
    os->ops->lock_drop(os, file, byte);
}

/* The lowest byte of [first, first + count) that somebody else holds; 0 found, ENOENT none. */
static inline int os_lock_find(struct os *os, struct os_file *file, uint64_t first, uint64_t count,
                               uint64_t *ret_byte) {
    return os->ops->lock_find(os, file, first, count, ret_byte);
}

/* Waits while *word is `expected`. 0: woken, or the word differed, or for no reason at all.
 * ETIMEDOUT: the deadline passed. Works between processes when the word is in a shared mapping. */
static inline int os_futex_wait(struct os *os, _Atomic uint32_t *word, uint32_t expected,
                                uint64_t deadline) {
    return os->ops->futex_wait(os, word, expected, deadline);
}

static inline void os_futex_wake(struct os *os, _Atomic uint32_t *word, uint32_t waiters_max) {
    os->ops->futex_wake(os, word, waiters_max);
}

/* Lets others run for about so long. 0 gives up the processor once. */
static inline void os_pause(struct os *os, uint64_t nanoseconds) {
    os->ops->pause(os, nanoseconds);
}

/* A point at which the simulator may stop or kill this process: it stands between two stores to
 * shared memory that a dying process could leave half done. Costs a test when the slot is empty. */
static inline void os_step(struct os *os) {
    if (os->ops->step != NULL)
        os->ops->step(os);
}

static inline uint64_t os_clock_boot(struct os *os) {
    return os->ops->clock_boot(os);
}

/* Microseconds since the epoch; may jump. */
static inline uint64_t os_clock_wall(struct os *os) {
    return os->ops->clock_wall(os);
}

static inline void os_boot_id(struct os *os, uint8_t ret_id[OS_BOOT_ID_BYTES]) {
    os->ops->boot_id(os, ret_id);
}

static inline int os_entropy(struct os *os, void *buffer, size_t bytes) {
    return os->ops->entropy(os, buffer, bytes);
}

static inline void os_process(struct os *os, struct os_process *ret_process) {
    os->ops->process(os, ret_process);
}

/* True in a child that was forked after this os was made: its handles must refuse. Cheap. */
static inline bool os_is_forked_child(struct os *os) {
    return os->ops->is_forked_child(os);
}

/* Zeroed memory, aligned for any object; NULL when there is none. */
static inline void *os_allocate(struct os *os, size_t bytes) {
    return os->ops->allocate(os, bytes);
}

/* Takes NULL. `bytes` is what was asked for. */
static inline void os_release(struct os *os, void *memory, size_t bytes) {
    os->ops->release(os, memory, bytes);
}

#endif

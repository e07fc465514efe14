#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64

#include "os_posix.h"

#include "os_posix_descriptor.h"
#include "os_posix_machine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PAGE_BYTES = 4096,
    DISK_BLOCK_BYTES = 512, /* the unit of st_blocks, whatever the file system */
    MODE_DIR = 0700,
    MODE_BITS = 07777,
    OPEN_ATTEMPTS_MAX = 100,
};

_Static_assert(sizeof(off_t) == 8, "files are longer than 2 GiB");

struct os_dir {
    struct descriptor descriptor;
};

struct os_file {
    struct descriptor descriptor;
    _Atomic uint64_t
        allowed_bytes; /* the limit on its size, as it was when it was asked for last */
};

struct os_posix {
    struct os os;
    uint64_t forks; /* descriptor_forks() when it was made */
    struct os_process process;
    uint8_t boot_id[OS_BOOT_ID_BYTES];
};

/* A name is one component: nothing opened by it can lie outside its directory. */
static bool name_is_valid(const char *name) {
    return name[0] != '\0' && strchr(name, '/') == NULL && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

static bool range_is_valid(uint64_t offset, uint64_t bytes) {
    return offset <= INT64_MAX && bytes <= INT64_MAX - offset;
}

/* May the file hold this? Beyond the limit on its size the kernel would not only refuse: it would
 * send SIGXFSZ, which ends a process that has not asked for it (P5). */
static bool range_is_allowed(struct os_file *file, uint64_t offset, uint64_t bytes) {
    struct rlimit limit;
    if (!range_is_valid(offset, bytes))
        return false;
    uint64_t allowed = INT64_MAX;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < allowed)
        allowed = limit.rlim_cur;
    atomic_store_explicit(&file->allowed_bytes, allowed, memory_order_relaxed);
    return bytes == 0 || offset + bytes <= allowed;
}

/* The same, without asking again for what was allowed before: it costs as much as a small write. */
static bool range_was_allowed(struct os_file *file, uint64_t offset, uint64_t bytes) {
    const uint64_t allowed = atomic_load_explicit(&file->allowed_bytes, memory_order_relaxed);
    return (range_is_valid(offset, bytes) && offset + bytes <= allowed) ||
           range_is_allowed(file, offset, bytes);
}

/* Would a link be followed by whoever opens this? Asked only to word a failure. */
static bool is_link(int at, const char *path) {
    struct stat found;
    return fstatat(at, path, &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(found.st_mode);
}

/* Gives what this call has made the owner and the group of the directory it was made in, so that
 * root works on a store without locking its owner out. */
static int owner_pass_on(int dir, int made) {
    struct stat parent, found;
    if (fstat(dir, &parent) != 0 || fstat(made, &found) != 0)
        return errno;
    if (parent.st_uid == found.st_uid && (parent.st_gid == found.st_gid || geteuid() != 0))
        return 0;
    return fchown(made, parent.st_uid, parent.st_gid) == 0 ? 0 : errno;
}

/* Of what was opened: is it as it should be, and ours? */
static int dir_check_opened(const struct os_dir *dir, int at, unsigned how, bool made) {
    struct stat found;
    if (made && at != AT_FDCWD)
        return owner_pass_on(at, dir->descriptor.number);
    if ((how & OS_OPEN_WRITE) == 0 || geteuid() == 0)
        return 0;
    if (fstat(dir->descriptor.number, &found) != 0)
        return errno;
    return found.st_uid == geteuid() ? 0 : EACCES;
}

/* Before the open, which a harsh umask would have made fail. */
static int dir_make(int at, const char *path, unsigned how, bool *ret_made) {
    *ret_made = mkdirat(at, path, MODE_DIR) == 0;
    if (!*ret_made)
        return errno == EEXIST && (how & OS_OPEN_EXCLUSIVE) == 0 ? 0 : errno;
    return fchmodat(at, path, MODE_DIR, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno;
}

static int dir_open_any(int at, const char *path, unsigned how, struct os_dir **ret_dir) {
    if ((how & OS_OPEN_EXCLUSIVE) != 0 && (how & OS_OPEN_CREATE) == 0)
        return EINVAL;
    struct os_dir *dir = calloc(1, sizeof *dir);
    if (dir == NULL)
        return ENOMEM;
    bool made = false;
    int error = (how & OS_OPEN_CREATE) != 0 ? dir_make(at, path, how, &made) : 0;
    if (error == 0)
        error = descriptor_open(&dir->descriptor, at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    /* Of a link Linux says here that it is no directory. */
    if (error == ENOTDIR && is_link(at, path))
        error = ELOOP;
    if (error == 0) {
        error = dir_check_opened(dir, at, how, made);
        if (error != 0)
            (void)descriptor_close(&dir->descriptor); /* nothing was written through it */
    }
    if (error != 0) {
        free(dir);
        return error;
    }
    *ret_dir = dir;
    return 0;
}

/* A slash at the end would have a link in the last place followed. */
static int dir_open(struct os *os, const char *path, unsigned how, struct os_dir **ret_dir) {
    (void)os;
    size_t bytes = strlen(path);
    while (bytes > 1 && path[bytes - 1] == '/')
        bytes--;
    char trimmed[PATH_MAX];
    if (bytes >= sizeof trimmed)
        return ENAMETOOLONG;
    memcpy(trimmed, path, bytes);
    trimmed[bytes] = '\0';
    return dir_open_any(AT_FDCWD, trimmed, how, ret_dir);
}

static int dir_open_at(struct os *os, struct os_dir *parent, const char *name, unsigned how,
                       struct os_dir **ret_dir) {
    (void)os;
    if (!name_is_valid(name))
        return EINVAL;
    return dir_open_any(parent->descriptor.number, name, how, ret_dir);
}

/* Over a description of its own, because the position in a directory belongs to the description.
 * It holds no lock, so it need not be in the register. */
static int dir_list(struct os *os, struct os_dir *dir, os_visit visit, void *context) {
    (void)os;
    const int number = descriptor_open_bare(dir->descriptor.number, ".", O_RDONLY | O_DIRECTORY);
    if (number < 0)
        return errno;
    DIR *stream = fdopendir(number);
    if (stream == NULL) {
        const int error = errno;
        (void)close(number); /* only read */
        return error;
    }
    int result = 0;
    while (result == 0) {
        errno = 0;
        const struct dirent *entry = readdir(stream);
        if (entry == NULL) {
            result = errno;
            break;
        }
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            result = visit(context, entry->d_name);
    }
    (void)closedir(stream); /* only read */
    return result;
}

static int dir_sync(struct os *os, struct os_dir *dir) {
    (void)os;
    return fsync(dir->descriptor.number) == 0 ? 0 : errno;
}

/* flock(), not a byte lock: a directory can't be opened for writing. */
static int dir_hold(struct os *os, struct os_dir *dir, bool is_alone) {
    (void)os;
    int result;
    do
        result = flock(dir->descriptor.number, (is_alone ? LOCK_EX : LOCK_SH) | LOCK_NB);
    while (result != 0 && errno == EINTR);
    if (result == 0)
        return 0;
    return errno == EWOULDBLOCK ? EAGAIN : errno;
}

static void dir_close(struct os *os, struct os_dir *dir) {
    (void)os;
    (void)descriptor_close(&dir->descriptor); /* nothing is written through a directory */
    free(dir);
}

/* Only an exclusive creation tells whether it was this call that made the file (P3), so "make it if
 * it is missing" alternates between the two until one of them holds. */
static int file_open_or_make(struct os_file *file, int at, const char *name, unsigned how,
                             bool *ret_made) {
    const bool writes = (how & OS_OPEN_WRITE) != 0;
    const int access = !writes ? O_RDONLY : (how & OS_OPEN_READ) != 0 ? O_RDWR : O_WRONLY;
    const bool creates = (how & OS_OPEN_CREATE) != 0;
    const int flags = access | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    int error = ENOENT;
    *ret_made = false;
    for (int attempt = 0; attempt < OPEN_ATTEMPTS_MAX; attempt++) {
        if (creates) {
            error = descriptor_open(&file->descriptor, at, name, flags | O_CREAT | O_EXCL);
            *ret_made = error == 0;
            if (error != EEXIST || (how & OS_OPEN_EXCLUSIVE) != 0)
                return error;
        }
        error = descriptor_open(&file->descriptor, at, name, flags);
        if (error != ENOENT || !creates)
            break;
    }
    /* What Linux says of a directory, and of a pipe or a socket at whose other end nobody is. */
    return error == EISDIR || error == ENXIO ? EINVAL : error;
}

static int file_check_opened(const struct os_file *file, int dir, bool made) {
    struct stat found;
    if (fstat(file->descriptor.number, &found) != 0)
        return errno;
    if (!S_ISREG(found.st_mode))
        return EINVAL;
    if (made && fchmod(file->descriptor.number, DESCRIPTOR_FILE_MODE) != 0)
        return errno;
    return made ? owner_pass_on(dir, file->descriptor.number) : 0;
}

static int file_open(struct os *os, struct os_dir *dir, const char *name, unsigned how,
                     struct os_file **ret_file) {
    (void)os;
    const bool exclusive_alone = (how & OS_OPEN_EXCLUSIVE) != 0 && (how & OS_OPEN_CREATE) == 0;
    if (!name_is_valid(name) || (how & (OS_OPEN_READ | OS_OPEN_WRITE)) == 0 || exclusive_alone)
        return EINVAL;
    struct os_file *file = calloc(1, sizeof *file);
    if (file == NULL)
        return ENOMEM;
    bool made;
    int error = file_open_or_make(file, dir->descriptor.number, name, how, &made);
    if (error == 0) {
        error = file_check_opened(file, dir->descriptor.number, made);
        if (error != 0)
            (void)descriptor_close(&file->descriptor); /* nothing was written through it */
        if (error != 0 && made)
            (void)unlinkat(dir->descriptor.number, name, 0); /* as if it had not been made */
    }
    if (error != 0) {
        free(file);
        return error;
    }
    *ret_file = file;
    return 0;
}

static int lock_set(struct os_file *file, short type, uint64_t first, uint64_t count) {
    struct flock lock = {
        .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)first, .l_len = (off_t)count};
    return fcntl(file->descriptor.number, F_OFD_SETLK, &lock) == 0 ? 0 : errno;
}

static int file_close(struct os *os, struct os_file *file) {
    (void)os;
    /* Said, not left to close(): a mapping of the file may outlive it and would keep the locks. A
     * forked child has no descriptor any more to say it through. */
    (void)lock_set(file, F_UNLCK, 0, 0);
    const int error = descriptor_close(&file->descriptor);
    free(file);
    return error;
}

static int file_stat(struct os *os, struct os_file *file, struct os_stat *ret_stat) {
    (void)os;
    struct stat found;
    if (fstat(file->descriptor.number, &found) != 0)
        return errno;
    *ret_stat = (struct os_stat){
        .bytes = (uint64_t)found.st_size,
        .allocated_bytes = (uint64_t)found.st_blocks * DISK_BLOCK_BYTES,
        .device = (uint64_t)found.st_dev,
        .inode = (uint64_t)found.st_ino,
        .mode = found.st_mode & MODE_BITS,
        .owner = found.st_uid,
        .group = found.st_gid,
        .links = (uint32_t)found.st_nlink,
    };
    return 0;
}

static int file_read(struct os *os, struct os_file *file, void *buffer, size_t bytes,
                     uint64_t offset, size_t *ret_read) {
    (void)os;
    if (!range_is_valid(offset, bytes))
        return EINVAL;
    size_t done = 0;
    while (done < bytes) {
        const ssize_t got = pread(file->descriptor.number, (uint8_t *)buffer + done, bytes - done,
                                  (off_t)(offset + done));
        if (got == 0)
            break;
        if (got > 0)
            done += (size_t)got;
        else if (errno != EINTR)
            return errno;
    }
    *ret_read = done;
    return 0;
}

/* Where a file system tells no holes, all of a file is data. */
static int file_find_data(struct os *os, struct os_file *file, uint64_t offset,
                          uint64_t *ret_offset) {
    (void)os;
    if (!range_is_valid(offset, 0))
        return ENOENT;
    const off_t found = lseek(file->descriptor.number, (off_t)offset, SEEK_DATA);
    if (found >= 0) {
        *ret_offset = (uint64_t)found;
        return 0;
    }
    if (errno != EINVAL)
        return errno == ENXIO ? ENOENT : errno;
    struct stat status;
    if (fstat(file->descriptor.number, &status) != 0)
        return errno;
    if (offset >= (uint64_t)status.st_size)
        return ENOENT;
    *ret_offset = offset;
    return 0;
}

static int file_write(struct os *os, struct os_file *file, const void *buffer, size_t bytes,
                      uint64_t offset) {
    (void)os;
    if (!range_was_allowed(file, offset, bytes))
        return EFBIG;
    size_t done = 0;
    while (done < bytes) {
        const ssize_t put = pwrite(file->descriptor.number, (const uint8_t *)buffer + done,
                                   bytes - done, (off_t)(offset + done));
        if (put == 0)
            return EIO; /* a file that takes nothing and says no error would take nothing for ever
                         */
        if (put > 0)
            done += (size_t)put;
        else if (errno != EINTR)
            return errno;
    }
    return 0;
}

/* A sync that a signal broke off is a failed one: a second could succeed because the first has
 * already told, to nobody, what went wrong (P4). */
static int file_sync(struct os *os, struct os_file *file) {
    (void)os;
    return fdatasync(file->descriptor.number) == 0 ? 0 : errno;
}

/* Asks for new blocks before anything is written, so that a full disk shows at once; where there is
 * no fallocate() it shows in the writes. A range that has its blocks is not asked about: some file
 * systems would want room for it again, and it must stay writable on a full disk (D7). */
static int file_allocate(const struct os_file *file, uint64_t offset, uint64_t bytes) {
    struct stat found;
    if (fstat(file->descriptor.number, &found) != 0)
        return errno;
    const uint64_t size = (uint64_t)found.st_size;
    const bool is_sparse = (uint64_t)found.st_blocks * DISK_BLOCK_BYTES < size;
    if (offset + bytes <= size && !is_sparse)
        return 0;
    if (fallocate(file->descriptor.number, 0, (off_t)offset, (off_t)bytes) == 0)
        return 0;
    return errno == ENOSPC || errno == EDQUOT || errno == EFBIG ? errno : 0;
}

static int file_zero_fill(struct os *os, struct os_file *file, uint64_t offset, uint64_t bytes) {
    static const uint8_t zeros[PAGE_BYTES];
    if (!range_is_allowed(file, offset, bytes))
        return EFBIG;
    if (bytes == 0)
        return 0;
    int error = file_allocate(file, offset, bytes);
    const uint64_t end = offset + bytes;
    while (error == 0 && offset < end) {
        /* To the next page's edge, so that no piece but the first and the last is part of one. */
        const uint64_t to_edge = PAGE_BYTES - offset % PAGE_BYTES;
        const uint64_t piece = end - offset < to_edge ? end - offset : to_edge;
        error = file_write(os, file, zeros, (size_t)piece, offset);
        offset += piece;
    }
    return error;
}

static int file_truncate(struct os *os, struct os_file *file, uint64_t bytes) {
    (void)os;
    struct stat found;
    if (!range_is_valid(0, bytes))
        return EFBIG;
    if (fstat(file->descriptor.number, &found) != 0)
        return errno;
    if (bytes > (uint64_t)found.st_size && !range_is_allowed(file, 0, bytes))
        return EFBIG; /* shorter than it is it may get, whatever the limit */
    int result;
    do
        result = ftruncate(file->descriptor.number, (off_t)bytes);
    while (result != 0 && errno == EINTR);
    return result == 0 ? 0 : errno;
}

static int file_drop_cache(struct os *os, struct os_file *file) {
    (void)os;
    return posix_fadvise(file->descriptor.number, 0, 0, POSIX_FADV_DONTNEED);
}

static int file_map(struct os *os, struct os_file *file, size_t bytes, void **ret_address) {
    (void)os;
    struct stat found;
    if (fstat(file->descriptor.number, &found) != 0)
        return errno;
    if (bytes == 0 || (uint64_t)found.st_size < bytes)
        return EINVAL; /* a touch beyond the end would be a SIGBUS */
    void *address =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file->descriptor.number, 0);
    if (address == MAP_FAILED)
        return errno;
    *ret_address = address;
    return 0;
}

static void file_unmap(struct os *os, void *address, size_t bytes) {
    (void)os;
    (void)munmap(address, bytes); /* fails only for what was never mapped */
}

static int name_rename(struct os *os, struct os_dir *dir, const char *from, const char *to) {
    (void)os;
    if (!name_is_valid(from) || !name_is_valid(to))
        return EINVAL;
    const int at = dir->descriptor.number;
    return renameat(at, from, at, to) == 0 ? 0 : errno;
}

static int name_unlink(struct os *os, struct os_dir *dir, const char *name) {
    (void)os;
    if (!name_is_valid(name))
        return EINVAL;
    return unlinkat(dir->descriptor.number, name, 0) == 0 ? 0 : errno;
}

static int lock_take(struct os *os, struct os_file *file, uint64_t byte) {
    (void)os;
    if (!range_is_valid(byte, 1))
        return EINVAL;
    const int error = lock_set(file, F_WRLCK, byte, 1);
    return error == EACCES ? EAGAIN : error;
}

static void lock_drop(struct os *os, struct os_file *file, uint64_t byte) {
    (void)os;
    /* Fails only where there is nothing to drop: in a forked child, whose descriptor is closed. */
    (void)lock_set(file, F_UNLCK, byte, 1);
}

/* The kernel tells of some lock in the range, not of the lowest: ask again below each until there
 * is none. Others may hold ranges that are longer than a byte. */
static int lock_find(struct os *os, struct os_file *file, uint64_t first, uint64_t count,
                     uint64_t *ret_byte) {
    (void)os;
    if (!range_is_valid(first, count))
        return EINVAL;
    const uint64_t none = first + count;
    uint64_t lowest = none;
    while (lowest > first) {
        struct flock lock = {.l_type = F_WRLCK,
                             .l_whence = SEEK_SET,
                             .l_start = (off_t)first,
                             .l_len = (off_t)(lowest - first)};
        if (fcntl(file->descriptor.number, F_OFD_GETLK, &lock) != 0)
            return errno;
        if (lock.l_type == F_UNLCK)
            break;
        lowest = (uint64_t)lock.l_start > first ? (uint64_t)lock.l_start : first;
    }
    if (lowest == none)
        return ENOENT;
    *ret_byte = lowest;
    return 0;
}

static void boot_id_copy(struct os *os, uint8_t ret_id[OS_BOOT_ID_BYTES]) {
    memcpy(ret_id, ((struct os_posix *)os)->boot_id, OS_BOOT_ID_BYTES);
}

static void process_copy(struct os *os, struct os_process *ret_process) {
    *ret_process = ((struct os_posix *)os)->process;
}

static bool is_forked_child(struct os *os) {
    return ((struct os_posix *)os)->forks != descriptor_forks();
}

static void *memory_allocate(struct os *os, size_t bytes) {
    (void)os;
    return calloc(1, bytes == 0 ? 1 : bytes);
}

static void memory_release(struct os *os, void *memory, size_t bytes) {
    (void)os;
    (void)bytes;
    free(memory);
}

/* `step` stays empty: only the simulator stops a process between two of its own stores. */
static const struct os_ops posix_ops = {
    .dir_open = dir_open,
    .dir_open_at = dir_open_at,
    .dir_list = dir_list,
    .dir_sync = dir_sync,
    .dir_hold = dir_hold,
    .dir_close = dir_close,
    .file_open = file_open,
    .file_close = file_close,
    .file_stat = file_stat,
    .file_read = file_read,
    .file_find_data = file_find_data,
    .file_write = file_write,
    .file_sync = file_sync,
    .file_zero_fill = file_zero_fill,
    .file_truncate = file_truncate,
    .file_drop_cache = file_drop_cache,
    .file_map = file_map,
    .file_unmap = file_unmap,
    .rename = name_rename,
    .unlink = name_unlink,
    .lock_take = lock_take,
    .lock_drop = lock_drop,
    .lock_find = lock_find,
    .futex_wait = posix_futex_wait,
    .futex_wake = posix_futex_wake,
    .pause = posix_pause,
    .clock_boot = posix_clock_boot,
    .clock_wall = posix_clock_wall,
    .boot_id = boot_id_copy,
    .entropy = posix_entropy,
    .process = process_copy,
    .is_forked_child = is_forked_child,
    .allocate = memory_allocate,
    .release = memory_release,
};

int os_posix_create(struct os **ret_os) {
    struct os_posix *posix = calloc(1, sizeof *posix);
    if (posix == NULL)
        return ENOMEM;
    int error = descriptor_watch_forks();
    if (error == 0)
        error = posix_read_boot_id(posix->boot_id);
    if (error != 0) {
        free(posix);
        return error;
    }
    posix_name_process(&posix->process);
    posix->forks = descriptor_forks();
    posix->os.ops = &posix_ops;
    *ret_os = &posix->os;
    return 0;
}

void os_posix_destroy(struct os *os) {
    free(os);
}

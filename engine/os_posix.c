#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64

#include "os_posix.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NANOSECONDS_PER_SECOND UINT64_C(1000000000)

/* futex_wait() reads the boot clock again after this long, because the kernel's own timeout stands
 * still while the machine is suspended and the boot clock does not. */
#define FUTEX_SLICE_NS NANOSECONDS_PER_SECOND

enum {
    DESCRIPTOR_MIN = 3,
    PAGE_BYTES = 4096,
    DISK_BLOCK_BYTES = 512, /* the unit of st_blocks, whatever the file system */
    MODE_FILE = 0600,
    MODE_DIR = 0700,
    MODE_BITS = 07777,
    OPEN_ATTEMPTS_MAX = 100,
};

_Static_assert(sizeof(off_t) == 8, "files are longer than 2 GiB");
_Static_assert(sizeof(struct timespec) == 2 * sizeof(long), "what the futex call takes");

struct descriptor {
    int number; /* -1 once a forked child has closed it */
    struct descriptor *previous, *next;
};

struct os_dir {
    struct descriptor descriptor;
};

struct os_file {
    struct descriptor descriptor;
};

struct os_posix {
    struct os os;
    uint64_t forks; /* how often fork() had led to this process when the os was made */
    struct os_process process;
    uint8_t boot_id[OS_BOOT_ID_BYTES];
};

/* The register: every descriptor that is open through any os of this process (P1). */
static pthread_mutex_t register_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct descriptor *register_first;
static bool register_knows_forks;

/* Grows in each forked child, so that what was made before differs from it. */
static _Atomic uint64_t fork_count;

static void register_lock(void) {
    (void)pthread_mutex_lock(&register_mutex); /* a normal mutex has no way to fail */
}

static void register_unlock(void) {
    (void)pthread_mutex_unlock(&register_mutex);
}

/* Runs in a child that has one thread and may call async-signal-safe functions only (P2). */
static void register_after_fork_in_child(void) {
    for (struct descriptor *each = register_first; each != NULL; each = each->next) {
        if (each->number >= 0)
            (void)close(each->number); /* the parent's copy is the one that reports errors */
        each->number = -1;
    }
    atomic_fetch_add_explicit(&fork_count, 1, memory_order_relaxed);
    register_unlock();
}

/* The C library forgets these handlers when the library that holds them is unloaded. */
static int register_prepare(void) {
    register_lock();
    int error = 0;
    if (!register_knows_forks)
        error = pthread_atfork(register_lock, register_unlock, register_after_fork_in_child);
    if (error == 0)
        register_knows_forks = true;
    register_unlock();
    return error;
}

/* Fills what is free of descriptors 0 to 2 with something that can't be written to: a host that
 * prints to an error stream it has closed must not meet a store's file there, not even for the
 * moment between an open and the move away. */
static void plugs_put(int ret_plugs[DESCRIPTOR_MIN]) {
    for (int number = 0; number < DESCRIPTOR_MIN; number++) {
        ret_plugs[number] = -1;
        if (fcntl(number, F_GETFD) < 0)
            ret_plugs[number] = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
}

static void plugs_pull(const int plugs[DESCRIPTOR_MIN]) {
    for (int i = 0; i < DESCRIPTOR_MIN; i++)
        if (plugs[i] >= 0)
            (void)close(plugs[i]); /* nothing was written through it */
}

/* openat() that repeats after a signal and answers 3 or more; -1 with errno. */
static int open_above(int at, const char *name, int flags) {
    int plugs[DESCRIPTOR_MIN];
    plugs_put(plugs);
    int number;
    do
        number = openat(at, name, flags | O_CLOEXEC, MODE_FILE);
    while (number < 0 && errno == EINTR);
    int error = errno;
    if (number >= 0 && number < DESCRIPTOR_MIN) { /* another thread has just closed it */
        const int low = number;
        number = fcntl(low, F_DUPFD_CLOEXEC, DESCRIPTOR_MIN);
        error = errno;
        (void)close(low); /* nothing was written through it */
    }
    plugs_pull(plugs);
    errno = error;
    return number;
}

/* The open and its entry are one step as seen by a fork (P1, P2). */
static int descriptor_open(struct descriptor *descriptor, int at, const char *name, int flags) {
    register_lock();
    descriptor->number = open_above(at, name, flags);
    const int error = descriptor->number < 0 ? errno : 0;
    if (error == 0) {
        descriptor->previous = NULL;
        descriptor->next = register_first;
        if (register_first != NULL)
            register_first->previous = descriptor;
        register_first = descriptor;
    }
    register_unlock();
    return error;
}

static int descriptor_close(struct descriptor *descriptor) {
    register_lock();
    if (descriptor->previous != NULL)
        descriptor->previous->next = descriptor->next;
    else
        register_first = descriptor->next;
    if (descriptor->next != NULL)
        descriptor->next->previous = descriptor->previous;
    int error = 0;
    if (descriptor->number >= 0 && close(descriptor->number) != 0)
        error = errno;
    register_unlock();
    return error;
}

/* A name is one component: nothing opened by it can lie outside its directory. */
static bool name_is_valid(const char *name) {
    return name[0] != '\0' && strchr(name, '/') == NULL && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

static bool range_is_valid(uint64_t offset, uint64_t bytes) {
    return offset <= INT64_MAX && bytes <= INT64_MAX - offset;
}

/* Would a link be followed by whoever opens this? Asked only to word a failure. */
static bool is_link(int at, const char *path) {
    struct stat found;
    return fstatat(at, path, &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(found.st_mode);
}

static int dir_open_any(int at, const char *path, unsigned how, struct os_dir **ret_dir) {
    if ((how & OS_OPEN_EXCLUSIVE) != 0 && (how & OS_OPEN_CREATE) == 0)
        return EINVAL;
    struct os_dir *dir = calloc(1, sizeof *dir);
    if (dir == NULL)
        return ENOMEM;
    int error = 0;
    if ((how & OS_OPEN_CREATE) != 0) {
        if (mkdirat(at, path, MODE_DIR) != 0)
            error = errno == EEXIST && (how & OS_OPEN_EXCLUSIVE) == 0 ? 0 : errno;
        else if (fchmodat(at, path, MODE_DIR, AT_SYMLINK_NOFOLLOW) != 0)
            error = errno; /* before the open, which a harsh umask would have made fail */
    }
    if (error == 0)
        error = descriptor_open(&dir->descriptor, at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    /* Of a link Linux says here that it is no directory. */
    if (error == ENOTDIR && is_link(at, path))
        error = ELOOP;
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
    const int number = open_above(dir->descriptor.number, ".", O_RDONLY | O_DIRECTORY);
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

static int file_check_opened(const struct os_file *file, int dir, bool made) {
    struct stat found;
    if (fstat(file->descriptor.number, &found) != 0)
        return errno;
    if (!S_ISREG(found.st_mode))
        return EINVAL;
    if (made && fchmod(file->descriptor.number, MODE_FILE) != 0)
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
    if (!range_is_valid(offset, bytes))
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
    if (!range_is_valid(offset, bytes))
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
    if (!range_is_valid(0, bytes))
        return EFBIG;
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

static struct timespec timespec_of(uint64_t nanoseconds) {
    return (struct timespec){.tv_sec = (time_t)(nanoseconds / NANOSECONDS_PER_SECOND),
                             .tv_nsec = (long)(nanoseconds % NANOSECONDS_PER_SECOND)};
}

static uint64_t clock_read(clockid_t clock, uint64_t units_per_second) {
    struct timespec now;
    (void)clock_gettime(clock, &now); /* Linux has had both clocks for longer than OFD locks */
    return (uint64_t)now.tv_sec * units_per_second +
           (uint64_t)now.tv_nsec / (NANOSECONDS_PER_SECOND / units_per_second);
}

static uint64_t clock_boot(struct os *os) {
    (void)os;
    return clock_read(CLOCK_BOOTTIME, NANOSECONDS_PER_SECOND);
}

static uint64_t clock_wall(struct os *os) {
    (void)os;
    return clock_read(CLOCK_REALTIME, 1000000);
}

static void thread_pause(struct os *os, uint64_t nanoseconds) {
    (void)os;
    if (nanoseconds == 0) {
        (void)sched_yield(); /* can't fail on Linux */
        return;
    }
    struct timespec left = timespec_of(nanoseconds);
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR)
        continue;
}

/* The shared flavour, which finds its waiters by the page and so serves private memory too. */
static int futex_wait(struct os *os, _Atomic uint32_t *word, uint32_t expected, uint64_t deadline) {
    for (;;) {
        struct timespec slice;
        if (deadline != OS_NO_DEADLINE) {
            const uint64_t now = clock_boot(os);
            const uint64_t left = deadline > now ? deadline - now : 0;
            slice = timespec_of(left < FUTEX_SLICE_NS ? left : FUTEX_SLICE_NS);
        }
        if (syscall(SYS_futex, word, FUTEX_WAIT, expected,
                    deadline == OS_NO_DEADLINE ? NULL : &slice, NULL, 0) == 0)
            return 0;
        if (errno != ETIMEDOUT)
            return 0; /* EAGAIN: the word differed; EINTR: a signal, for the caller no reason */
        if (clock_boot(os) >= deadline)
            return ETIMEDOUT;
    }
}

static void futex_wake(struct os *os, _Atomic uint32_t *word, uint32_t waiters_max) {
    (void)os;
    const int waiters = waiters_max > INT_MAX ? INT_MAX : (int)waiters_max;
    /* How many there were tells nothing; a bad address would have crashed the caller before. */
    (void)syscall(SYS_futex, word, FUTEX_WAKE, waiters, NULL, NULL, 0);
}

static int entropy_fill(struct os *os, void *buffer, size_t bytes) {
    (void)os;
    size_t done = 0;
    while (done < bytes) {
        const ssize_t got = getrandom((uint8_t *)buffer + done, bytes - done, 0);
        if (got >= 0)
            done += (size_t)got;
        else if (errno != EINTR)
            return errno;
    }
    return 0;
}

static void boot_id_copy(struct os *os, uint8_t ret_id[OS_BOOT_ID_BYTES]) {
    memcpy(ret_id, ((struct os_posix *)os)->boot_id, OS_BOOT_ID_BYTES);
}

static void process_copy(struct os *os, struct os_process *ret_process) {
    *ret_process = ((struct os_posix *)os)->process;
}

static bool is_forked_child(struct os *os) {
    return ((struct os_posix *)os)->forks !=
           atomic_load_explicit(&fork_count, memory_order_relaxed);
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
    .futex_wait = futex_wait,
    .futex_wake = futex_wake,
    .pause = thread_pause,
    .clock_boot = clock_boot,
    .clock_wall = clock_wall,
    .boot_id = boot_id_copy,
    .entropy = entropy_fill,
    .process = process_copy,
    .is_forked_child = is_forked_child,
    .allocate = memory_allocate,
    .release = memory_release,
};

/* The beginning of a small file of /proc, as a string. */
static int proc_read(const char *path, char *ret_text, size_t size) {
    const int number = open_above(AT_FDCWD, path, O_RDONLY);
    if (number < 0)
        return errno;
    ssize_t got;
    do
        got = read(number, ret_text, size - 1);
    while (got < 0 && errno == EINTR);
    const int error = got < 0 ? errno : 0;
    (void)close(number); /* only read */
    if (error == 0)
        ret_text[got] = '\0';
    return error;
}

/* Sixteen bytes from the usual text of a UUID: 32 hexadecimal digits, with dashes between some. */
static int boot_id_parse(const char *text, uint8_t ret_id[OS_BOOT_ID_BYTES]) {
    static const char digits[] = "0123456789abcdef";
    size_t count = 0;
    for (; *text != '\0' && *text != '\n'; text++) {
        if (*text == '-')
            continue;
        const char *digit = strchr(digits, *text);
        if (digit == NULL || count == 2 * (size_t)OS_BOOT_ID_BYTES)
            return EIO;
        const uint8_t value = (uint8_t)(digit - digits);
        ret_id[count / 2] = (uint8_t)(count % 2 == 0 ? value << 4 : ret_id[count / 2] | value);
        count++;
    }
    return count == 2 * (size_t)OS_BOOT_ID_BYTES ? 0 : EIO;
}

/* Both texts are shown to people, who may have made them up: one line, nothing for a terminal to
 * obey, cut to fit. */
static void text_copy(char *ret_text, size_t size, const char *text) {
    size_t used = 0;
    for (; *text != '\0' && *text != '\n' && used + 1 < size; text++) {
        const bool is_control = (unsigned char)*text < 0x20 || *text == 0x7f;
        ret_text[used] = *text;
        if (is_control)
            ret_text[used] = '?';
        used++;
    }
    ret_text[used] = '\0';
}

/* The command's name alone: its arguments may hold secrets, and this is written into the store. */
static void process_fill(struct os_process *ret_process) {
    char text[HOST_NAME_MAX + 1] = "";
    ret_process->pid = (uint32_t)getpid();
    const bool named = gethostname(text, sizeof text) == 0 && text[0] != '\0';
    text_copy(ret_process->host, sizeof ret_process->host, named ? text : "?");
    const bool read = proc_read("/proc/self/comm", text, sizeof text) == 0;
    text_copy(ret_process->command, sizeof ret_process->command, read ? text : "?");
}

int os_posix_create(struct os **ret_os) {
    struct os_posix *posix = calloc(1, sizeof *posix);
    if (posix == NULL)
        return ENOMEM;
    char text[64] = "";
    int error = register_prepare();
    if (error == 0)
        error = proc_read("/proc/sys/kernel/random/boot_id", text, sizeof text);
    if (error == 0)
        error = boot_id_parse(text, posix->boot_id);
    if (error != 0) {
        free(posix);
        return error;
    }
    process_fill(&posix->process);
    posix->forks = atomic_load_explicit(&fork_count, memory_order_relaxed);
    posix->os.ops = &posix_ops;
    *ret_os = &posix->os;
    return 0;
}

void os_posix_destroy(struct os *os) {
    free(os);
}

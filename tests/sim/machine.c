/* The calls of the seam over a simulated disk, with whatever the seed lets go wrong. */
#include "machine.h"

#include "locks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_MAGIC = 0x50574c42 };

/* Another process that is not dead; NULL when there is none. */
static struct process *draw_other(struct world *world, const struct process *process) {
    struct process *others[WORLD_PROCESSES];
    size_t count = 0;
    for (size_t i = 0; i < WORLD_PROCESSES; i++) {
        struct process *other = &world->processes[i];
        if (other != process && (other->state == PROCESS_RUNS || other->state == PROCESS_STOPPED))
            others[count++] = other;
    }
    return count == 0 ? NULL : others[prng_below(&world->faults, count)];
}

void machine_pass(struct process *process) {
    struct world *world = process->world;
    if (world->current == NULL)
        return; /* cleaning up, outside of the simulated time */
    world->clock_ns += 500 + prng_below(&world->scheduling, 8000);
    world->calls++;
    if (world_meets(world, FAULT_POWER)) {
        world->news = WORLD_POWER;
        world_leave_for_good(world);
    }
    if (world_meets(world, FAULT_KILL)) {
        world_kill(world, process);
        world_leave_for_good(world);
    }
    struct process *other =
        world_meets(world, FAULT_KILL_OTHER) ? draw_other(world, process) : NULL;
    if (other != NULL)
        world_kill(world, other);
    if (world_meets(world, FAULT_WALL_CLOCK))
        world->wall_us +=
            prng_below(&world->faults, UINT64_C(600000000000000)) - UINT64_C(300000000000000);
    const bool stops = world_meets(world, FAULT_STOP);
    if (stops)
        world_stop(world, process);
    if (stops || other != NULL || world->calls > world->options.calls_max ||
        prng_chance(&world->scheduling, world->options.switching))
        world_yield(world);
}

int machine_swept(struct world *world, enum call call) {
    const uint64_t number = ++world->fail[call].count;
    const uint64_t wanted = world->fail[call].number;
    if (wanted == 0 || number < wanted || (number > wanted && !world->fail[call].for_ever))
        return 0;
    return world->fail[call].os_errno;
}

int machine_note(struct process *process, unsigned call, int inode, uint64_t offset, uint64_t bytes,
                 int result) {
    world_trace(process->world, process, call, inode, offset, bytes, result);
    return result;
}

/* ---- Directories ---- */

static int walk_to(struct disk *disk, const char *path) {
    int dir = 0;
    char name[DISK_NAME_BYTES];
    while (*path != '\0') {
        size_t length = strcspn(path, "/");
        if (length >= sizeof name)
            return -1;
        memcpy(name, path, length);
        name[length] = '\0';
        path += length + (path[length] == '/');
        if (length == 0 || strcmp(name, ".") == 0)
            continue;
        dir = disk_lookup(disk, dir, name);
        if (dir < 0)
            return -1;
    }
    return dir;
}

static int dir_take(struct process *process, int inode, struct os_dir **ret_dir) {
    struct os_dir *dir = process->os.ops->allocate(&process->os, sizeof *dir);
    if (dir == NULL)
        return ENOMEM;
    dir->process = process;
    dir->inode = inode;
    *ret_dir = dir;
    return 0;
}

static int create(struct process *process, int dir, const char *name, bool is_dir, int *ret_inode) {
    if (strlen(name) >= DISK_NAME_BYTES)
        return ENAMETOOLONG;
    if (world_meets(process->world, FAULT_SPACE))
        return ENOSPC;
    const int inode = disk_create(&process->world->disk, dir, name, is_dir);
    if (inode < 0)
        return ENOSPC;
    *ret_inode = inode;
    return 0;
}

static int dir_open_at(struct os *os, struct os_dir *parent, const char *name, unsigned how,
                       struct os_dir **ret_dir) {
    struct process *process = machine_process(os);
    struct disk *disk = &process->world->disk;
    machine_pass(process);
    int failed = machine_swept(process->world, CALL_DIR_OPEN);
    int inode = disk_lookup(disk, parent->inode, name);
    if (failed == 0 && world_meets(process->world, FAULT_OPEN))
        failed = EMFILE;
    if (failed == 0 && inode < 0 && (how & OS_OPEN_CREATE) == 0)
        failed = ENOENT;
    if (failed == 0 && inode >= 0 && (how & OS_OPEN_EXCLUSIVE) != 0)
        failed = EEXIST;
    if (failed == 0 && inode >= 0 && !disk->inodes[inode].is_dir)
        failed = ENOTDIR;
    if (failed == 0 && inode < 0)
        failed = create(process, parent->inode, name, true, &inode);
    if (failed == 0)
        failed = dir_take(process, inode, ret_dir);
    return machine_note(process, CALL_DIR_OPEN, inode, 0, 0, failed);
}

static int dir_open(struct os *os, const char *path, unsigned how, struct os_dir **ret_dir) {
    struct process *process = machine_process(os);
    struct disk *disk = &process->world->disk;
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    char parent_path[64] = "";
    if (slash != NULL && (size_t)(slash - path) >= sizeof parent_path)
        return ENAMETOOLONG;
    if (slash != NULL)
        memcpy(parent_path, path, (size_t)(slash - path));
    if (*name == '\0' || strcmp(name, ".") == 0) {
        machine_pass(process);
        int failed = machine_swept(process->world, CALL_DIR_OPEN);
        const int inode = walk_to(disk, path);
        if (failed == 0 && inode < 0)
            failed = ENOENT;
        if (failed == 0)
            failed = dir_take(process, inode, ret_dir);
        return machine_note(process, CALL_DIR_OPEN, -1, 0, 0, failed);
    }
    struct os_dir parent = {process, walk_to(disk, parent_path)};
    return parent.inode < 0 ? ENOENT : dir_open_at(os, &parent, name, how, ret_dir);
}

static int dir_list(struct os *os, struct os_dir *dir, os_visit visit, void *context) {
    struct process *process = machine_process(os);
    const struct disk *disk = &process->world->disk;
    machine_pass(process);
    int failed = machine_swept(process->world, CALL_DIR_LIST);
    if (failed == 0 && world_meets(process->world, FAULT_READ))
        failed = EIO;
    (void)machine_note(process, CALL_DIR_LIST, dir->inode, 0, 0, failed);
    /* From a copy, since a visit may allocate and so let others run. */
    static char names[DISK_NAMES_MAX][DISK_NAME_BYTES];
    size_t count = 0;
    for (size_t i = 0; failed == 0 && i < disk->live_count; i++) {
        if (disk->live[i].dir == dir->inode)
            memcpy(names[count++], disk->live[i].name, DISK_NAME_BYTES);
    }
    struct thread *current = process->world->current;
    const size_t first = world_meets(process->world, FAULT_ORDER)
                             ? (size_t)prng_below(&process->world->faults, count)
                             : 0;
    process->world->current = NULL; /* it is one call: nobody else runs in it */
    for (size_t i = 0; failed == 0 && i < count; i++)
        failed = visit(context, names[(first + i) % count]);
    process->world->current = current;
    return failed;
}

static int dir_sync(struct os *os, struct os_dir *dir) {
    struct process *process = machine_process(os);
    machine_pass(process);
    int failed = machine_swept(process->world, CALL_DIR_SYNC);
    if (failed == 0 && world_meets(process->world, FAULT_DIR_SYNC))
        failed = EIO;
    if (failed == 0)
        disk_sync_dir(&process->world->disk, dir->inode);
    (void)machine_note(process, CALL_DIR_SYNC, dir->inode, 0, 0, failed);
    machine_pass(process);
    return failed;
}

static void dir_close(struct os *os, struct os_dir *dir) {
    locks_drop_hold(machine_process(os)->world, dir);
    os->ops->release(os, dir, sizeof *dir);
}

/* ---- Files ---- */

static int file_open(struct os *os, struct os_dir *dir, const char *name, unsigned how,
                     struct os_file **ret_file) {
    struct process *process = machine_process(os);
    struct disk *disk = &process->world->disk;
    machine_pass(process);
    int failed = machine_swept(process->world, CALL_FILE_OPEN);
    int inode = disk_lookup(disk, dir->inode, name);
    if (failed == 0 && world_meets(process->world, FAULT_OPEN))
        failed = EMFILE;
    if (failed == 0 && inode < 0 && (how & OS_OPEN_CREATE) == 0)
        failed = ENOENT;
    if (failed == 0 && inode >= 0 && (how & OS_OPEN_EXCLUSIVE) != 0)
        failed = EEXIST;
    if (failed == 0 && inode >= 0 && disk->inodes[inode].is_dir)
        failed = EINVAL;
    if (failed == 0 && inode < 0)
        failed = create(process, dir->inode, name, false, &inode);
    if (failed == 0 && disk->inodes[inode].opens == 0 && world_meets(process->world, FAULT_EVICT))
        disk_evict(disk, inode);
    if (failed == 0) {
        struct os_file *file = calloc(1, sizeof *file);
        if (file == NULL)
            abort();
        file->process = process;
        file->inode = inode;
        file->how = how;
        /* An error that nobody was told of yet is told to those who come later, too. */
        file->errors_told = disk->inodes[inode].errors - disk->inodes[inode].error_is_new;
        file->next = process->files;
        process->files = file;
        disk_open(disk, inode);
        *ret_file = file;
    }
    return machine_note(process, CALL_FILE_OPEN, inode, 0, 0, failed);
}

static int file_close(struct os *os, struct os_file *file) {
    struct process *process = machine_process(os);
    machine_pass(process);
    const int failed = machine_swept(process->world, CALL_FILE_CLOSE);
    struct os_file **at = &process->files;
    while (*at != NULL && *at != file)
        at = &(*at)->next;
    if (*at == NULL) {
        world_complain(process->world, "p%d closed a file that is not open", process->id);
        return EBADF;
    }
    *at = file->next;
    locks_drop_all(process->world, file);
    (void)machine_note(process, CALL_FILE_CLOSE, file->inode, 0, 0, failed);
    disk_close(&process->world->disk, file->inode);
    free(file);
    return failed;
}

static int file_stat(struct os *os, struct os_file *file, struct os_stat *ret_stat) {
    struct process *process = machine_process(os);
    machine_pass(process);
    const int failed = machine_swept(process->world, CALL_FILE_STAT);
    if (failed == 0)
        *ret_stat = (struct os_stat){
            .bytes = process->world->disk.inodes[file->inode].seen_bytes,
            .allocated_bytes = disk_allocated(&process->world->disk, file->inode),
            .inode = (uint64_t)file->inode,
            .mode = 0600,
            .links = 1,
        };
    return machine_note(process, CALL_FILE_STAT, file->inode, 0, 0, failed);
}

static int file_read(struct os *os, struct os_file *file, void *buffer, size_t bytes,
                     uint64_t offset, size_t *ret_read) {
    struct process *process = machine_process(os);
    machine_pass(process);
    int failed = machine_swept(process->world, CALL_FILE_READ);
    if (failed == 0 && world_meets(process->world, FAULT_READ))
        failed = EIO;
    if (world_meets(process->world, FAULT_EVICT))
        disk_drop_cache(&process->world->disk, file->inode);
    if (failed == 0)
        *ret_read = disk_read(&process->world->disk, file->inode, buffer, bytes, offset);
    return machine_note(process, CALL_FILE_READ, file->inode, offset, bytes, failed);
}

/* Every block of zeros is a hole here: no file system leaves out more. */
static int file_find_data(struct os *os, struct os_file *file, uint64_t offset,
                          uint64_t *ret_offset) {
    struct process *process = machine_process(os);
    const struct disk *disk = &process->world->disk;
    machine_pass(process);
    int failed = machine_swept(process->world, CALL_FIND_DATA);
    if (failed == 0 && world_meets(process->world, FAULT_READ))
        failed = EIO;
    const uint64_t found = disk_find_data(disk, file->inode, offset);
    if (failed == 0 && found >= disk->inodes[file->inode].seen_bytes)
        failed = ENOENT;
    if (failed == 0)
        *ret_offset = found;
    return machine_note(process, CALL_FIND_DATA, file->inode, offset, 0, failed);
}

/* A kill lets a write stop at a page's edge; seldom anywhere, as when a limit cut it short before.
 */
static size_t prefix_of(struct world *world, size_t bytes, uint64_t offset) {
    size_t prefix = (size_t)prng_below(&world->faults, bytes + 1);
    if (prng_below(&world->faults, 8) != 0) {
        const uint64_t edge = (offset + prefix) / DISK_BLOCK * DISK_BLOCK;
        prefix = edge > offset ? (size_t)(edge - offset) : 0;
    }
    return prefix;
}

/* False, and a complaint, when the file was opened for reading only. */
static bool may_write(const struct os_file *file) {
    if ((file->how & OS_OPEN_WRITE) != 0)
        return true;
    world_complain(file->process->world, "p%d writes to %s, which it has opened for reading",
                   file->process->id, file->process->world->disk.inodes[file->inode].name);
    return false;
}

/* The error of a write, of which any part is in the file; 0 when all is. */
static int write_some(struct os_file *file, const uint8_t *bytes, size_t count, uint64_t offset) {
    struct process *process = file->process;
    struct world *world = process->world;
    struct disk *disk = &world->disk;
    if (disk_grows(disk, file->inode, offset + count) && world_meets(world, FAULT_SPACE)) {
        (void)disk_write(disk, file->inode, bytes, (size_t)prng_below(&world->faults, count),
                         offset);
        return ENOSPC;
    }
    size_t done = 0;
    if (world->current != NULL && world_meets(world, FAULT_SPLIT_WRITE)) {
        /* At a page's edge: the kernel holds a page's lock while it copies into it. */
        const uint64_t edge =
            (offset + prng_below(&world->faults, count)) / DISK_BLOCK * DISK_BLOCK;
        if (edge > offset)
            done = disk_write(disk, file->inode, bytes, (size_t)(edge - offset), offset);
        machine_pass(process);
    }
    done += disk_write(disk, file->inode, bytes + done, count - done, offset + done);
    world->fault_counts[FAULT_SPACE] += done < count;
    return done < count ? ENOSPC : 0;
}

static int file_write(struct os *os, struct os_file *file, const void *buffer, size_t bytes,
                      uint64_t offset) {
    struct process *process = machine_process(os);
    struct world *world = process->world;
    struct disk *disk = &world->disk;
    machine_pass(process);
    if (!may_write(file))
        return EBADF;
    int failed = machine_swept(world, CALL_FILE_WRITE);
    if (world->current != NULL && world_meets(world, FAULT_KILL_IN_WRITE)) {
        (void)disk_write(disk, file->inode, buffer, prefix_of(world, bytes, offset), offset);
        (void)machine_note(process, CALL_FILE_WRITE, file->inode, offset, bytes, EINTR);
        world_kill(world, process);
        world_leave_for_good(world);
    }
    if (failed == 0 && world_meets(world, FAULT_WRITE))
        failed = EIO;
    if (failed != 0) {
        /* An error does not say that nothing got there; seldom, all did. */
        const size_t part =
            prng_below(&world->faults, 8) == 0 ? bytes : (size_t)prng_below(&world->faults, bytes);
        (void)disk_write(disk, file->inode, buffer, part, offset);
    } else {
        failed = write_some(file, buffer, bytes, offset);
    }
    if (world_meets(world, FAULT_WRITE_BACK) && !disk->inodes[file->inode].is_mapped)
        disk_sync_failing(disk, file->inode, &world->contents);
    (void)machine_note(process, CALL_FILE_WRITE, file->inode, offset, bytes, failed);
    machine_pass(process);
    return failed;
}

static int file_sync(struct os *os, struct os_file *file) {
    struct process *process = machine_process(os);
    struct world *world = process->world;
    struct disk_inode *inode = &world->disk.inodes[file->inode];
    machine_pass(process);
    bool dies_of_it = false; /* before it can tell anybody */
    int failed = machine_swept(world, CALL_FILE_SYNC);
    if (failed == 0 && world_meets(world, FAULT_SYNC))
        failed = EIO;
    if (failed != 0) {
        disk_sync_failing(&world->disk, file->inode, &world->contents);
        inode->error_is_new = false;
        /* Others who have it open learn of it at their next sync, or never. */
        file->errors_told = inode->errors;
        dies_of_it = world->options.chances[FAULT_KILL] > 0 && prng_below(&world->faults, 4) == 0;
        if (!prng_chance(&world->faults, 50000)) {
            for (size_t i = 0; i < WORLD_PROCESSES; i++) {
                for (struct os_file *other = world->processes[i].files; other != NULL;
                     other = other->next) {
                    if (other->inode == file->inode)
                        other->errors_told = inode->errors;
                }
            }
        }
    } else {
        disk_sync(&world->disk, file->inode);
        if (file->errors_told != inode->errors) {
            file->errors_told = inode->errors;
            inode->error_is_new = false;
            world->fault_counts[FAULT_SYNC_TOLD]++;
            failed = EIO;
        }
    }
    (void)machine_note(process, CALL_FILE_SYNC, file->inode, 0, 0, failed);
    if (dies_of_it && world->current != NULL) {
        world->fault_counts[FAULT_KILL]++;
        world_kill(world, process);
        world_leave_for_good(world);
    }
    machine_pass(process);
    return failed;
}

static int file_zero_fill(struct os *os, struct os_file *file, uint64_t offset, uint64_t bytes) {
    struct process *process = machine_process(os);
    struct world *world = process->world;
    machine_pass(process);
    if (!may_write(file))
        return EBADF;
    int failed = machine_swept(world, CALL_ZERO_FILL);
    if (failed == 0 && world_meets(world, FAULT_WRITE))
        failed = EIO;
    if (failed == 0 && disk_grows(&world->disk, file->inode, offset + bytes) &&
        world_meets(world, FAULT_SPACE)) {
        disk_truncate(&world->disk, file->inode,
                      (size_t)prng_between(&world->faults,
                                           world->disk.inodes[file->inode].seen_bytes,
                                           offset + bytes - 1));
        failed = ENOSPC;
    }
    /* The space is asked for first, so the file has its size before the zeros are written. */
    if (failed == 0 && offset + bytes > world->disk.inodes[file->inode].seen_bytes) {
        disk_truncate(&world->disk, file->inode, (size_t)(offset + bytes));
        if (world->disk.inodes[file->inode].seen_bytes < offset + bytes) {
            world->fault_counts[FAULT_SPACE]++;
            failed = ENOSPC;
        }
    }
    static const uint8_t zeros[DISK_BLOCK];
    for (uint64_t at = 0; failed == 0 && at < bytes; at += sizeof zeros) {
        const size_t part = bytes - at < sizeof zeros ? (size_t)(bytes - at) : sizeof zeros;
        (void)disk_write(&world->disk, file->inode, zeros, part, offset + at);
        if (at % (4 * sizeof zeros) == 0)
            machine_pass(process);
    }
    return machine_note(process, CALL_ZERO_FILL, file->inode, offset, bytes, failed);
}

static int file_truncate(struct os *os, struct os_file *file, uint64_t bytes) {
    struct process *process = machine_process(os);
    machine_pass(process);
    if (!may_write(file))
        return EBADF;
    int failed = machine_swept(process->world, CALL_TRUNCATE);
    if (failed == 0 && disk_grows(&process->world->disk, file->inode, bytes) &&
        world_meets(process->world, FAULT_SPACE))
        failed = ENOSPC;
    if (failed == 0)
        disk_truncate(&process->world->disk, file->inode, (size_t)bytes);
    if (failed == 0 && process->world->disk.inodes[file->inode].seen_bytes < bytes)
        failed = ENOSPC;
    return machine_note(process, CALL_TRUNCATE, file->inode, 0, bytes, failed);
}

static int file_drop_cache(struct os *os, struct os_file *file) {
    struct process *process = machine_process(os);
    machine_pass(process);
    const int failed = machine_swept(process->world, CALL_DROP_CACHE);
    if (failed == 0)
        disk_drop_cache(&process->world->disk, file->inode);
    return machine_note(process, CALL_DROP_CACHE, file->inode, 0, 0, failed);
}

static int file_map(struct os *os, struct os_file *file, size_t bytes, void **ret_address) {
    struct process *process = machine_process(os);
    machine_pass(process);
    int failed = machine_swept(process->world, CALL_MAP);
    if (failed == 0 && world_meets(process->world, FAULT_MEMORY))
        failed = ENOMEM;
    if (failed == 0 && process->world->disk.inodes[file->inode].seen_bytes < bytes)
        failed = EINVAL;
    if (world_meets(process->world, FAULT_EVICT))
        disk_drop_cache(&process->world->disk, file->inode);
    if (failed == 0) {
        struct mapping *mapping = malloc(sizeof *mapping);
        if (mapping == NULL)
            abort();
        *mapping = (struct mapping){process->mappings, file->inode,
                                    disk_map(&process->world->disk, file->inode)};
        process->mappings = mapping;
        *ret_address = mapping->address;
    }
    return machine_note(process, CALL_MAP, file->inode, 0, bytes, failed);
}

static void file_unmap(struct os *os, void *address, size_t bytes) {
    struct process *process = machine_process(os);
    struct mapping **at = &process->mappings;
    while (*at != NULL && (*at)->address != address)
        at = &(*at)->next;
    struct mapping *mapping = *at;
    if (mapping == NULL) {
        world_complain(process->world, "p%d unmapped what is not mapped", process->id);
        return;
    }
    *at = mapping->next;
    (void)machine_note(process, TRACE_UNMAP, mapping->inode, 0, bytes, 0);
    disk_close(&process->world->disk, mapping->inode);
    free(mapping);
}

static int name_rename(struct os *os, struct os_dir *dir, const char *from, const char *to) {
    struct process *process = machine_process(os);
    struct disk *disk = &process->world->disk;
    machine_pass(process);
    int failed = machine_swept(process->world, CALL_RENAME);
    if (failed == 0 && world_meets(process->world, FAULT_NAME))
        failed = EIO;
    if (failed == 0 && disk_lookup(disk, dir->inode, from) < 0)
        failed = ENOENT;
    if (failed == 0)
        disk_rename(disk, dir->inode, from, to);
    return machine_note(process, CALL_RENAME, dir->inode, 0, 0, failed);
}

static int name_unlink(struct os *os, struct os_dir *dir, const char *name) {
    struct process *process = machine_process(os);
    struct disk *disk = &process->world->disk;
    machine_pass(process);
    int failed = machine_swept(process->world, CALL_UNLINK);
    if (failed == 0 && world_meets(process->world, FAULT_NAME))
        failed = EIO;
    if (failed == 0 && disk_lookup(disk, dir->inode, name) < 0)
        failed = ENOENT;
    if (failed == 0)
        disk_unlink(disk, dir->inode, name);
    return machine_note(process, CALL_UNLINK, dir->inode, 0, 0, failed);
}

/* ---- Waiting ---- */

static int wait_until(struct process *process, _Atomic uint32_t *word, uint64_t deadline) {
    struct world *world = process->world;
    struct thread *thread = world->current;
    thread->state = FIBER_WAITS;
    thread->word = word;
    thread->deadline = deadline;
    thread->was_woken = false;
    world_yield(world);
    const bool was_woken = thread->was_woken;
    thread->state = FIBER_READY;
    thread->word = NULL;
    return was_woken ? 0 : ETIMEDOUT;
}

/* Where a word is, when it is in a mapping; else -1. */
static int word_find(const struct process *process, const _Atomic uint32_t *word,
                     uint64_t *ret_offset) {
    *ret_offset = 0;
    for (const struct mapping *mapping = process->mappings; mapping != NULL;
         mapping = mapping->next) {
        const uintptr_t at = (uintptr_t)word - (uintptr_t)mapping->address;
        if (at < DISK_MAPPED_BYTES) {
            *ret_offset = at;
            return mapping->inode;
        }
    }
    return -1;
}

static int futex_wait(struct os *os, _Atomic uint32_t *word, uint32_t expected, uint64_t deadline) {
    struct process *process = machine_process(os);
    uint64_t offset;
    const int inode = word_find(process, word, &offset);
    machine_pass(process);
    (void)machine_note(process, TRACE_FUTEX_WAIT, inode, offset, sizeof *word, 0);
    if (atomic_load(word) != expected)
        return machine_note(process, TRACE_FUTEX_WOKE, inode, offset, 0, 0);
    if (world_meets(process->world, FAULT_WAKE))
        return machine_note(process, TRACE_FUTEX_WOKE, inode, offset, 0, 0);
    return machine_note(process, TRACE_FUTEX_WOKE, inode, offset, 0,
                        wait_until(process, word, deadline));
}

static void futex_wake(struct os *os, _Atomic uint32_t *word, uint32_t waiters_max) {
    struct process *process = machine_process(os);
    struct world *world = process->world;
    const size_t first =
        world_meets(world, FAULT_ORDER) ? (size_t)prng_below(&world->faults, WORLD_FIBERS) : 0;
    uint64_t offset;
    const int inode = word_find(process, word, &offset);
    (void)machine_note(process, TRACE_FUTEX_WAKE, inode, offset, sizeof *word, 0);
    for (size_t i = 0; i < WORLD_FIBERS && waiters_max > 0; i++) {
        struct thread *thread = &world->threads[(first + i) % WORLD_FIBERS];
        if (thread->state == FIBER_WAITS && thread->word == word && !thread->was_woken) {
            thread->was_woken = true;
            waiters_max--;
        }
    }
    machine_pass(process);
}

static void pause_for(struct os *os, uint64_t nanoseconds) {
    struct process *process = machine_process(os);
    machine_pass(process);
    (void)machine_note(process, TRACE_PAUSE, -1, nanoseconds, 0, 0);
    (void)wait_until(process, NULL, process->world->clock_ns + nanoseconds + 1000);
}

static void step(struct os *os) {
    machine_pass(machine_process(os));
}

/* ---- The rest ---- */

static uint64_t clock_boot(struct os *os) {
    return machine_process(os)->world->clock_ns;
}

static uint64_t clock_wall(struct os *os) {
    const struct world *world = machine_process(os)->world;
    return world->wall_us + world->clock_ns / 1000;
}

static void boot_id(struct os *os, uint8_t ret_id[OS_BOOT_ID_BYTES]) {
    memcpy(ret_id, machine_process(os)->world->boot_id, OS_BOOT_ID_BYTES);
}

static int entropy(struct os *os, void *buffer, size_t bytes) {
    struct world *world = machine_process(os)->world;
    const int failed = machine_swept(world, CALL_ENTROPY);
    for (size_t i = 0; failed == 0 && i < bytes; i++)
        ((uint8_t *)buffer)[i] = (uint8_t)prng_next(&world->contents);
    return machine_note(machine_process(os), CALL_ENTROPY, -1, 0, bytes, failed);
}

static void process_names(struct os *os, struct os_process *ret_process) {
    const struct process *process = machine_process(os);
    *ret_process = (struct os_process){.pid = process->pid, .host = "sim", .command = "actor"};
}

static bool is_forked_child(struct os *os) {
    (void)os;
    return false;
}

static void *allocate(struct os *os, size_t bytes) {
    struct process *process = machine_process(os);
    if (machine_swept(process->world, CALL_ALLOCATE) != 0 ||
        world_meets(process->world, FAULT_MEMORY)) {
        (void)machine_note(process, CALL_ALLOCATE, -1, 0, bytes, ENOMEM);
        return NULL;
    }
    struct block *block = calloc(1, sizeof *block + bytes);
    if (block == NULL)
        abort();
    block->bytes = bytes;
    block->magic = BLOCK_MAGIC;
    block->next = process->blocks;
    if (block->next != NULL)
        block->next->previous = block;
    process->blocks = block;
    return block + 1;
}

static void release(struct os *os, void *memory, size_t bytes) {
    struct process *process = machine_process(os);
    if (memory == NULL)
        return;
    struct block *block = (struct block *)memory - 1;
    if (block->magic != BLOCK_MAGIC || block->bytes != bytes) {
        world_complain(process->world, "p%d released what is no memory of it, or not of this size",
                       process->id);
        return;
    }
    block->magic = 0;
    if (block->previous != NULL)
        block->previous->next = block->next;
    else
        process->blocks = block->next;
    if (block->next != NULL)
        block->next->previous = block->previous;
    free(block);
}

const struct os_ops machine_ops = {
    .dir_open = dir_open,
    .dir_open_at = dir_open_at,
    .dir_list = dir_list,
    .dir_sync = dir_sync,
    .dir_hold = locks_hold,
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
    .lock_take = locks_take,
    .lock_drop = locks_drop,
    .lock_find = locks_find,
    .futex_wait = futex_wait,
    .futex_wake = futex_wake,
    .pause = pause_for,
    .step = step,
    .clock_boot = clock_boot,
    .clock_wall = clock_wall,
    .boot_id = boot_id,
    .entropy = entropy,
    .process = process_names,
    .is_forked_child = is_forked_child,
    .allocate = allocate,
    .release = release,
};

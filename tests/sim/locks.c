#include "locks.h"

#include <errno.h>
#include <stdlib.h>

/* ---- Bytes ---- */

static void locks_release(struct world *world, const struct os_file *file, uint64_t byte,
                          bool all) {
    for (size_t i = world->lock_count; i > 0; i--) {
        if (world->locks[i - 1].file == file && (all || world->locks[i - 1].byte == byte))
            world->locks[i - 1] = world->locks[--world->lock_count];
    }
}

void locks_drop_all(struct world *world, const struct os_file *file) {
    locks_release(world, file, 0, true);
}

int locks_take(struct os *os, struct os_file *file, uint64_t byte) {
    struct process *process = machine_process(os);
    struct world *world = process->world;
    machine_pass(process);
    int failed = machine_swept(world, CALL_LOCK_TAKE);
    for (size_t i = 0; failed == 0 && i < world->lock_count; i++) {
        if (world->locks[i].inode == file->inode && world->locks[i].byte == byte) {
            if (world->locks[i].file == file)
                return machine_note(process, CALL_LOCK_TAKE, file->inode, byte, 1, 0);
            failed = EAGAIN;
        }
    }
    if (failed == 0) {
        if (world->lock_count == LOCKS_MAX)
            abort();
        world->locks[world->lock_count++] = (struct lock){file->inode, byte, file};
    }
    return machine_note(process, CALL_LOCK_TAKE, file->inode, byte, 1, failed);
}

void locks_drop(struct os *os, struct os_file *file, uint64_t byte) {
    struct process *process = machine_process(os);
    locks_release(process->world, file, byte, false);
    (void)machine_note(process, TRACE_LOCK_DROP, file->inode, byte, 1, 0);
    machine_pass(process);
}

int locks_find(struct os *os, struct os_file *file, uint64_t first, uint64_t count,
               uint64_t *ret_byte) {
    struct process *process = machine_process(os);
    const struct world *world = process->world;
    machine_pass(process);
    const int failed = machine_swept(process->world, CALL_LOCK_FIND);
    if (failed != 0)
        return machine_note(process, CALL_LOCK_FIND, file->inode, first, count, failed);
    uint64_t lowest = first + count;
    for (size_t i = 0; i < world->lock_count; i++) {
        const struct lock *lock = &world->locks[i];
        if (lock->inode == file->inode && lock->file != file && lock->byte >= first &&
            lock->byte < lowest)
            lowest = lock->byte;
    }
    if (lowest == first + count)
        return machine_note(process, CALL_LOCK_FIND, file->inode, first, count, ENOENT);
    *ret_byte = lowest;
    return machine_note(process, CALL_LOCK_FIND, file->inode, lowest, 1, 0);
}

/* ---- Directories ---- */

void locks_drop_hold(struct world *world, const struct os_dir *dir) {
    for (size_t i = world->hold_count; i > 0; i--) {
        if (world->holds[i - 1].dir == dir)
            world->holds[i - 1] = world->holds[--world->hold_count];
    }
}

int locks_hold(struct os *os, struct os_dir *dir, bool is_alone) {
    struct process *process = machine_process(os);
    struct world *world = process->world;
    machine_pass(process);
    int failed = machine_swept(world, CALL_DIR_HOLD);
    if (failed == 0)
        locks_drop_hold(world, dir);
    for (size_t i = 0; i < world->hold_count && failed == 0; i++) {
        const struct hold *other = &world->holds[i];
        if (other->inode == dir->inode && (is_alone || other->is_alone))
            failed = EAGAIN;
    }
    if (failed == 0 && world->hold_count == LOCKS_MAX)
        abort();
    if (failed == 0)
        world->holds[world->hold_count++] = (struct hold){dir, process, dir->inode, is_alone};
    return machine_note(process, CALL_DIR_HOLD, dir->inode, is_alone, 0, failed);
}

void locks_end_process(struct world *world, const struct process *process) {
    for (size_t i = world->hold_count; i > 0; i--) {
        if (world->holds[i - 1].process == process)
            world->holds[i - 1] = world->holds[--world->hold_count];
    }
}

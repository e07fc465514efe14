#include "traps.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

static const struct os_ops *real;
static struct os_ops table;
static struct trap trap; /* guarded by trap_mutex */
static pthread_mutex_t trap_mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint32_t takeovers;

/* True for the call at which it springs; *ret_sprung is then what happens. */
static bool trap_is_due(enum trap_call call, struct trap *ret_sprung) {
    (void)pthread_mutex_lock(&trap_mutex); /* a normal mutex has no way to fail */
    const bool is_meant = trap.call != TRAP_NONE && (trap.call == call || trap.call == TRAP_ANY);
    const bool is_due = is_meant && trap.passes == 0;
    *ret_sprung = (struct trap){.moment = TRAP_NEVER};
    if (is_due) {
        *ret_sprung = trap;
        trap.call = TRAP_NONE;
    } else if (is_meant) {
        trap.passes--;
    }
    (void)pthread_mutex_unlock(&trap_mutex);
    return is_due && ret_sprung->signal_number == 0;
}

static void trap_raise(const struct trap *sprung, enum trap_moment moment) {
    if (sprung->moment == moment)
        (void)raise(sprung->signal_number); /* every process may send itself a signal */
}

#define TRAPPED(name, expression)                                                                  \
    do {                                                                                           \
        struct trap sprung;                                                                        \
        if (trap_is_due(name, &sprung))                                                            \
            return sprung.error;                                                                   \
        trap_raise(&sprung, TRAP_BEFORE);                                                          \
        const int failed = (expression);                                                           \
        trap_raise(&sprung, TRAP_AFTER);                                                           \
        return failed;                                                                             \
    } while (0)

static int trapped_write(struct os *os, struct os_file *file, const void *buffer, size_t bytes,
                         uint64_t offset) {
    struct trap sprung;
    if (trap_is_due(TRAP_WRITE, &sprung))
        return sprung.error;
    trap_raise(&sprung, TRAP_BEFORE);
    if (sprung.moment == TRAP_HALFWAY) {
        (void)real->file_write(os, file, buffer, bytes / 2, offset); /* is written again below */
        trap_raise(&sprung, TRAP_HALFWAY);
    }
    const int failed = real->file_write(os, file, buffer, bytes, offset);
    trap_raise(&sprung, TRAP_AFTER);
    return failed;
}

static int trapped_sync(struct os *os, struct os_file *file) {
    TRAPPED(TRAP_SYNC, real->file_sync(os, file));
}

static int trapped_zero_fill(struct os *os, struct os_file *file, uint64_t offset, uint64_t bytes) {
    TRAPPED(TRAP_ZERO_FILL, real->file_zero_fill(os, file, offset, bytes));
}

static int trapped_truncate(struct os *os, struct os_file *file, uint64_t bytes) {
    TRAPPED(TRAP_ANY, real->file_truncate(os, file, bytes));
}

static int trapped_dir_sync(struct os *os, struct os_dir *dir) {
    TRAPPED(TRAP_ANY, real->dir_sync(os, dir));
}

static int trapped_rename(struct os *os, struct os_dir *dir, const char *from, const char *to) {
    TRAPPED(TRAP_ANY, real->rename(os, dir, from, to));
}

static int trapped_unlink(struct os *os, struct os_dir *dir, const char *name) {
    TRAPPED(TRAP_ANY, real->unlink(os, dir, name));
}

static int trapped_lock_take(struct os *os, struct os_file *file, uint64_t byte) {
    TRAPPED(TRAP_ANY, real->lock_take(os, file, byte));
}

static void trapped_lock_drop(struct os *os, struct os_file *file, uint64_t byte) {
    struct trap sprung;
    (void)trap_is_due(TRAP_ANY, &sprung); /* it can't fail, so a trap that fails it has no effect */
    trap_raise(&sprung, TRAP_BEFORE);
    real->lock_drop(os, file, byte);
    trap_raise(&sprung, TRAP_AFTER);
}

/* The log tests one byte to learn whether one owner is dead, and many when it opens. */
static int trapped_lock_find(struct os *os, struct os_file *file, uint64_t first, uint64_t count,
                             uint64_t *ret_byte) {
    const int failed = real->lock_find(os, file, first, count, ret_byte);
    if (failed == ENOENT && count == 1)
        atomic_fetch_add(&takeovers, 1);
    return failed;
}

void trap_install(struct os *os) {
    real = os->ops;
    table = *real;
    table.file_write = trapped_write;
    table.file_sync = trapped_sync;
    table.file_zero_fill = trapped_zero_fill;
    table.file_truncate = trapped_truncate;
    table.dir_sync = trapped_dir_sync;
    table.rename = trapped_rename;
    table.unlink = trapped_unlink;
    table.lock_take = trapped_lock_take;
    table.lock_drop = trapped_lock_drop;
    table.lock_find = trapped_lock_find;
    os->ops = &table;
}

void trap_set(const struct trap *wanted) {
    (void)pthread_mutex_lock(&trap_mutex); /* a normal mutex has no way to fail */
    trap = *wanted;
    (void)pthread_mutex_unlock(&trap_mutex);
}

uint32_t trap_takeovers(void) {
    return atomic_load(&takeovers);
}

#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64

#include "os_posix_descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

enum {
    DESCRIPTOR_MIN = 3,
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
int descriptor_watch_forks(void) {
    register_lock();
    int error = 0;
    if (!register_knows_forks)
        error = pthread_atfork(register_lock, register_unlock, register_after_fork_in_child);
    if (error == 0)
        register_knows_forks = true;
    register_unlock();
    return error;
}

uint64_t descriptor_forks(void) {
    return atomic_load_explicit(&fork_count, memory_order_relaxed);
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

int descriptor_open_bare(int at, const char *name, int flags) {
    int plugs[DESCRIPTOR_MIN];
    plugs_put(plugs);
    int number;
    do
        number = openat(at, name, flags | O_CLOEXEC, DESCRIPTOR_FILE_MODE);
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
int descriptor_open(struct descriptor *descriptor, int at, const char *name, int flags) {
    register_lock();
    descriptor->number = descriptor_open_bare(at, name, flags);
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

int descriptor_close(struct descriptor *descriptor) {
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

/* trace: the last calls of a world, and one number for all of them.
 *
 * Two runs did the same when their hashes are equal: who called what, when, where in which file,
 * for how much, and with what result. Nothing of it is an address or a real time.
 */
#ifndef PAWL_TESTS_SIM_TRACE_H
#define PAWL_TESTS_SIM_TRACE_H

#include "world.h"

#include <stdint.h>
#include <stdio.h>

/* X(name, text): what is traced besides the calls that can fail (enum call). */
#define TRACE_MAP(X)                                                                               \
    X(TRACE_LOCK_DROP, "lock_drop")                                                                \
    X(TRACE_UNMAP, "unmap")                                                                        \
    X(TRACE_FUTEX_WAIT, "futex_wait")                                                              \
    X(TRACE_FUTEX_WOKE, "...woke")                                                                 \
    X(TRACE_FUTEX_WAKE, "futex_wake")                                                              \
    X(TRACE_PAUSE, "pause")                                                                        \
    X(TRACE_BEGIN, "* begins")                                                                     \
    X(TRACE_END, "* ends")                                                                         \
    X(TRACE_KILLED, "* killed")                                                                    \
    X(TRACE_STOPPED, "* stopped")                                                                  \
    X(TRACE_CONTINUED, "* continues")                                                              \
    X(TRACE_POWER, "* power cut")

enum trace_event {
    TRACE_FIRST = 64, /* above every call */
#define X(name, text) name,
    TRACE_MAP(X)
#undef X
};

struct trace_entry {
    uint64_t at_ns, offset, bytes;
    unsigned what;       /* an enum call or an enum trace_event */
    int process, thread; /* -1: none */
    int result;          /* an errno */
    char file[DISK_NAME_BYTES];
};

struct trace {
    struct trace_entry entries[WORLD_TRACE];
    uint64_t count, hash;
};

/* The entry to fill in for the next call; trace_end() takes it up. */
static inline struct trace_entry *trace_begin(struct trace *trace) {
    return &trace->entries[trace->count % WORLD_TRACE];
}

void trace_end(struct trace *trace);

/* Oldest first. */
void trace_print(const struct trace *trace, FILE *out);

#endif

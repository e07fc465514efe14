/* window: a file seen through one buffer that grows to the largest piece asked for.
 * Threads: one thread at a time.
 */
#ifndef PAWL_ENGINE_WINDOW_H
#define PAWL_ENGINE_WINDOW_H

#include "os.h"
#include "status.h"

struct window {
    struct os *os;
    struct os_file *file;
    char name[24]; /* of the file, for an error */
    uint8_t *bytes;
    size_t capacity;
    uint64_t offset; /* of bytes[0] in the file */
    size_t count;    /* how many of them are the file's */
};

void window_init(struct window *window, struct os *os, struct os_file *file, const char *name);

/* Gives the buffer back; the file stays the caller's. */
void window_deinit(struct window *window);

/* The bytes of the file from `offset` on, in place until the next call. *ret_count is `bytes`, or
 * less at the end of the file. */
pawl_status window_get(struct window *window, uint64_t offset, size_t bytes,
                       const uint8_t **ret_bytes, size_t *ret_count, pawl_error *error);

#endif

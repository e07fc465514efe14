#include "window.h"

#include <stdio.h>
#include <string.h>

enum { WINDOW_BYTES_MIN = 64 * 1024 };

void window_init(struct window *window, struct os *os, struct os_file *file, const char *name) {
    memset(window, 0, sizeof *window);
    window->os = os;
    window->file = file;
    (void)snprintf(window->name, sizeof window->name, "%s", name);
}

void window_deinit(struct window *window) {
    os_release(window->os, window->bytes, window->capacity);
    window->bytes = NULL;
    window->capacity = 0;
    window->count = 0;
}

static pawl_status window_grow(struct window *window, size_t bytes, pawl_error *error) {
    size_t capacity = WINDOW_BYTES_MIN;
    while (capacity < bytes)
        capacity *= 2;
    uint8_t *buffer = os_allocate(window->os, capacity);
    if (buffer == NULL)
        return error_set(error, PAWL_NO_MEMORY, "no memory to read %zu bytes of %s", bytes,
                         window->name);
    window_deinit(window);
    window->bytes = buffer;
    window->capacity = capacity;
    return PAWL_OK;
}

pawl_status window_get(struct window *window, uint64_t offset, size_t bytes,
                       const uint8_t **ret_bytes, size_t *ret_count, pawl_error *error) {
    const bool is_inside = offset >= window->offset && offset - window->offset <= window->count &&
                           bytes <= window->count - (offset - window->offset);
    if (!is_inside) {
        if (bytes > window->capacity)
            TRY(window_grow(window, bytes, error));
        size_t read;
        const int failed =
            os_file_read(window->os, window->file, window->bytes, window->capacity, offset, &read);
        if (failed != 0) {
            window->count = 0;
            return error_os(error, failed, window->name, offset, "cannot read %s", window->name);
        }
        window->offset = offset;
        window->count = read;
    }
    const size_t skipped = (size_t)(offset - window->offset);
    *ret_bytes = window->bytes + skipped;
    *ret_count = bytes < window->count - skipped ? bytes : window->count - skipped;
    return PAWL_OK;
}

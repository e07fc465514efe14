#include "os_posix_world.h"

#include "window.h"

enum { FILE_BYTES = 300 * 1000 };

static uint8_t byte_at(uint64_t offset) {
    return (uint8_t)(offset * 31 + offset / 251);
}

/* A file whose every byte tells where it is. */
static struct os_file *sample_file(void) {
    static uint8_t bytes[FILE_BYTES];
    for (size_t at = 0; at < sizeof bytes; at++)
        bytes[at] = byte_at(at);
    struct os_file *file = must_open("file", MAKE);
    cr_assert_eq(os_file_write(os, file, bytes, sizeof bytes, 0), 0);
    return file;
}

static size_t must_get(struct window *window, uint64_t offset, size_t bytes) {
    const uint8_t *found = NULL;
    size_t count = SIZE_MAX;
    cr_assert_eq(window_get(window, offset, bytes, &found, &count, NULL), PAWL_OK);
    cr_assert_leq(count, bytes);
    for (size_t at = 0; at < count; at++)
        cr_assert_eq(found[at], byte_at(offset + at), "%zu behind %llu", at,
                     (unsigned long long)offset);
    return count;
}

Test(window, shows_any_piece_of_the_file, .init = set_up, .fini = tear_down) {
    struct os_file *file = sample_file();
    struct window window;
    window_init(&window, os, file, "file");
    for (uint64_t offset = 0; offset < FILE_BYTES - 64; offset += 7777)
        cr_assert_eq(must_get(&window, offset, 64), 64);
    for (uint64_t offset = FILE_BYTES - 64; offset > 9999; offset -= 9999)
        cr_assert_eq(must_get(&window, offset, 64), 64, "backwards");
    for (uint64_t offset = 65000; offset < 66000; offset += 8)
        cr_assert_eq(must_get(&window, offset, 64), 64, "over the edge of the buffer");
    cr_assert_eq(must_get(&window, 5, 0), 0);
    window_deinit(&window);
    (void)os_file_close(os, file);
}

Test(window, grows_to_the_largest_piece, .init = set_up, .fini = tear_down) {
    struct os_file *file = sample_file();
    struct window window;
    window_init(&window, os, file, "file");
    for (size_t bytes = 1; bytes < FILE_BYTES; bytes *= 3)
        cr_assert_eq(must_get(&window, 3, bytes), bytes);
    cr_assert_eq(must_get(&window, 0, FILE_BYTES), FILE_BYTES);
    cr_assert_eq(must_get(&window, FILE_BYTES - 1, 1), 1);
    window_deinit(&window);
    (void)os_file_close(os, file);
}

Test(window, gives_less_at_the_end_of_the_file, .init = set_up, .fini = tear_down) {
    struct os_file *file = sample_file();
    struct window window;
    window_init(&window, os, file, "file");
    for (size_t left = 0; left <= 64; left++)
        cr_assert_eq(must_get(&window, FILE_BYTES - left, 64), left);
    cr_assert_eq(must_get(&window, FILE_BYTES + 1, 64), 0, "beyond it");
    cr_assert_eq(must_get(&window, FILE_BYTES * 2, 64), 0);
    cr_assert_eq(must_get(&window, 0, FILE_BYTES + 100), FILE_BYTES, "all and more");
    window_deinit(&window);
    (void)os_file_close(os, file);
}

Test(window, an_offset_whose_end_would_wrap_is_not_inside, .init = set_up, .fini = tear_down) {
    struct os_file *file = sample_file();
    struct window window;
    window_init(&window, os, file, "file");
    cr_assert_eq(must_get(&window, 0, 64), 64);
    const uint8_t *found;
    size_t count = 0;
    for (uint64_t back = 1; back < 64; back++) {
        const pawl_status status = window_get(&window, UINT64_MAX - back, 64, &found, &count, NULL);
        cr_assert(status != PAWL_OK || count == 0);
    }
    cr_assert_eq(must_get(&window, 0, 64), 64, "and the window is of use as before");
    window_deinit(&window);
    (void)os_file_close(os, file);
}

Test(window, that_cannot_read_says_of_what, .init = set_up, .fini = tear_down) {
    (void)os_file_close(os, sample_file());
    struct os_file *file = must_open("file", OS_OPEN_WRITE);
    struct window window;
    window_init(&window, os, file, "0000000009.seg");
    const uint8_t *found = NULL;
    size_t count = 77;
    pawl_error error;
    cr_assert_eq(window_get(&window, 128, 64, &found, &count, &error), PAWL_IO);
    cr_assert_str_eq(error.file, "0000000009.seg");
    cr_assert_eq(error.offset, 128);
    cr_assert_null(found);
    cr_assert_eq(count, 77);
    window_deinit(&window);
    (void)os_file_close(os, file);
}

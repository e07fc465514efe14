#include "create.h"

#include "bytes.h"
#include "check.h"

#include <errno.h>
#include <string.h>

enum {
    FIRST_ORDINAL = 1,
    FIRST_SEGMENT_DATA = 64 * 1024,
};

/* Is the directory empty but for what a store that was never finished leaves? */
static int create_visit(void *context, const char *name) {
    static const char *const harmless[] = {IDENTITY_NAME, SHARED_NAME, "log", "lost+found"};
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++) {
        if (strcmp(name, harmless[i]) == 0)
            return 0;
    }
    pawl_error *error = context;
    (void)error_set(error, PAWL_EXISTS, "the directory holds other things (%.100s) and no store",
                    name);
    return EEXIST;
}

pawl_status create_check_empty(struct log *log, pawl_error *error) {
    pawl_error other;
    const int failed = os_dir_list(log->os, log->store_dir, create_visit, &other);
    if (failed == EEXIST)
        return error_set(error, PAWL_EXISTS, "%s", other.sentence);
    if (failed != 0)
        return error_os(error, failed, NULL, 0, "cannot look into the store's directory");
    return PAWL_OK;
}

/* Names in log/ that an unfinished creation does not leave. */
static int create_log_visit(void *context, const char *name) {
    uint64_t ordinal;
    bool *has_more = context;
    if (segment_parse_name(name, &ordinal) && ordinal > FIRST_ORDINAL + 1)
        *has_more = true;
    return 0;
}

/* An empty identity beside a log in use is a lost identity, not a new store. */
pawl_status create_check_log(struct log *log, pawl_error *error) {
    bool has_more = false;
    int failed = os_dir_list(log->os, log->dir, create_log_visit, &has_more);
    char first[SEGMENT_NAME_BYTES];
    segment_name(FIRST_ORDINAL, first);
    struct os_file *file;
    if (failed == 0)
        failed = os_file_open(log->os, log->dir, first, OS_OPEN_READ, &file);
    if (failed == 0) {
        uint8_t bytes[FRAME_HEADER_BYTES];
        size_t read;
        failed = os_file_read(log->os, file, bytes, sizeof bytes,
                              SEGMENT_DATA_AT + SEGMENT_START_FRAME_BYTES, &read);
        (void)os_file_close(log->os, file); /* only read */
        if (failed == 0 && read > 0 && !bytes_are_zero(bytes, read))
            has_more = true;
    }
    if (failed != 0 && failed != ENOENT)
        return error_os(error, failed, "log", 0, "cannot look into log/");
    if (has_more)
        return error_at(error,
                        error_set(error, PAWL_DAMAGED,
                                  "%s is missing or empty, and log/ is not; restore %s from a "
                                  "backup",
                                  IDENTITY_NAME, IDENTITY_NAME),
                        IDENTITY_NAME, 0, 0);
    return PAWL_OK;
}

static pawl_status create_segment(struct log *log, uint64_t ordinal, uint64_t data_bytes,
                                  pawl_error *error) {
    const struct segment_header header = core_segment_header(log, ordinal, 0, 0);
    return segment_make(log->os, log->dir, &header, log->identity.secret, data_bytes, error);
}

/* Writes the first frame of all. */
static pawl_status create_start(struct log *log, pawl_error *error) {
    const struct segment_start start = {0, SEGMENT_FIRST_LSN};
    uint8_t frame[SEGMENT_START_FRAME_BYTES];
    const size_t size = segment_start_frame(&start, FIRST_ORDINAL, log->identity.secret, 0,
                                            os_clock_wall(log->os), frame);
    char name[SEGMENT_NAME_BYTES];
    segment_name(FIRST_ORDINAL, name);
    struct os_file *file;
    int failed = os_file_open(log->os, log->dir, name, OS_OPEN_READ | OS_OPEN_WRITE, &file);
    if (failed == 0) {
        failed = os_file_write(log->os, file, frame, size, SEGMENT_DATA_AT);
        if (failed == 0 && STEP_IS_ON(STEP_CREATE_SYNC_START))
            failed = os_file_sync(log->os, file);
        const int close_failed = os_file_close(log->os, file);
        failed = failed != 0 ? failed : close_failed;
    }
    if (failed != 0)
        return error_os(error, failed, name, 0, "cannot begin the log");
    return PAWL_OK;
}

/* The first segment, begun, and its herald. */
static pawl_status create_segments(struct log *log, pawl_error *error) {
    uint64_t data_bytes = log->options.segment_bytes - SEGMENT_DATA_AT;
    if (data_bytes > FIRST_SEGMENT_DATA)
        data_bytes = FIRST_SEGMENT_DATA;
    TRY(create_segment(log, FIRST_ORDINAL, data_bytes, error));
    TRY(create_start(log, error));
    TRY(create_segment(log, FIRST_ORDINAL + 1, 0, error));
    const int failed = STEP_IS_ON(STEP_CREATE_SYNC_LOG) ? os_dir_sync(log->os, log->dir) : 0;
    if (failed != 0)
        return error_os(error, failed, "log", 0, "cannot sync the names of the first segments");
    return PAWL_OK;
}

/* Syncs the name of the store's own directory. */
static pawl_status create_sync_parent(struct log *log, const char *path, pawl_error *error) {
    char parent[4096] = ".";
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    while (length > 0 && path[length - 1] != '/')
        length--;
    if (length >= sizeof parent)
        return error_set(error, PAWL_INVALID, "the store's path is too long");
    if (length > 0) {
        memcpy(parent, path, length);
        parent[length] = '\0';
    }
    struct os_dir *dir;
    int failed = os_dir_open(log->os, parent, OS_OPEN_READ, &dir);
    if (failed == 0) {
        failed = os_dir_sync(log->os, dir);
        os_dir_close(log->os, dir);
    }
    if (failed != 0)
        return error_os(error, failed, NULL, 0, "cannot sync the directory %s", parent);
    return PAWL_OK;
}

pawl_status create_store(struct log *log, const char *path, pawl_error *error) {
    TRY(identity_draw(log->os, &log->identity, error));
    TRY(create_segments(log, error));
    const int failed =
        STEP_IS_ON(STEP_CREATE_SYNC_STORE) ? os_dir_sync(log->os, log->store_dir) : 0;
    if (failed != 0)
        return error_os(error, failed, NULL, 0, "cannot sync the store's directory");
    if (STEP_IS_ON(STEP_CREATE_SYNC_PARENT))
        TRY(create_sync_parent(log, path, error));
    /* The last thing to come: from here on the directory is a store. */
    return identity_write(log->os, log->slots.identity, &log->identity, error);
}

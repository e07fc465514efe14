/* Shared by the tests of verify: a store of several segments, as an image and in its directory, and
 * what a look at it finds.
 */
#ifndef PAWL_TESTS_VERIFY_WORLD_H
#define PAWL_TESTS_VERIFY_WORLD_H

#include "log_world.h"

#include "verify.h"

enum {
    FRAMES = 60,
    PAYLOAD = 300,
};

static struct image whole, changed;

static inline void set_up_in_memory(void) {
    if (access("/dev/shm", W_OK) == 0)
        (void)setenv("TMPDIR", "/dev/shm", 0); /* thousands of stores; the disk adds nothing */
    set_up();
}

static inline void tear_down_images(void) {
    image_drop(&whole);
    image_drop(&changed);
    tear_down();
}

/* What a look finds. */
struct seen {
    pawl_status status;
    struct verify_report report;
    uint64_t visited;  /* frames */
    uint64_t next_lsn; /* where the next one must stand, if nothing is missing */
    bool has_hole;
    /* Of the first damage, or, when there is none, of the first that is unread: */
    char what[192], file[64];
    enum walk_kind kind;
    uint64_t ordinal, offset;
};

static inline pawl_status see_frame(void *context, const struct walk_frame *frame,
                                    pawl_error *error) {
    struct seen *seen = context;
    (void)error;
    if (seen->visited++ > 0 && frame->header.lsn != seen->next_lsn)
        seen->has_hole = true;
    cr_assert(seen->visited == 1 || frame->header.lsn >= seen->next_lsn, "frames in their order");
    seen->next_lsn = frame->header.lsn + frame_header_frame_bytes(&frame->header);
    return PAWL_OK;
}

static inline pawl_status see_finding(void *context, const struct walk_finding *finding,
                                      pawl_error *error) {
    struct seen *seen = context;
    (void)error;
    if (finding->kind > seen->kind) {
        seen->kind = finding->kind;
        (void)snprintf(seen->what, sizeof seen->what, "%s", finding->what);
        (void)snprintf(seen->file, sizeof seen->file, "%.63s", finding->file);
        seen->ordinal = finding->ordinal;
        seen->offset = finding->offset;
    }
    return PAWL_OK;
}

static inline struct seen look_with(const struct verify_options *options) {
    struct seen seen = {0};
    struct verify *verify;
    const struct walk_visitor visitor = {&seen, see_frame, see_finding};
    seen.status = verify_open(os, store, &verify, NULL);
    if (seen.status != PAWL_OK)
        return seen;
    seen.status = verify_run(verify, options, &visitor, &seen.report, NULL);
    verify_close(verify);
    return seen;
}

static inline struct seen look(void) {
    const struct verify_options options = {.is_full = true};
    return look_with(&options);
}

static inline void image_copy(struct image *to, const struct image *from) {
    image_drop(to);
    for (size_t i = 0; i < from->count; i++)
        image_set(to, from->files[i].name, from->files[i].bytes, from->files[i].count);
}

static inline bool is_segment(const struct image_file *file) {
    return strncmp(file->name, "log/0", 5) == 0;
}

/* A store of several segments. Closed, or as the death of its process leaves it, with frames at the
 * end that nobody was promised. */
static inline void take_store(bool is_closed) {
    struct log *log = must_open_log(SMALL_SEGMENT);
    for (uint64_t number = 1; number <= FRAMES; number++) {
        if (number % 7 == 0)
            (void)must_append_durably(log, number, PAYLOAD);
        else
            (void)must_append(log, number, PAYLOAD);
    }
    if (!is_closed)
        image_take(&whole);
    must_close(log);
    if (is_closed)
        image_take(&whole);
}

#endif

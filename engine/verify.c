#include "verify.h"

#include "bytes.h"
#include "create.h"
#include "footer.h"
#include "record.h"
#include "scan.h"
#include "shared.h"
#include "slots.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Who has the store open, and what `shared` says of it. */
struct verify_use {
    bool is_in_use;
    bool has_glance; /* somebody is in, nobody is coming or going: the glance is right */
    struct shared_glance glance;
};

struct verify {
    struct os *os;
    struct os_dir *store_dir;
    struct os_dir *dir; /* log/; NULL when it is not there */
    struct slots slots;
    struct identity identity;
    bool has_identity;
    struct walk walk;
    struct walk_visitor visitor; /* the caller's; the walk has one that checks first */
    struct verify_options options;
    struct verify_report report;
    struct walk_finding scanned; /* damage that the end of the log shows, until it is told */
    bool has_scanned;
};

/* ---- Opening ---- */

static pawl_status open_identity(struct verify *verify, const char *path, pawl_error *error) {
    const pawl_status status =
        identity_read(verify->os, verify->slots.identity, &verify->identity, error);
    verify->has_identity = status == PAWL_OK;
    if (status != PAWL_EMPTY && status != PAWL_DAMAGED)
        return status;
    /* A creation that died has left nothing in log/ that was promised. */
    struct log probe = {.os = verify->os, .dir = verify->dir};
    if (verify->dir != NULL && create_check_log(&probe, NULL) == PAWL_DAMAGED)
        return PAWL_OK;
    return error_set(error, PAWL_NO_STORE, "the store at %.200s was never finished", path);
}

static pawl_status open_parts(struct verify *verify, const char *path, pawl_error *error) {
    struct os *os = verify->os;
    int failed = os_dir_open(os, path, OS_OPEN_READ, &verify->store_dir);
    if (failed == 0)
        failed = os_file_open(os, verify->store_dir, IDENTITY_NAME, OS_OPEN_READ,
                              &verify->slots.identity);
    if (failed == ENOENT || failed == ENOTDIR)
        return error_set(error, PAWL_NO_STORE, "there is no store at %.200s", path);
    if (failed != 0)
        return error_os(error, failed, NULL, 0, "cannot open the store at %.200s", path);
    failed = os_dir_open_at(os, verify->store_dir, "log", OS_OPEN_READ, &verify->dir);
    if (failed != 0 && failed != ENOENT)
        return error_os(error, failed, "log", 0, "cannot open log/");
    return open_identity(verify, path, error);
}

pawl_status verify_open(struct os *os, const char *path, struct verify **ret_verify,
                        pawl_error *error) {
    struct verify *verify = os_allocate(os, sizeof *verify);
    if (verify == NULL)
        return error_set(error, PAWL_NO_MEMORY, "no memory to look at the store");
    verify->os = os;
    verify->slots.os = os;
    const pawl_status status = open_parts(verify, path, error);
    if (status != PAWL_OK) {
        verify_close(verify);
        return status;
    }
    walk_init(&verify->walk, os, verify->dir, &verify->identity);
    *ret_verify = verify;
    return PAWL_OK;
}

void verify_close(struct verify *verify) {
    if (verify == NULL)
        return;
    if (verify->walk.os != NULL)
        walk_deinit(&verify->walk);
    if (verify->dir != NULL)
        os_dir_close(verify->os, verify->dir);
    if (verify->slots.identity != NULL)
        (void)os_file_close(verify->os, verify->slots.identity); /* only read */
    if (verify->store_dir != NULL)
        os_dir_close(verify->os, verify->store_dir);
    os_release(verify->os, verify, sizeof *verify);
}

/* ---- Findings ---- */

static pawl_status tell(struct verify *verify, const struct walk_finding *finding,
                        pawl_error *error) {
    if (finding->is_damage)
        verify->report.damaged++;
    else
        verify->report.notes++;
    if (verify->visitor.finding == NULL)
        return PAWL_OK;
    return verify->visitor.finding(verify->visitor.context, finding, error);
}

static pawl_status tell_of_file(struct verify *verify, bool is_damage, const char *file,
                                uint64_t offset, const char *what, pawl_error *error) {
    struct walk_finding finding = {.is_damage = is_damage, .offset = offset};
    (void)snprintf(finding.file, sizeof finding.file, "%s", file);
    (void)snprintf(finding.what, sizeof finding.what, "%s", what);
    return tell(verify, &finding, error);
}

/* What the end of the log shows is told where the walk comes to the same place, once. */
static pawl_status visit_finding(void *context, const struct walk_finding *finding,
                                 pawl_error *error) {
    struct verify *verify = context;
    if (verify->has_scanned && finding->is_damage && finding->ordinal == verify->scanned.ordinal &&
        finding->offset == verify->scanned.offset) {
        verify->has_scanned = false;
        return tell(verify, &verify->scanned, error);
    }
    return tell(verify, finding, error);
}

static pawl_status tell_scanned(struct verify *verify, pawl_error *error) {
    if (!verify->has_scanned)
        return PAWL_OK;
    verify->has_scanned = false;
    return tell(verify, &verify->scanned, error);
}

/* ---- One frame ---- */

static const char *check_records(const struct walk_frame *frame) {
    struct reader reader = reader_over(frame->metadata, frame->header.metadata_bytes);
    struct record record;
    uint32_t count = 0;
    pawl_status status;
    while ((status = record_next(&reader, &record)) == PAWL_OK)
        count++;
    if (status != PAWL_EMPTY)
        return "the records of a frame can't be told apart";
    return count == frame->header.record_count ? NULL : "a frame holds another number of records";
}

static const char *check_start(const struct walk_frame *frame) {
    const bool is_first = frame->offset == SEGMENT_DATA_AT;
    const bool is_start = (frame->header.flags & FRAME_SEGMENT_START) != 0;
    if (is_first == is_start)
        return NULL;
    return is_first ? "a segment begins with another frame than its start"
                    : "a segment's start stands within a segment";
}

static const char *check_footer(const struct walk_frame *frame) {
    struct footer footer;
    const size_t size = frame_header_frame_bytes(&frame->header);
    const uint64_t first_lsn = frame->header.lsn - (frame->offset - SEGMENT_DATA_AT);
    if ((frame->header.flags & FRAME_FOOTER) == 0 || frame->bytes == NULL)
        return NULL;
    if (!footer_read(frame->metadata, frame->header.metadata_bytes, &footer) ||
        footer.first_lsn != first_lsn || footer.lsn != frame->header.lsn)
        return "a footer tells of another segment";
    return footer_find(frame->bytes + size - FOOTER_TRAILER_BYTES) == size
               ? NULL
               : "a footer can't be found from its end";
}

static pawl_status visit_frame(void *context, const struct walk_frame *frame, pawl_error *error) {
    struct verify *verify = context;
    verify->report.frames++;
    verify->report.records += frame->header.record_count;
    verify->report.bytes += frame_header_frame_bytes(&frame->header);
    const char *wrong = check_start(frame);
    if (wrong == NULL)
        wrong = check_records(frame);
    if (wrong == NULL)
        wrong = check_footer(frame);
    if (wrong != NULL)
        TRY(walk_tell(&verify->walk, true, frame->ordinal, frame->offset, frame->header.lsn, error,
                      "%s", wrong));
    if (verify->visitor.frame == NULL)
        return PAWL_OK;
    return verify->visitor.frame(verify->visitor.context, frame, error);
}

/* ---- Beside the frames ---- */

/* Is `copy` what an interrupted writing of `whole` leaves? */
static bool is_cut_short(const uint8_t copy[OS_SECTOR_BYTES],
                         const uint8_t whole[OS_SECTOR_BYTES]) {
    size_t same = 0;
    while (same < OS_SECTOR_BYTES && copy[same] == whole[same])
        same++;
    return bytes_are_zero(copy + same, OS_SECTOR_BYTES - same);
}

static pawl_status check_identity(struct verify *verify, pawl_error *error) {
    uint8_t blocks[IDENTITY_BYTES] = {0};
    size_t read;
    const int failed =
        os_file_read(verify->os, verify->slots.identity, blocks, sizeof blocks, 0, &read);
    if (failed != 0)
        return error_os(error, failed, IDENTITY_NAME, 0, "cannot read %s", IDENTITY_NAME);
    for (size_t copy = 0; copy < 2; copy++) {
        const size_t at = copy * OS_SECTOR_BYTES;
        struct identity identity;
        if (identity_read_copy(blocks + at, &identity) != PAWL_DAMAGED)
            continue;
        const uint8_t *other = blocks + (OS_SECTOR_BYTES - at);
        TRY(is_cut_short(blocks + at, other)
                ? tell_of_file(verify, false, IDENTITY_NAME, at,
                               "this copy was never finished; the other one is whole", error)
                : tell_of_file(verify, true, IDENTITY_NAME, at,
                               "this copy is not whole; the other one is", error));
    }
    return PAWL_OK;
}

static bool piece_ends_with_footer(struct window *window, uint64_t end) {
    const uint8_t *trailer;
    size_t count;
    return end >= SEGMENT_DATA_AT + FOOTER_TRAILER_BYTES &&
           window_get(window, end - FOOTER_TRAILER_BYTES, FOOTER_TRAILER_BYTES, &trailer, &count,
                      NULL) == PAWL_OK &&
           count == FOOTER_TRAILER_BYTES && footer_find(trailer) != 0;
}

/* What should be zero in a segment's file: the header's block behind the header, and what lies
 * behind a footer. */
static pawl_status check_zeros(struct verify *verify, const struct walk_file *file, uint64_t end,
                               struct window *window, pawl_error *error) {
    const uint8_t *bytes;
    size_t count;
    enum { USED = 64 };
    TRY(window_get(window, 0, SEGMENT_DATA_AT, &bytes, &count, error));
    if (file->verdict == RECOVERY_HEADER_OURS && count == SEGMENT_DATA_AT &&
        !bytes_are_zero(bytes + USED, SEGMENT_DATA_AT - USED))
        TRY(walk_tell(&verify->walk, false, file->ordinal, USED, 0, error,
                      "bytes behind the segment's header are not zero"));
    if (file->place == 0) {
        uint64_t last;
        TRY(walk_last_byte(window, SEGMENT_DATA_AT, &last, error));
        return last == 0 ? PAWL_OK
                         : walk_tell(&verify->walk, false, file->ordinal, SEGMENT_DATA_AT, 0, error,
                                     "leftovers that are no part of the log; the next opening "
                                     "removes them");
    }
    if (!piece_ends_with_footer(window, end))
        return PAWL_OK;
    uint64_t last;
    TRY(walk_last_byte(window, end, &last, error));
    return last == 0 ? PAWL_OK
                     : walk_tell(&verify->walk, false, file->ordinal, end, 0, error,
                                 "bytes behind the footer are not zero");
}

/* Offset at which the log leaves a segment's file; 0 when that is not known. */
static uint64_t piece_end(const struct walk *walk, const struct walk_file *file) {
    if (file->place == 0)
        return 0;
    const struct walk_piece *piece = &walk->line[file->place - 1];
    const uint64_t end_lsn = piece->end_lsn == CHAIN_END_OPEN ? walk->lsn : piece->end_lsn;
    if (piece->first_lsn == 0 || end_lsn < piece->first_lsn)
        return 0;
    return SEGMENT_DATA_AT + (end_lsn - piece->first_lsn);
}

static pawl_status check_beside(struct verify *verify, pawl_error *error) {
    struct walk *walk = &verify->walk;
    TRY(check_identity(verify, error));
    for (size_t i = 0; i < walk->count; i++) {
        const struct walk_file *file = &walk->files[i];
        struct window window;
        /* A copy or another store's file has been told of. */
        if (file->is_gone || file->row != RECOVERY_FILE_SEGMENT)
            continue;
        const pawl_status opened = walk_open(walk, file->ordinal, &window, error);
        if (opened == PAWL_NOT_FOUND)
            continue;
        TRY(opened);
        const pawl_status status = check_zeros(verify, file, piece_end(walk, file), &window, error);
        walk_close(&window);
        TRY(status);
    }
    return PAWL_OK;
}

/* ---- The whole ---- */

static pawl_status look_at_use(struct verify *verify, struct verify_use *ret_use,
                               pawl_error *error) {
    struct verify_use use = {0};
    bool is_free, is_door_held;
    unsigned slot;
    TRY(slots_find_door(&verify->slots, &is_door_held, error));
    TRY(slots_are_free(&verify->slots, &is_free, &slot, error));
    use.is_in_use = is_door_held || !is_free;
    use.has_glance = !is_door_held && !is_free;
    const pawl_status status =
        shared_look(verify->os, verify->store_dir, &verify->identity, &use.glance);
    if (status == PAWL_NO_MEMORY)
        return error_set(error, status, "no memory to look at %s", SHARED_NAME);
    TRY(slots_find_door(&verify->slots, &is_door_held, error));
    use.has_glance = use.has_glance && status == PAWL_OK && !is_door_held;
    *ret_use = use;
    return PAWL_OK;
}

/* Nobody came or went, as far as can be told: who has the store to itself leaves no trace. */
static bool is_same_use(const struct verify_use *a, const struct verify_use *b) {
    return a->is_in_use == b->is_in_use && a->has_glance == b->has_glance &&
           a->glance.opening == b->glance.opening;
}

static void keep_scanned(struct verify *verify, const struct pawl_error *found,
                         const char *sentence) {
    struct walk_finding *finding = &verify->scanned;
    *finding = (struct walk_finding){
        .is_damage = true,
        .offset = found->offset,
        .lsn = found->lsn,
    };
    if (!segment_parse_name(found->file, &finding->ordinal))
        finding->ordinal = 0;
    (void)snprintf(finding->file, sizeof finding->file, "log/%.58s", found->file);
    (void)snprintf(finding->what, sizeof finding->what, "%.159s", sentence);
    verify->has_scanned = true;
}

/* What a scan came to. */
struct verify_scan {
    pawl_status status;
    enum recovery_row row;
    uint64_t end_ordinal, end_lsn, proof_lsn, torn_bytes;
    pawl_error error; /* for a status, or a row that is damage */
};

static void scan_once(struct verify *verify, struct verify_scan *ret_found) {
    struct scan scan;
    struct verify_scan *found = ret_found;
    memset(found, 0, sizeof *found);
    scan_init(&scan, verify->os, verify->dir, &verify->identity);
    scan.must_not_write = true;
    found->status = scan_run(&scan, &found->error);
    found->row = scan.row;
    found->end_lsn = scan.end_lsn;
    found->proof_lsn = scan.proof_lsn;
    if (found->status == PAWL_OK && recovery_is_damage(scan.row))
        (void)scan_damage(&scan, &found->error);
    else if (found->status == PAWL_OK) {
        found->end_ordinal = scan.files[scan.end_file].ordinal;
        found->torn_bytes = scan.row == RECOVERY_CLEAN ? 0 : scan.torn_bytes;
    }
    scan_deinit(&scan);
}

static bool is_well(const struct verify_scan *found) {
    return found->status == PAWL_OK && !recovery_is_damage(found->row);
}

/* Scans a closed store. Somebody may open it meanwhile, and then the parts of the scan do not fit
 * together: what is not well counts only when a second look finds the same. */
static pawl_status scan_closed(struct verify *verify, struct verify_use *use,
                               struct verify_scan *ret_found, pawl_error *error) {
    enum { TRIES = 8 };
    struct verify_scan before, found = {0};
    scan_once(verify, &found);
    for (int try = 0; try < TRIES && !is_well(&found); try++) {
        struct verify_use now = {0};
        before = found;
        TRY(look_at_use(verify, &now, error));
        const bool is_same = is_same_use(&now, use);
        *use = now;
        if (now.is_in_use)
            return PAWL_OK;
        scan_once(verify, &found);
        if (is_same && found.status == before.status && found.row == before.row &&
            found.end_lsn == before.end_lsn && found.proof_lsn == before.proof_lsn)
            break;
    }
    *ret_found = found;
    return PAWL_OK;
}

/* A closed store: where would an opening find the log's end? */
static pawl_status decide_closed(struct verify *verify, const struct verify_scan *found,
                                 pawl_error *error) {
    struct walk *walk = &verify->walk;
    walk->proof_lsn = found->proof_lsn;
    if (is_well(found)) {
        walk->end = WALK_TO_POSITION;
        walk->end_ordinal = found->end_ordinal;
        walk->end_lsn = found->end_lsn;
        verify->report.torn_bytes = found->torn_bytes;
        return PAWL_OK;
    }
    if (found->status != PAWL_OK && found->status != PAWL_DAMAGED) {
        if (error != NULL)
            *error = found->error;
        return found->status;
    }
    walk->end = WALK_TO_LAST;
    keep_scanned(verify, &found->error,
                 found->status == PAWL_OK ? recovery_row_sentence(found->row)
                                          : found->error.sentence);
    return PAWL_OK;
}

static pawl_status decide(struct verify *verify, struct verify_use *use, pawl_error *error) {
    struct walk *walk = &verify->walk;
    if (!use->is_in_use) {
        struct verify_scan found = {0};
        TRY(scan_closed(verify, use, &found, error));
        if (!use->is_in_use)
            return decide_closed(verify, &found, error);
    }
    verify->report.is_in_use = true;
    walk->end = WALK_TO_FLUX;
    walk->end_ordinal = use->has_glance ? use->glance.active_ordinal : SEGMENT_ORDINAL_MAX;
    walk->end_lsn = use->has_glance ? use->glance.tail_lsn : 0;
    return PAWL_OK;
}

static void conclude(struct verify *verify, const struct verify_use *use) {
    const struct walk *walk = &verify->walk;
    struct verify_report *report = &verify->report;
    report->segments = walk->line_count;
    for (size_t i = walk->line_count; i > 0; i--) {
        if (walk->line[i - 1].first_lsn != 0)
            report->first_lsn = walk->line[i - 1].first_lsn;
    }
    report->tail_lsn = walk->lsn;
    if (walk->end != WALK_TO_LAST && walk->end_lsn > report->tail_lsn)
        report->tail_lsn = walk->end_lsn;
    report->durable_lsn = walk->proof_lsn;
    if (use->has_glance && use->glance.durable_lsn > report->durable_lsn)
        report->durable_lsn = use->glance.durable_lsn;
}

static pawl_status run_log(struct verify *verify, struct verify_use *use, pawl_error *error) {
    struct walk *walk = &verify->walk;
    TRY(decide(verify, use, error));
    TRY(walk_files(walk, error));
    if (walk->line_count == 0 && walk->end == WALK_TO_FLUX && walk->end_lsn > 0)
        TRY(walk_tell(walk, true, walk->end_ordinal, 0, walk->end_lsn, error,
                      "the segment in use is missing"));
    TRY(walk_frames(walk, error));
    TRY(tell_scanned(verify, error));
    if (!use->is_in_use && verify->options.is_full)
        TRY(check_beside(verify, error));
    conclude(verify, use);
    return PAWL_OK;
}

pawl_status verify_run(struct verify *verify, const struct verify_options *options,
                       const struct walk_visitor *visitor, struct verify_report *ret_report,
                       pawl_error *error) {
    verify->options = *options;
    verify->visitor = *visitor;
    struct walk *walk = &verify->walk;
    walk->visitor =
        (struct walk_visitor){.context = verify, .frame = visit_frame, .finding = visit_finding};
    walk->from_lsn = options->from_lsn;
    walk->is_full = options->is_full;
    if (!verify->has_identity) {
        TRY(tell_of_file(verify, true, IDENTITY_NAME, 0,
                         "neither copy is whole; without it nothing can be read", error));
    } else if (verify->dir == NULL) {
        TRY(tell_of_file(verify, true, "log", 0, "the directory is missing", error));
    } else {
        struct verify_use before = {0}, after = {0};
        TRY(look_at_use(verify, &before, error));
        TRY(run_log(verify, &before, error));
        TRY(look_at_use(verify, &after, error));
        verify->report.has_changed = !is_same_use(&before, &after);
    }
    *ret_report = verify->report;
    return PAWL_OK;
}

pawl_status verify_follow(struct verify *verify, pawl_error *error) {
    return verify->dir == NULL || !verify->has_identity ? PAWL_OK
                                                        : walk_follow(&verify->walk, error);
}

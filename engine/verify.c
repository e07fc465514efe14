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
    struct os_dir *dir; /* log/; NULL when it can't be used, and then it is told why */
    struct slots slots;
    struct identity identity;
    bool has_identity; /* else it is told why not */
    struct identity_copies copies;
    struct walk_finding identity_wrong, log_wrong;
    struct walk walk;
    struct walk_visitor visitor; /* the caller's; the walk has one that checks first */
    struct verify_options options;
    struct verify_report report;
    struct walk_finding scanned; /* damage that the end of the log shows, until it is told */
    bool has_scanned;
};

/* ---- Opening ---- */

static struct walk_finding verify_finding_of(enum walk_kind kind, const char *file, uint64_t offset,
                                             const char *what) {
    struct walk_finding finding = {.kind = kind, .offset = offset};
    (void)snprintf(finding.file, sizeof finding.file, "%s", file);
    (void)snprintf(finding.what, sizeof finding.what, "%s", what);
    return finding;
}

static bool verify_is_no_file(int failed) {
    return failed == EINVAL || failed == ELOOP || failed == ENOTDIR;
}

/* Is there anything in log/ that an unfinished creation does not leave? */
static bool verify_has_log(struct verify *verify) {
    struct log probe = {.os = verify->os, .dir = verify->dir};
    return verify->dir == NULL ? verify->log_wrong.kind == WALK_UNREAD
                               : create_check_log(&probe, NULL) != PAWL_OK;
}

static int verify_ignore_name(void *context, const char *name) {
    (void)context;
    (void)name;
    return 0;
}

/* Has a segment of log/ been made under this identity? */
static bool verify_identity_fits(struct verify *verify, const struct identity *identity) {
    struct look_list list = {.os = verify->os, .stranger = verify_ignore_name};
    bool fits = false;
    if (verify->dir == NULL || look_list(&list, verify->dir) != 0)
        list.count = 0;
    for (size_t i = 0; i < list.count && !fits; i++) {
        struct window window;
        struct look_file *file = &list.files[i];
        if (look_open(verify->os, verify->dir, file->ordinal, OS_OPEN_READ, &window, NULL) !=
            PAWL_OK)
            continue;
        fits = look_inside(&window, identity, file, NULL) == PAWL_OK &&
               file->verdict == RECOVERY_HEADER_OURS;
        look_close(&window);
    }
    look_list_free(&list);
    return fits;
}

/* An opening refuses two whole copies that differ. Here the one is taken that the log was written
 * under, if it can be told, so that what is whole can be read. */
static void verify_choose_identity(struct verify *verify) {
    const struct identity_copies *copies = &verify->copies;
    bool fits[2] = {false, false};
    for (size_t i = 0; i < 2; i++)
        fits[i] =
            copies->statuses[i] == PAWL_OK && verify_identity_fits(verify, &copies->copies[i]);
    verify->has_identity = fits[0] || fits[1];
    verify->identity = copies->copies[fits[0] ? 0 : 1];
    const char *what = "both copies are whole, and they differ; the log fits neither, so nothing "
                       "can be read";
    if (fits[0] && fits[1])
        what = "both copies are whole, and they differ; the log fits both, the first was taken";
    else if (verify->has_identity)
        what = "both copies are whole, and they differ; the one that the log fits was taken";
    verify->identity_wrong = verify_finding_of(WALK_DAMAGE, IDENTITY_NAME, OS_SECTOR_BYTES, what);
}

static pawl_status verify_open_identity(struct verify *verify, const char *path,
                                        pawl_error *error) {
    struct identity_copies *copies = &verify->copies;
    copies->verdict = IDENTITY_BROKEN;
    if (verify->slots.identity != NULL)
        TRY(identity_read_copies(verify->os, verify->slots.identity, copies, error));
    const pawl_status status = identity_take(copies, &verify->identity, error);
    verify->has_identity = status == PAWL_OK;
    if (copies->verdict == IDENTITY_SOUND || copies->verdict == IDENTITY_NEWER)
        return status;
    if (copies->verdict == IDENTITY_DIFFERENT) {
        verify_choose_identity(verify);
        return PAWL_OK;
    }
    if (verify->slots.identity != NULL)
        verify->identity_wrong = verify_finding_of(
            WALK_DAMAGE, IDENTITY_NAME, 0, "neither copy is whole; without it nothing can be read");
    /* A creation that died has left nothing in log/ that was promised. */
    if (verify_has_log(verify))
        return PAWL_OK;
    if (verify->slots.identity == NULL)
        return error_set(error, PAWL_NO_STORE, "there is no store at %.200s", path);
    return error_set(error, PAWL_NO_STORE, "the store at %.200s was never finished", path);
}

static pawl_status verify_open_identity_file(struct verify *verify, pawl_error *error) {
    const int failed = os_file_open(verify->os, verify->store_dir, IDENTITY_NAME, OS_OPEN_READ,
                                    &verify->slots.identity);
    if (failed != 0 && failed != ENOENT && !verify_is_no_file(failed))
        return error_os(error, failed, IDENTITY_NAME, 0, "cannot open %s", IDENTITY_NAME);
    if (failed != 0)
        verify->identity_wrong =
            verify_finding_of(WALK_DAMAGE, IDENTITY_NAME, 0,
                              failed == ENOENT ? "missing; without it nothing can be read"
                                               : "not a regular file; without it nothing can be "
                                                 "read");
    return PAWL_OK;
}

static void verify_open_log(struct verify *verify) {
    const int failed =
        os_dir_open_at(verify->os, verify->store_dir, "log", OS_OPEN_READ, &verify->dir);
    if (failed == ENOENT) {
        verify->log_wrong = verify_finding_of(WALK_DAMAGE, "log", 0, "the directory is missing");
    } else if (verify_is_no_file(failed)) {
        verify->log_wrong = verify_finding_of(WALK_DAMAGE, "log", 0, "not a directory");
    } else if (failed != 0) {
        pawl_error why;
        (void)error_os(&why, failed, "log", 0, "cannot open log/");
        verify->log_wrong = verify_finding_of(WALK_UNREAD, "log", 0, why.sentence);
    }
}

static pawl_status verify_open_parts(struct verify *verify, const char *path, pawl_error *error) {
    const int failed = os_dir_open(verify->os, path, OS_OPEN_READ, &verify->store_dir);
    if (failed == ENOENT || failed == ENOTDIR)
        return error_set(error, PAWL_NO_STORE, "there is no store at %.200s", path);
    if (failed != 0)
        return error_os(error, failed, NULL, 0, "cannot open the store at %.200s", path);
    TRY(verify_open_identity_file(verify, error));
    verify_open_log(verify);
    return verify_open_identity(verify, path, error);
}

pawl_status verify_open(struct os *os, const char *path, struct verify **ret_verify,
                        pawl_error *error) {
    struct verify *verify = os_allocate(os, sizeof *verify);
    if (verify == NULL)
        return error_set(error, PAWL_NO_MEMORY, "no memory to look at the store");
    verify->os = os;
    verify->slots.os = os;
    const pawl_status status = verify_open_parts(verify, path, error);
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

static pawl_status verify_tell(struct verify *verify, const struct walk_finding *finding,
                               pawl_error *error) {
    verify->report.found[finding->kind]++;
    if (verify->visitor.finding == NULL)
        return PAWL_OK;
    return verify->visitor.finding(verify->visitor.context, finding, error);
}

/* What the end of the log shows is told where the walk comes to the same place, once: in the walk's
 * words when they are about a file as a whole, for they say more; a file that can't be read, at the
 * offset at which the walk met that. */
static pawl_status verify_visit_finding(void *context, const struct walk_finding *finding,
                                        pawl_error *error) {
    struct verify *verify = context;
    const struct walk_finding *scanned = &verify->scanned;
    const bool is_same = verify->has_scanned && finding->kind == scanned->kind &&
                         finding->ordinal == scanned->ordinal &&
                         (finding->kind == WALK_UNREAD || finding->offset == scanned->offset);
    if (!is_same)
        return verify_tell(verify, finding, error);
    verify->has_scanned = false;
    const bool is_of_file = finding->kind == WALK_UNREAD || finding->offset == 0;
    return verify_tell(verify, is_of_file ? finding : scanned, error);
}

static pawl_status verify_tell_scanned(struct verify *verify, pawl_error *error) {
    if (!verify->has_scanned)
        return PAWL_OK;
    verify->has_scanned = false;
    return verify_tell(verify, &verify->scanned, error);
}

/* ---- One frame ---- */

static const char *verify_check_records(const struct walk_frame *frame) {
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

static const char *verify_check_start(const struct walk_frame *frame) {
    const bool is_first = frame->offset == SEGMENT_DATA_AT;
    const bool is_start = (frame->header.flags & FRAME_SEGMENT_START) != 0;
    if (is_first == is_start)
        return NULL;
    return is_first ? "a segment begins with another frame than its start"
                    : "a segment's start stands within a segment";
}

static const char *verify_check_footer(const struct walk_frame *frame) {
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

static pawl_status verify_visit_frame(void *context, const struct walk_frame *frame,
                                      pawl_error *error) {
    struct verify *verify = context;
    verify->report.frames++;
    verify->report.records += frame->header.record_count;
    verify->report.bytes += frame_header_frame_bytes(&frame->header);
    const char *wrong = verify_check_start(frame);
    if (wrong == NULL)
        wrong = verify_check_records(frame);
    if (wrong == NULL)
        wrong = verify_check_footer(frame);
    if (wrong != NULL)
        TRY(walk_tell(&verify->walk, WALK_DAMAGE, frame->ordinal, frame->offset, frame->header.lsn,
                      error, "%s", wrong));
    if (verify->visitor.frame == NULL)
        return PAWL_OK;
    return verify->visitor.frame(verify->visitor.context, frame, error);
}

/* ---- Beside the frames ---- */

/* Is `copy` what an interrupted writing of `whole` leaves? */
static bool verify_is_cut_short(const uint8_t copy[OS_SECTOR_BYTES],
                                const uint8_t whole[OS_SECTOR_BYTES]) {
    size_t same = 0;
    while (same < OS_SECTOR_BYTES && copy[same] == whole[same])
        same++;
    return bytes_are_zero(copy + same, OS_SECTOR_BYTES - same);
}

static pawl_status verify_check_identity(struct verify *verify, pawl_error *error) {
    const struct identity_copies *copies = &verify->copies;
    struct walk_finding finding;
    if (copies->verdict == IDENTITY_DIFFERENT)
        return verify_tell(verify, &verify->identity_wrong, error);
    for (size_t copy = 0; copy < 2; copy++) {
        const size_t at = copy * OS_SECTOR_BYTES;
        if (copies->statuses[copy] != PAWL_DAMAGED)
            continue;
        finding = verify_is_cut_short(copies->blocks[copy], copies->blocks[1 - copy])
                      ? verify_finding_of(WALK_NOTE, IDENTITY_NAME, at,
                                          "this copy was never finished; the other one is whole")
                      : verify_finding_of(WALK_DAMAGE, IDENTITY_NAME, at,
                                          "this copy is not whole; the other one is");
        TRY(verify_tell(verify, &finding, error));
    }
    return PAWL_OK;
}

static bool verify_piece_ends_with_footer(struct window *window, uint64_t end) {
    const uint8_t *trailer;
    size_t count;
    return end >= SEGMENT_DATA_AT + FOOTER_TRAILER_BYTES &&
           window_get(window, end - FOOTER_TRAILER_BYTES, FOOTER_TRAILER_BYTES, &trailer, &count,
                      NULL) == PAWL_OK &&
           count == FOOTER_TRAILER_BYTES && footer_find(trailer) != 0;
}

/* Offset at which the log leaves a segment's file; 0 when that is not known. */
static uint64_t verify_piece_end(const struct walk *walk, const struct look_file *file) {
    if (file->place == 0)
        return 0;
    const struct walk_piece *piece = &walk->line[file->place - 1];
    uint64_t end_lsn = piece->end_lsn;
    if (end_lsn == CHAIN_END_OPEN)
        end_lsn = file->place == walk->line_count ? walk->lsn : 0;
    if (piece->first_lsn == 0 || end_lsn < piece->first_lsn)
        return 0;
    return SEGMENT_DATA_AT + (end_lsn - piece->first_lsn);
}

/* What should be zero in a segment's file and is not. */
struct verify_odd {
    bool has_header;    /* behind the header, in its block */
    uint64_t behind_at; /* behind a footer, or a file that is no part of the log: 0: none */
};

/* `end` is where the log leaves the file, or 0. */
static pawl_status verify_find_odd_bytes(struct window *window, const struct look_file *file,
                                         uint64_t end, struct verify_odd *ret_odd,
                                         pawl_error *error) {
    struct verify_odd odd = {0};
    const uint8_t *bytes;
    size_t count;
    uint64_t last = 0;
    TRY(window_get(window, 0, SEGMENT_DATA_AT, &bytes, &count, error));
    odd.has_header =
        file->verdict == RECOVERY_HEADER_OURS && count == SEGMENT_DATA_AT &&
        !bytes_are_zero(bytes + SEGMENT_HEADER_BYTES, SEGMENT_DATA_AT - SEGMENT_HEADER_BYTES);
    const bool is_sealed = file->place != 0 && verify_piece_ends_with_footer(window, end);
    const uint64_t from = file->place == 0 ? SEGMENT_DATA_AT : end;
    if (file->place == 0 || is_sealed)
        TRY(look_last_byte(window, from, &last, error));
    odd.behind_at = last == 0 ? 0 : from;
    *ret_odd = odd;
    return PAWL_OK;
}

static pawl_status verify_check_file(struct verify *verify, const struct look_file *file,
                                     pawl_error *error) {
    struct walk *walk = &verify->walk;
    struct window window;
    struct verify_odd odd = {0};
    pawl_error failure = {0};
    /* A copy, another store's file or one that can't be read has been told of. */
    if (file->is_gone || file->is_unreadable || file->row != RECOVERY_FILE_SEGMENT)
        return PAWL_OK;
    pawl_status status =
        look_open(verify->os, verify->dir, file->ordinal, OS_OPEN_READ, &window, &failure);
    if (status == PAWL_NOT_FOUND)
        return PAWL_OK;
    if (status == PAWL_OK) {
        status = verify_find_odd_bytes(&window, file, verify_piece_end(walk, file), &odd, &failure);
        look_close(&window);
    }
    if (status != PAWL_OK)
        return walk_tell_failure(walk, file->ordinal, failure.offset, 0, status, &failure, error);
    if (odd.has_header)
        TRY(walk_tell(walk, WALK_NOTE, file->ordinal, SEGMENT_HEADER_BYTES, 0, error,
                      "bytes behind the segment's header are not zero"));
    if (odd.behind_at == 0)
        return PAWL_OK;
    return walk_tell(walk, WALK_NOTE, file->ordinal, odd.behind_at, 0, error, "%s",
                     file->place == 0 ? "leftovers that are no part of the log; the next opening "
                                        "removes them"
                                      : "bytes behind the footer are not zero");
}

static pawl_status verify_check_beside(struct verify *verify, pawl_error *error) {
    for (size_t i = 0; i < verify->walk.count; i++)
        TRY(verify_check_file(verify, &verify->walk.files[i], error));
    return PAWL_OK;
}

/* ---- The whole ---- */

static pawl_status verify_look_at_use(struct verify *verify, struct verify_use *ret_use,
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
static bool verify_is_same_use(const struct verify_use *a, const struct verify_use *b) {
    return a->is_in_use == b->is_in_use && a->has_glance == b->has_glance &&
           a->glance.opening == b->glance.opening;
}

static void verify_keep_scanned(struct verify *verify, enum walk_kind kind,
                                const struct pawl_error *found, const char *sentence) {
    struct walk_finding *finding = &verify->scanned;
    *finding = (struct walk_finding){
        .kind = kind,
        .offset = found->offset,
        .lsn = found->lsn,
    };
    if (!segment_parse_name(found->file, &finding->ordinal))
        finding->ordinal = 0;
    (void)snprintf(finding->file, sizeof finding->file, "log/%s", found->file);
    (void)snprintf(finding->what, sizeof finding->what, "%.*s", (int)sizeof finding->what - 1,
                   sentence);
    verify->has_scanned = true;
}

/* What a scan came to. */
struct verify_scan {
    pawl_status status;
    enum recovery_row row;
    uint64_t end_ordinal, end_lsn, proof_lsn, torn_bytes;
    pawl_error error; /* for a status, or a row that is damage */
};

static void verify_scan_once(struct verify *verify, struct verify_scan *ret_found) {
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

static bool verify_is_well(const struct verify_scan *found) {
    return found->status == PAWL_OK && !recovery_is_damage(found->row);
}

/* Scans a closed store. Somebody may open it meanwhile, and then the parts of the scan do not fit
 * together: what is not well counts only when a second look finds the same. */
static pawl_status verify_scan_closed(struct verify *verify, struct verify_use *use,
                                      struct verify_scan *ret_found, pawl_error *error) {
    enum { TRIES = 8 };
    struct verify_scan before, found = {0};
    verify_scan_once(verify, &found);
    for (int try = 0; try < TRIES && !verify_is_well(&found); try++) {
        struct verify_use now = {0};
        before = found;
        TRY(verify_look_at_use(verify, &now, error));
        const bool is_same = verify_is_same_use(&now, use);
        *use = now;
        if (now.is_in_use)
            return PAWL_OK;
        verify_scan_once(verify, &found);
        if (is_same && found.status == before.status && found.row == before.row &&
            found.end_lsn == before.end_lsn && found.proof_lsn == before.proof_lsn)
            break;
    }
    *ret_found = found;
    return PAWL_OK;
}

/* A closed store: where would an opening find the log's end? */
static pawl_status verify_decide_closed(struct verify *verify, const struct verify_scan *found,
                                        pawl_error *error) {
    struct walk *walk = &verify->walk;
    walk->proof_lsn = found->proof_lsn;
    if (verify_is_well(found)) {
        walk->end = WALK_TO_POSITION;
        walk->end_ordinal = found->end_ordinal;
        walk->end_lsn = found->end_lsn;
        verify->report.torn_bytes = found->torn_bytes;
        return PAWL_OK;
    }
    uint64_t ordinal;
    const bool is_of_file = segment_parse_name(found->error.file, &ordinal);
    const bool is_unread =
        is_of_file && (found->status == PAWL_IO || found->status == PAWL_PERMISSION);
    if (found->status != PAWL_OK && found->status != PAWL_DAMAGED && !is_unread) {
        if (error != NULL)
            *error = found->error;
        return found->status;
    }
    walk->end = WALK_TO_LAST;
    walk->end_ordinal = is_of_file ? ordinal : 0;
    verify_keep_scanned(verify, is_unread ? WALK_UNREAD : WALK_DAMAGE, &found->error,
                        found->status == PAWL_OK ? recovery_row_sentence(found->row)
                                                 : found->error.sentence);
    return PAWL_OK;
}

static pawl_status verify_decide(struct verify *verify, struct verify_use *use, pawl_error *error) {
    struct walk *walk = &verify->walk;
    if (!use->is_in_use) {
        struct verify_scan found = {0};
        TRY(verify_scan_closed(verify, use, &found, error));
        if (!use->is_in_use)
            return verify_decide_closed(verify, &found, error);
    }
    verify->report.is_in_use = true;
    walk->end = WALK_TO_FLUX;
    walk->end_ordinal = use->has_glance ? use->glance.active_ordinal : SEGMENT_ORDINAL_MAX;
    walk->end_lsn = use->has_glance ? use->glance.tail_lsn : 0;
    return PAWL_OK;
}

static void verify_conclude(struct verify *verify, const struct verify_use *use) {
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

static pawl_status verify_run_log(struct verify *verify, struct verify_use *use,
                                  pawl_error *error) {
    struct walk *walk = &verify->walk;
    TRY(verify_decide(verify, use, error));
    TRY(walk_files(walk, error));
    if (walk->line_count == 0 && walk->end == WALK_TO_FLUX && walk->end_lsn > 0)
        TRY(walk_tell(walk, WALK_DAMAGE, walk->end_ordinal, 0, walk->end_lsn, error,
                      "the segment in use is missing"));
    TRY(walk_frames(walk, error));
    TRY(verify_tell_scanned(verify, error));
    if (!use->is_in_use && verify->options.is_full)
        TRY(verify_check_beside(verify, error));
    verify_conclude(verify, use);
    return PAWL_OK;
}

pawl_status verify_run(struct verify *verify, const struct verify_options *options,
                       const struct walk_visitor *visitor, struct verify_report *ret_report,
                       pawl_error *error) {
    verify->options = *options;
    verify->visitor = *visitor;
    struct walk *walk = &verify->walk;
    walk->visitor = (struct walk_visitor){
        .context = verify, .frame = verify_visit_frame, .finding = verify_visit_finding};
    walk->from_lsn = options->from_lsn;
    walk->is_full = options->is_full;
    if (verify->has_identity)
        TRY(verify_check_identity(verify, error));
    else
        TRY(verify_tell(verify, &verify->identity_wrong, error));
    if (verify->dir == NULL)
        TRY(verify_tell(verify, &verify->log_wrong, error));
    if (verify->has_identity && verify->dir != NULL) {
        struct verify_use before = {0}, after = {0};
        TRY(verify_look_at_use(verify, &before, error));
        TRY(verify_run_log(verify, &before, error));
        TRY(verify_look_at_use(verify, &after, error));
        verify->report.has_changed = !verify_is_same_use(&before, &after);
    }
    *ret_report = verify->report;
    return PAWL_OK;
}

pawl_status verify_follow(struct verify *verify, pawl_error *error) {
    return verify->dir == NULL || !verify->has_identity ? PAWL_OK
                                                        : walk_follow(&verify->walk, error);
}

#include "story.h"

#include "bytes.h"
#include "os_posix.h"
#include "record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEAD_BYTES = 24,
    METADATA_BYTES_MAX = 32,
};

static const uint64_t head_magic = UINT64_C(0x7972746f74532121);

/* ---- Frames ---- */

static void story_fill(const struct story *story, uint8_t *payload) {
    bytes_store_u64(payload, head_magic);
    bytes_store_u32(payload + 8, story->process);
    bytes_store_u32(payload + 12, story->filler_bytes);
    bytes_store_u64(payload + 16, story->counter);
    struct dice dice = {story->counter * STORY_PROCESSES_MAX + story->process};
    uint8_t *filler = payload + HEAD_BYTES;
    for (uint32_t i = 0; i < story->filler_bytes; i += 8) {
        uint8_t bytes[8];
        bytes_store_u64(bytes, dice_throw(&dice));
        const uint32_t left = story->filler_bytes - i;
        memcpy(filler + i, bytes, left < 8 ? left : 8);
    }
}

static size_t story_metadata(uint8_t metadata[METADATA_BYTES_MAX]) {
    struct writer writer = writer_over(metadata, METADATA_BYTES_MAX);
    record_write(&writer, RECORD_FIRST_OF_STATE, 0, "story", 5);
    return writer_used(&writer);
}

uint64_t story_frame_bytes(const struct story *story) {
    uint8_t metadata[METADATA_BYTES_MAX];
    return frame_bytes(story_metadata(metadata), HEAD_BYTES + story->filler_bytes);
}

pawl_status story_append(struct log *log, const struct story *story, bool needs_sync,
                         uint64_t *ret_lsn, uint64_t *ret_end_lsn, pawl_error *error) {
    uint8_t metadata[METADATA_BYTES_MAX];
    uint8_t payload[HEAD_BYTES + STORY_FILLER_MAX];
    story_fill(story, payload);
    const struct log_draft draft = {
        .metadata = metadata,
        .metadata_bytes = (uint32_t)story_metadata(metadata),
        .payload = payload,
        .payload_bytes = HEAD_BYTES + story->filler_bytes,
        .record_count = 1,
        .flags = needs_sync ? FRAME_NEEDS_SYNC : 0,
    };
    return log_append(log, &draft, ret_lsn, ret_end_lsn, error);
}

static pawl_status story_parse(const struct frame_header *header, const uint8_t *payload,
                               struct story *ret_story, pawl_error *error) {
    uint8_t expected[HEAD_BYTES + STORY_FILLER_MAX];
    const uint32_t bytes = header->payload_bytes;
    if (bytes < HEAD_BYTES || bytes > sizeof expected || bytes_load_u64(payload) != head_magic)
        return error_set(error, PAWL_INTERNAL, "the frame at %" PRIu64 " is nobody's", header->lsn);
    struct story story = {
        .process = bytes_load_u32(payload + 8),
        .filler_bytes = bytes - HEAD_BYTES,
        .counter = bytes_load_u64(payload + 16),
    };
    story_fill(&story, expected);
    if (memcmp(expected, payload, bytes) != 0)
        return error_set(error, PAWL_INTERNAL, "the frame at %" PRIu64 " has other bytes",
                         header->lsn);
    *ret_story = story;
    return PAWL_OK;
}

pawl_status story_read(struct log_reader *reader, struct story *ret_story, uint64_t *ret_lsn,
                       uint64_t *ret_end_lsn, pawl_error *error) {
    for (;;) {
        struct log_view view;
        const uint8_t *payload;
        const uint64_t expected = log_reader_lsn(reader);
        TRY(log_reader_next(reader, LOG_TO_TAIL, &view, error));
        TRY(log_reader_payload(reader, &view, &payload, error));
        if (view.header.lsn != expected)
            return error_set(error, PAWL_INTERNAL, "the frame at %" PRIu64 " says %" PRIu64,
                             expected, view.header.lsn);
        if ((view.header.flags & (FRAME_SEGMENT_START | FRAME_FOOTER | FRAME_MARK)) != 0)
            continue;
        TRY(story_parse(&view.header, payload, ret_story, error));
        *ret_lsn = view.header.lsn;
        *ret_end_lsn = log_reader_lsn(reader);
        return PAWL_OK;
    }
}

/* ---- The account ---- */

void account_release(struct account *account) {
    for (size_t i = 0; i < STORY_PROCESSES_MAX; i++)
        free(account->processes[i].frames);
    memset(account, 0, sizeof *account);
}

static bool account_grow(struct account_process *process) {
    const uint64_t capacity = process->capacity == 0 ? 64 : process->capacity * 2;
    struct account_frame *frames = realloc(process->frames, capacity * sizeof *frames);
    if (frames == NULL)
        return wrong("no memory for the account");
    process->frames = frames;
    process->capacity = capacity;
    return true;
}

bool account_append(struct account *account, const struct report *report) {
    if (report->process >= STORY_PROCESSES_MAX)
        return wrong("too many processes for the account");
    struct account_process *process = &account->processes[report->process];
    if (report->counter != process->count + 1)
        return wrong("process %u reports its frame %" PRIu64 " after %" PRIu64, report->process,
                     report->counter, process->count);
    if (process->count == process->capacity && !account_grow(process))
        return false;
    process->frames[process->count++] = (struct account_frame){report->lsn, report->end_lsn};
    account->reported++;
    return true;
}

void account_killed(struct account *account, uint32_t process) {
    account->processes[process].may_have_more = true;
}

static bool account_meet(struct account *account, const struct story *story, uint64_t lsn,
                         uint64_t end_lsn) {
    if (story->process >= STORY_PROCESSES_MAX)
        return wrong("a frame of process %u at %" PRIu64, story->process, lsn);
    struct account_process *process = &account->processes[story->process];
    if (story->counter != process->found + 1)
        return wrong("frame %" PRIu64 " of process %u at %" PRIu64 " comes after its %" PRIu64,
                     story->counter, story->process, lsn, process->found);
    process->found++;
    account->found++;
    if (story->counter > process->count) {
        account->adopted++;
        return (process->may_have_more && story->counter == process->count + 1) ||
               wrong("frame %" PRIu64 " of process %u at %" PRIu64 " was never reported",
                     story->counter, story->process, lsn);
    }
    const struct account_frame *frame = &process->frames[story->counter - 1];
    if (frame->lsn != lsn || frame->end_lsn != end_lsn)
        return wrong("frame %" PRIu64 " of process %u is at %" PRIu64 "-%" PRIu64
                     " and was reported at %" PRIu64 "-%" PRIu64,
                     story->counter, story->process, lsn, end_lsn, frame->lsn, frame->end_lsn);
    return true;
}

static bool account_read(struct account *account, struct log *log, struct log_reader *reader) {
    pawl_error error;
    for (;;) {
        struct story story;
        uint64_t lsn, end_lsn;
        const pawl_status status = story_read(reader, &story, &lsn, &end_lsn, &error);
        if (status == PAWL_EMPTY)
            break;
        if (status != PAWL_OK)
            return wrong("reading at %" PRIu64 ": %s", log_reader_lsn(reader), error.sentence);
        if (!account_meet(account, &story, lsn, end_lsn))
            return false;
    }
    return log_reader_lsn(reader) == log_tail(log) ||
           wrong("reading ends at %" PRIu64 ", the log at %" PRIu64, log_reader_lsn(reader),
                 log_tail(log));
}

bool account_check(struct account *account, struct log *log) {
    account->found = 0;
    account->adopted = 0;
    for (size_t i = 0; i < STORY_PROCESSES_MAX; i++)
        account->processes[i].found = 0;
    struct log_reader *reader;
    pawl_error error;
    if (log_reader_open(log, log_first(log), &reader, &error) != PAWL_OK)
        return wrong("%s", error.sentence);
    bool is_right = account_read(account, log, reader);
    log_reader_close(reader);
    for (uint32_t i = 0; i < STORY_PROCESSES_MAX && is_right; i++) {
        const struct account_process *process = &account->processes[i];
        if (process->found < process->count)
            is_right =
                wrong("of %" PRIu64 " frames that process %u reported %" PRIu64
                      " are in the log; the next was at %" PRIu64,
                      process->count, i, process->found, process->frames[process->found].lsn);
    }
    return is_right;
}

bool account_check_store(struct account *account, const char *path,
                         const struct log_options *options) {
    struct os *os;
    struct log *log;
    struct log_opening opening;
    pawl_error error;
    if (os_posix_create(&os) != 0)
        return wrong("no os");
    bool is_right = false;
    if (log_open(os, path, options, &log, &opening, &error) != PAWL_OK) {
        (void)wrong("opening alone, for the check: %s", error.sentence);
    } else {
        is_right = (opening.was_alone || wrong("who opens last of all is not alone")) &&
                   account_check(account, log);
        if (log_close(log, &error) != PAWL_OK)
            is_right = wrong("closing, after the check: %s", error.sentence);
    }
    os_posix_destroy(os);
    return is_right;
}

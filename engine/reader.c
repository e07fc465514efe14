#include "core.h"
#include "window.h"

#include <errno.h>

struct log_reader {
    struct log *log;
    uint64_t lsn;       /* of the next frame */
    uint64_t seen_tail; /* what the window holds from here on may have been read too early */
    struct chain_entry entry;
    struct os_file *file; /* its own; NULL before the first frame */
    struct window window;
    uint64_t given_offset; /* of the frame given last */
};

pawl_status log_reader_open(struct log *log, uint64_t lsn, struct log_reader **ret_reader,
                            pawl_error *error) {
    TRY(core_usable(log, error));
    struct log_reader *reader = os_allocate(log->os, sizeof *reader);
    if (reader == NULL)
        return error_set(error, PAWL_NO_MEMORY, "no memory for a reader");
    reader->log = log;
    reader->lsn = lsn;
    *ret_reader = reader;
    return PAWL_OK;
}

static void reader_leave_segment(struct log_reader *reader) {
    if (reader->file == NULL)
        return;
    window_deinit(&reader->window);
    (void)os_file_close(reader->log->os, reader->file); /* only read */
    reader->file = NULL;
}

void log_reader_close(struct log_reader *reader) {
    if (reader == NULL)
        return;
    reader_leave_segment(reader);
    os_release(reader->log->os, reader, sizeof *reader);
}

uint64_t log_reader_lsn(const struct log_reader *reader) {
    return reader->lsn;
}

void log_reader_seek(struct log_reader *reader, uint64_t lsn) {
    if (reader->file != NULL && lsn < reader->entry.first_lsn)
        reader_leave_segment(reader);
    reader->lsn = lsn;
}

/* The segment that holds the next frame. */
static pawl_status reader_enter_segment(struct log_reader *reader, pawl_error *error) {
    struct log *log = reader->log;
    const uint64_t active = atomic_load(&log->shared->active_ordinal);
    if (reader->file != NULL && reader->lsn < reader->entry.end_lsn &&
        (reader->entry.end_lsn != CHAIN_END_OPEN || reader->entry.ordinal == active))
        return PAWL_OK;
    reader_leave_segment(reader);
    TRY(core_judge_chain(log, chain_follow(&log->chain, active, error), error));
    if (!chain_find(&log->chain, reader->lsn, &reader->entry))
        return error_set(error, PAWL_NOT_FOUND, "position %llu lies before the log",
                         (unsigned long long)reader->lsn);
    TRY(chain_open(&log->chain, reader->entry.ordinal, &reader->file, error));
    char name[SEGMENT_NAME_BYTES];
    segment_name(reader->entry.ordinal, name);
    window_init(&reader->window, log->os, reader->file, name);
    return PAWL_OK;
}

/* The frame at `lsn`, which begins at `offset`, is not whole. */
static pawl_status reader_damaged(struct log_reader *reader, uint64_t lsn, uint64_t offset,
                                  const char *what, pawl_error *error) {
    if (lsn >= atomic_load(&reader->log->shared->durable_lsn))
        return core_not_durable(reader->log, error);
    (void)error_set(error, PAWL_DAMAGED, "segment %s, offset %llu: %s is not whole",
                    reader->window.name, (unsigned long long)offset, what);
    return error_at(error, PAWL_DAMAGED, reader->window.name, offset, lsn);
}

static pawl_status reader_read(struct log_reader *reader, enum log_reach reach,
                               struct log_view *view, pawl_error *error) {
    const struct frame_key key = {reader->log->identity.secret, reader->entry.ordinal};
    const uint64_t offset = chain_offset(&reader->entry, reader->lsn);
    const uint8_t *bytes;
    size_t count;
    TRY(window_get(&reader->window, offset, FRAME_HEADER_BYTES, &bytes, &count, error));
    if (count < FRAME_HEADER_BYTES ||
        frame_read_header(bytes, &key, &view->header) != FRAME_WHOLE ||
        view->header.lsn != reader->lsn)
        return reader_damaged(reader, reader->lsn, offset, "the header of a frame", error);
    const size_t size = frame_header_frame_bytes(&view->header);
    if (reach == LOG_TO_CONFIRMABLE && (view->header.flags & FRAME_NEEDS_SYNC) != 0 &&
        reader->lsn + size > atomic_load(&reader->log->shared->durable_lsn))
        return PAWL_EMPTY;
    const size_t wanted = FRAME_HEADER_BYTES + view->header.metadata_bytes;
    TRY(window_get(&reader->window, offset, wanted, &bytes, &count, error));
    view->metadata = bytes + FRAME_HEADER_BYTES;
    if (count < wanted || !frame_metadata_is_whole(&view->header, view->metadata, key.secret))
        return reader_damaged(reader, reader->lsn, offset, "the metadata of a frame", error);
    view->ordinal = reader->entry.ordinal;
    reader->given_offset = offset;
    reader->lsn += size;
    return PAWL_OK;
}

pawl_status log_reader_next(struct log_reader *reader, enum log_reach reach,
                            struct log_view *ret_view, pawl_error *error) {
    TRY(core_usable(reader->log, error));
    const uint64_t tail =
        atomic_load_explicit(&reader->log->shared->tail_lsn, memory_order_acquire);
    if (reader->lsn >= tail)
        return PAWL_EMPTY;
    TRY(reader_enter_segment(reader, error));
    if (reader->lsn >= reader->seen_tail) {
        reader->window.count = 0;
        reader->seen_tail = tail;
    }
    struct log_view view = {0};
    TRY(reader_read(reader, reach, &view, error));
    *ret_view = view;
    return PAWL_OK;
}

pawl_status log_reader_payload(struct log_reader *reader, struct log_view *view,
                               const uint8_t **ret_payload, pawl_error *error) {
    TRY(core_usable(reader->log, error));
    const size_t size = frame_header_frame_bytes(&view->header);
    const uint8_t *bytes;
    size_t count;
    TRY(window_get(&reader->window, reader->given_offset, size, &bytes, &count, error));
    const uint8_t *payload = bytes + FRAME_HEADER_BYTES + view->header.metadata_bytes;
    if (count < size ||
        !frame_payload_is_whole(&view->header, payload, reader->log->identity.secret))
        return reader_damaged(reader, view->header.lsn, reader->given_offset, "a payload", error);
    view->metadata = bytes + FRAME_HEADER_BYTES;
    *ret_payload = payload;
    return PAWL_OK;
}

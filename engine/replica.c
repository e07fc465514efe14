#include "replica.h"

pawl_status replica_open(struct replica *replica, struct os *os, struct log *log,
                         pawl_error *error) {
    const uint64_t first_lsn = log_first(log);
    struct log_reader *reader;
    TRY(log_reader_open(log, first_lsn, &reader, error));
    replica->log = log;
    replica->reader = reader;
    state_init(&replica->state, os, first_lsn);
    return PAWL_OK;
}

void replica_close(struct replica *replica) {
    if (replica->reader == NULL)
        return;
    log_reader_close(replica->reader);
    state_deinit(&replica->state);
    *replica = (struct replica){0};
}

/* PAWL_EMPTY: there is no frame beyond the state. */
static pawl_status replica_apply_next(struct replica *replica, pawl_error *error) {
    struct log_view view;
    const uint64_t lsn = log_reader_lsn(replica->reader);
    TRY(log_reader_next(replica->reader, LOG_TO_TAIL, &view, error));
    const struct state_frame frame = {
        .lsn = lsn,
        .end_lsn = log_reader_lsn(replica->reader),
        .time_us = view.header.time_us,
        .metadata = view.metadata,
        .metadata_bytes = view.header.metadata_bytes,
    };
    const pawl_status status = state_reserve(&replica->state, &frame, error);
    if (status != PAWL_OK) {
        log_reader_seek(replica->reader, lsn);
        return status;
    }
    state_apply(&replica->state, &frame);
    return PAWL_OK;
}

pawl_status replica_catch_up(struct replica *replica, pawl_error *error) {
    pawl_status status = PAWL_OK;
    while (status == PAWL_OK)
        status = replica_apply_next(replica, error);
    return status == PAWL_EMPTY ? PAWL_OK : status;
}

pawl_status replica_lock(struct replica *replica, uint64_t bytes, enum log_class class,
                         uint64_t deadline, pawl_error *error) {
    /* Before it, so that others wait for little. */
    TRY(replica_catch_up(replica, error));
    TRY(log_lock(replica->log, bytes, class, deadline, error));
    const pawl_status status = replica_catch_up(replica, error);
    if (status != PAWL_OK)
        log_unlock(replica->log);
    return status;
}

void replica_unlock(struct replica *replica) {
    log_unlock(replica->log);
}

pawl_status replica_append(struct replica *replica, const struct log_draft *draft,
                           uint64_t *ret_end_lsn, pawl_error *error) {
    struct state_frame frame = {
        .lsn = log_tail(replica->log),
        .time_us = draft->time_us,
        .metadata = draft->metadata,
        .metadata_bytes = draft->metadata_bytes,
    };
    TRY(state_reserve(&replica->state, &frame, error));
    const pawl_status status = log_append(replica->log, draft, &frame.lsn, &frame.end_lsn, error);
    if (status != PAWL_OK) {
        state_abandon(&replica->state);
        return status;
    }
    state_apply(&replica->state, &frame);
    log_reader_seek(replica->reader, frame.end_lsn);
    *ret_end_lsn = frame.end_lsn;
    return PAWL_OK;
}

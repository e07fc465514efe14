#include "chain.h"

#include "check.h"

#include <errno.h>
#include <string.h>

enum {
    START_FRAME_BYTES_MAX = 512, /* a start is far smaller; room for later additions */
    ENTRIES_FIRST = 8,
};

void chain_init(struct chain *chain, struct os *os, struct os_dir *dir,
                const struct identity *identity) {
    memset(chain, 0, sizeof *chain);
    chain->os = os;
    chain->dir = dir;
    chain->identity = identity;
}

void chain_deinit(struct chain *chain) {
    for (size_t i = 0; i < CHAIN_FILES; i++) {
        if (chain->files[i].file != NULL)
            (void)os_file_close(chain->os, chain->files[i].file); /* closing has synced before */
    }
    os_release(chain->os, chain->entries, chain->capacity * sizeof *chain->entries);
    memset(chain, 0, sizeof *chain);
}

static pawl_status chain_grow(struct chain *chain, pawl_error *error) {
    const size_t capacity = chain->capacity == 0 ? ENTRIES_FIRST : chain->capacity * 2;
    struct chain_entry *entries = os_allocate(chain->os, capacity * sizeof *entries);
    if (entries == NULL)
        return error_set(error, PAWL_NO_MEMORY, "no memory for the list of segments");
    if (chain->count > 0)
        memcpy(entries, chain->entries, chain->count * sizeof *entries);
    os_release(chain->os, chain->entries, chain->capacity * sizeof *entries);
    chain->entries = entries;
    chain->capacity = capacity;
    return PAWL_OK;
}

pawl_status chain_push(struct chain *chain, uint64_t ordinal, uint64_t first_lsn,
                       pawl_error *error) {
    if (chain->count == chain->capacity)
        TRY(chain_grow(chain, error));
    if (chain->count > 0) {
        struct chain_entry *last = &chain->entries[chain->count - 1];
        CHECK(last->ordinal < ordinal && last->first_lsn < first_lsn, error);
        last->end_lsn = first_lsn;
    } else {
        atomic_store(&chain->first_lsn, first_lsn);
    }
    chain->entries[chain->count++] = (struct chain_entry){ordinal, first_lsn, CHAIN_END_OPEN};
    return PAWL_OK;
}

pawl_status chain_read_start(struct os *os, struct os_file *file, uint64_t ordinal, uint64_t secret,
                             enum chain_start *ret_verdict, struct frame_header *ret_header,
                             struct segment_start *ret_start, pawl_error *error) {
    uint8_t bytes[START_FRAME_BYTES_MAX] = {0};
    size_t read;
    const int failed = os_file_read(os, file, bytes, sizeof bytes, SEGMENT_DATA_AT, &read);
    if (failed != 0) {
        char name[SEGMENT_NAME_BYTES];
        segment_name(ordinal, name);
        return error_os(error, failed, name, SEGMENT_DATA_AT, "cannot read segment %s", name);
    }
    const struct frame_key key = {secret, ordinal};
    struct frame_header header;
    struct segment_start start;
    *ret_verdict = CHAIN_START_WRONG;
    const enum frame_verdict verdict = frame_read_header(bytes, &key, &header);
    if (verdict == FRAME_ABSENT)
        *ret_verdict = CHAIN_START_NONE;
    if (verdict != FRAME_WHOLE || (header.flags & FRAME_SEGMENT_START) == 0 ||
        frame_header_frame_bytes(&header) > read || !frame_body_is_whole(&header, bytes, secret) ||
        !segment_start_decode(bytes + FRAME_HEADER_BYTES, header.metadata_bytes, &start) ||
        start.end_lsn != header.lsn)
        return PAWL_OK;
    *ret_verdict = CHAIN_START_WHOLE;
    *ret_header = header;
    *ret_start = start;
    return PAWL_OK;
}

/* Opens segment `ordinal` for a look at its start. PAWL_NOT_FOUND when there is no such file. */
static pawl_status chain_look(struct chain *chain, uint64_t ordinal, enum chain_start *ret_verdict,
                              struct segment_start *ret_start, pawl_error *error) {
    char name[SEGMENT_NAME_BYTES];
    segment_name(ordinal, name);
    struct os_file *file;
    const int failed = os_file_open(chain->os, chain->dir, name, OS_OPEN_READ, &file);
    if (failed == ENOENT)
        return PAWL_NOT_FOUND;
    if (failed != 0)
        return error_os(error, failed, name, 0, "cannot open segment %s", name);
    struct frame_header header;
    const pawl_status status = chain_read_start(chain->os, file, ordinal, chain->identity->secret,
                                                ret_verdict, &header, ret_start, error);
    (void)os_file_close(chain->os, file); /* only read */
    return status;
}

static pawl_status chain_missing(uint64_t ordinal, bool is_there, pawl_error *error) {
    char name[SEGMENT_NAME_BYTES];
    segment_name(ordinal, name);
    (void)error_set(error, PAWL_DAMAGED,
                    is_there ? "segment %s does not begin as it must" : "segment %s is missing",
                    name);
    return error_at(error, PAWL_DAMAGED, name, is_there ? SEGMENT_DATA_AT : 0, 0);
}

pawl_status chain_load(struct chain *chain, uint64_t active_ordinal, pawl_error *error) {
    chain->count = 0;
    for (uint64_t ordinal = active_ordinal; ordinal != 0;) {
        enum chain_start verdict = CHAIN_START_NONE;
        struct segment_start start = {0};
        const pawl_status status = chain_look(chain, ordinal, &verdict, &start, error);
        if (status == PAWL_NOT_FOUND || (status == PAWL_OK && verdict != CHAIN_START_WHOLE))
            return chain_missing(ordinal, status == PAWL_OK, error);
        TRY(status);
        if (start.predecessor >= ordinal)
            return chain_missing(ordinal, true, error);
        if (chain->count == chain->capacity)
            TRY(chain_grow(chain, error));
        chain->entries[chain->count++] =
            (struct chain_entry){ordinal, start.end_lsn, CHAIN_END_OPEN};
        ordinal = start.predecessor;
    }
    if (chain->count == 0)
        return chain_missing(active_ordinal, false, error);
    for (size_t i = 0, j = chain->count - 1; i < j; i++, j--) {
        const struct chain_entry entry = chain->entries[i];
        chain->entries[i] = chain->entries[j];
        chain->entries[j] = entry;
    }
    for (size_t i = 0; i + 1 < chain->count; i++) {
        chain->entries[i].end_lsn = chain->entries[i + 1].first_lsn;
        if (chain->entries[i].end_lsn <= chain->entries[i].first_lsn)
            return chain_missing(chain->entries[i + 1].ordinal, true, error);
    }
    atomic_store(&chain->first_lsn, chain->entries[0].first_lsn);
    return PAWL_OK;
}

static pawl_status chain_follow_locked(struct chain *chain, uint64_t active_ordinal,
                                       pawl_error *error) {
    uint64_t last = chain->entries[chain->count - 1].ordinal;
    for (uint64_t ordinal = last + 1; ordinal <= active_ordinal; ordinal++) {
        enum chain_start verdict = CHAIN_START_NONE;
        struct segment_start start = {0};
        const pawl_status status = chain_look(chain, ordinal, &verdict, &start, error);
        if (status == PAWL_NOT_FOUND)
            continue;
        TRY(status);
        /* A segment whose start was spoiled by a dead process is passed over: nobody names it. */
        if (verdict != CHAIN_START_WHOLE || start.predecessor != last)
            continue;
        TRY(chain_push(chain, ordinal, start.end_lsn, error));
        last = ordinal;
    }
    return last == active_ordinal ? PAWL_OK : chain_missing(active_ordinal, true, error);
}

pawl_status chain_follow(struct chain *chain, uint64_t active_ordinal, pawl_error *error) {
    (void)mutex_lock(chain->os, &chain->mutex, OS_NO_DEADLINE); /* cannot time out */
    pawl_status status = PAWL_OK;
    if (chain->entries[chain->count - 1].ordinal < active_ordinal)
        status = chain_follow_locked(chain, active_ordinal, error);
    mutex_unlock(chain->os, &chain->mutex);
    return status;
}

bool chain_find(struct chain *chain, uint64_t lsn, struct chain_entry *ret_entry) {
    (void)mutex_lock(chain->os, &chain->mutex, OS_NO_DEADLINE); /* cannot time out */
    size_t low = 0, high = chain->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (chain->entries[middle].first_lsn <= lsn)
            low = middle + 1;
        else
            high = middle;
    }
    if (low > 0)
        *ret_entry = chain->entries[low - 1];
    mutex_unlock(chain->os, &chain->mutex);
    return low > 0;
}

struct chain_entry chain_last(struct chain *chain) {
    (void)mutex_lock(chain->os, &chain->mutex, OS_NO_DEADLINE); /* cannot time out */
    const struct chain_entry last = chain->entries[chain->count - 1];
    mutex_unlock(chain->os, &chain->mutex);
    return last;
}

size_t chain_count_beyond(struct chain *chain, uint64_t lsn) {
    (void)mutex_lock(chain->os, &chain->mutex, OS_NO_DEADLINE); /* cannot time out */
    size_t count = 0;
    while (count < chain->count && chain->entries[chain->count - 1 - count].end_lsn > lsn)
        count++;
    mutex_unlock(chain->os, &chain->mutex);
    return count;
}

static uint64_t chain_end_of(const struct chain *chain, uint64_t ordinal) {
    for (size_t i = chain->count; i > 0; i--) {
        if (chain->entries[i - 1].ordinal == ordinal)
            return chain->entries[i - 1].end_lsn;
    }
    return CHAIN_END_OPEN;
}

/* A place for one more open file: an empty one, or the longest unused one that is durable (C2). */
static struct chain_file *chain_place(struct chain *chain, uint64_t durable_lsn) {
    struct chain_file *place = NULL;
    for (size_t i = 0; i < CHAIN_FILES; i++) {
        struct chain_file *file = &chain->files[i];
        if (file->file == NULL)
            return file;
        if (file->users == 0 && chain_end_of(chain, file->ordinal) <= durable_lsn &&
            (place == NULL || file->used_at < place->used_at))
            place = file;
    }
    if (place != NULL) {
        (void)os_file_close(chain->os, place->file); /* all of it is durable */
        place->file = NULL;
    }
    return place;
}

static pawl_status chain_hold_locked(struct chain *chain, uint64_t ordinal, uint64_t durable_lsn,
                                     struct os_file **ret_file, pawl_error *error) {
    chain->uses++;
    for (size_t i = 0; i < CHAIN_FILES; i++) {
        struct chain_file *file = &chain->files[i];
        if (file->file != NULL && file->ordinal == ordinal) {
            file->users++;
            file->used_at = chain->uses;
            *ret_file = file->file;
            return PAWL_OK;
        }
    }
    char name[SEGMENT_NAME_BYTES];
    segment_name(ordinal, name);
    struct chain_file *place = chain_place(chain, durable_lsn);
    if (place == NULL)
        return error_set(error, PAWL_BUSY, "%d segments wait to be synced", CHAIN_FILES);
    const int failed =
        os_file_open(chain->os, chain->dir, name, OS_OPEN_READ | OS_OPEN_WRITE, &place->file);
    if (failed != 0) {
        place->file = NULL;
        if (failed == ENOENT)
            return chain_missing(ordinal, false, error);
        return error_os(error, failed, name, 0, "cannot open segment %s", name);
    }
    place->ordinal = ordinal;
    place->users = 1;
    place->used_at = chain->uses;
    *ret_file = place->file;
    return PAWL_OK;
}

pawl_status chain_hold(struct chain *chain, uint64_t ordinal, uint64_t durable_lsn,
                       struct os_file **ret_file, pawl_error *error) {
    (void)mutex_lock(chain->os, &chain->mutex, OS_NO_DEADLINE); /* cannot time out */
    const pawl_status status = chain_hold_locked(chain, ordinal, durable_lsn, ret_file, error);
    mutex_unlock(chain->os, &chain->mutex);
    return status;
}

pawl_status chain_open(struct chain *chain, uint64_t ordinal, struct os_file **ret_file,
                       pawl_error *error) {
    char name[SEGMENT_NAME_BYTES];
    segment_name(ordinal, name);
    const int failed = os_file_open(chain->os, chain->dir, name, OS_OPEN_READ, ret_file);
    if (failed == ENOENT)
        return chain_missing(ordinal, false, error);
    if (failed != 0)
        return error_os(error, failed, name, 0, "cannot open segment %s", name);
    return PAWL_OK;
}

void chain_let_go(struct chain *chain, struct os_file *file) {
    (void)mutex_lock(chain->os, &chain->mutex, OS_NO_DEADLINE); /* cannot time out */
    for (size_t i = 0; i < CHAIN_FILES; i++) {
        if (chain->files[i].file == file)
            chain->files[i].users--;
    }
    mutex_unlock(chain->os, &chain->mutex);
}

void chain_close_unbegun(struct chain *chain, uint64_t ordinal) {
    (void)mutex_lock(chain->os, &chain->mutex, OS_NO_DEADLINE); /* cannot time out */
    for (size_t i = 0; i < CHAIN_FILES; i++) {
        struct chain_file *file = &chain->files[i];
        if (file->file != NULL && file->ordinal == ordinal && file->users == 0) {
            (void)os_file_close(chain->os, file->file); /* no frame of the log is in it */
            file->file = NULL;
        }
    }
    mutex_unlock(chain->os, &chain->mutex);
}

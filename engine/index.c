#include "index.h"

#include "check.h"

#include <string.h>

enum {
    ROWS_FIRST = 64, /* doubled until it is enough: INDEX_ROWS_MAX is reached exactly */
    LINES_FIRST = 16,
    LINES_MAX = 1 << 26, /* so that nothing below can overflow */
};

STATIC_CHECK(sizeof(struct index_row) == 48, "a row is small");

void index_deinit(struct index *index) {
    os_release(index->os, index->rows, index->row_capacity * sizeof *index->rows);
    os_release(index->os, index->lines, index->line_capacity * sizeof *index->lines);
    *index = (struct index){.os = index->os};
}

static void lines_clear(struct index *index) {
    index->line_count = 0;
    for (uint32_t i = 0; i < index->line_capacity; i++)
        index->lines[i].first = INDEX_NO_ROW;
}

void index_begin(struct index *index, uint64_t first_lsn) {
    index->first_lsn = first_lsn;
    index->stretch_bytes = INDEX_STRETCH_BYTES;
    index->row_count = 0;
    lines_clear(index);
}

/* ---- Lines ---- */

/* The place of a line, or the free one where it belongs. */
static struct index_line *line_find(struct index_line *lines, uint32_t capacity, uint32_t queue,
                                    uint32_t priority) {
    const uint64_t key = (uint64_t)queue << 4 | priority;
    uint32_t at = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (capacity - 1);
    while (lines[at].first != INDEX_NO_ROW &&
           (lines[at].queue != queue || lines[at].priority != priority))
        at = (at + 1) & (capacity - 1);
    return &lines[at];
}

static pawl_status lines_grow(struct index *index, uint32_t need, pawl_error *error) {
    uint32_t capacity = index->line_capacity == 0 ? LINES_FIRST : index->line_capacity;
    while (capacity - capacity / 4 < need)
        capacity *= 2;
    if (capacity == index->line_capacity)
        return PAWL_OK;
    struct index_line *lines = os_allocate(index->os, capacity * sizeof *lines);
    if (lines == NULL)
        return error_set(error, PAWL_NO_MEMORY, "no memory for a segment's index");
    for (uint32_t i = 0; i < capacity; i++)
        lines[i].first = INDEX_NO_ROW;
    for (uint32_t i = 0; i < index->line_capacity; i++) {
        const struct index_line *line = &index->lines[i];
        if (line->first != INDEX_NO_ROW)
            *line_find(lines, capacity, line->queue, line->priority) = *line;
    }
    os_release(index->os, index->lines, index->line_capacity * sizeof *lines);
    index->lines = lines;
    index->line_capacity = capacity;
    return PAWL_OK;
}

static void line_append(struct index *index, uint32_t at) {
    struct index_row *row = &index->rows[at];
    struct index_line *line =
        line_find(index->lines, index->line_capacity, row->queue, row->priority);
    row->next = INDEX_NO_ROW;
    if (line->first == INDEX_NO_ROW) {
        *line = (struct index_line){row->queue, row->priority, at, at};
        index->line_count++;
    } else {
        index->rows[line->last].next = at;
        line->last = at;
    }
}

/* ---- Rows ---- */

/* How many rows so many queues and priorities may have (X3). More than one for each, so joining
 * always gets there. */
static uint32_t rows_most(uint32_t line_count) {
    return line_count > INDEX_ROWS_MAX / 2 ? line_count * 2 : INDEX_ROWS_MAX;
}

static pawl_status rows_grow(struct index *index, uint32_t need, pawl_error *error) {
    uint32_t capacity = index->row_capacity == 0 ? ROWS_FIRST : index->row_capacity;
    while (capacity < need)
        capacity *= 2;
    if (capacity == index->row_capacity)
        return PAWL_OK;
    struct index_row *rows = os_allocate(index->os, capacity * sizeof *rows);
    if (rows == NULL)
        return error_set(error, PAWL_NO_MEMORY, "no memory for a segment's index");
    if (index->row_count > 0)
        memcpy(rows, index->rows, index->row_count * sizeof *rows);
    os_release(index->os, index->rows, index->row_capacity * sizeof *rows);
    index->rows = rows;
    index->row_capacity = capacity;
    return PAWL_OK;
}

/* Joins each row with the one before it of its line, if both lie in one of the stretches that are
 * twice as long now. */
static void index_join(struct index *index) {
    uint32_t kept = 0;
    index->stretch_bytes *= 2;
    lines_clear(index);
    for (uint32_t i = 0; i < index->row_count; i++) {
        struct index_row row = index->rows[i];
        row.stretch /= 2;
        const struct index_line *line =
            line_find(index->lines, index->line_capacity, row.queue, row.priority);
        struct index_row *before = line->first == INDEX_NO_ROW ? NULL : &index->rows[line->last];
        if (before != NULL && before->stretch == row.stretch) {
            before->end_lsn = row.end_lsn;
            before->last_seq = row.last_seq;
            before->count += row.count;
            continue;
        }
        index->rows[kept] = row;
        line_append(index, kept++);
    }
    index->row_count = kept;
}

/* The joining is left to index_add(): so a reserve that fails has changed nothing, and rows are
 * joined for those that are added, not for those that might have been. */
pawl_status index_reserve(struct index *index, uint32_t more, pawl_error *error) {
    if (more > LINES_MAX - index->line_count)
        return error_set(error, PAWL_NO_MEMORY, "too many queues in one segment");
    TRY(lines_grow(index, index->line_count + more, error));
    const uint32_t most = rows_most(index->line_count + more);
    const uint32_t rows = index->row_count + more;
    return rows_grow(index, rows < most ? rows : most, error);
}

/* ---- Adding and finding ---- */

/* The row that a message of this queue and priority in a stretch belongs to; NULL: a new one. */
static struct index_row *row_of(struct index *index, uint32_t queue, uint32_t priority,
                                uint32_t stretch) {
    const struct index_line *line = line_find(index->lines, index->line_capacity, queue, priority);
    if (line->first == INDEX_NO_ROW || index->rows[line->last].stretch != stretch)
        return NULL;
    return &index->rows[line->last];
}

void index_add(struct index *index, uint64_t lsn, uint64_t end_lsn, uint32_t queue,
               uint32_t priority, uint64_t seq) {
    uint32_t stretch = (uint32_t)((lsn - index->first_lsn) / index->stretch_bytes);
    struct index_row *row = row_of(index, queue, priority, stretch);
    while (row == NULL && index->row_count >= rows_most(index->line_count)) {
        index_join(index);
        stretch /= 2;
        row = row_of(index, queue, priority, stretch);
    }
    if (row != NULL) {
        row->end_lsn = end_lsn;
        row->last_seq = seq;
        row->count++;
        return;
    }
    index->rows[index->row_count] = (struct index_row){
        .lsn = lsn,
        .end_lsn = end_lsn,
        .first_seq = seq,
        .last_seq = seq,
        .queue = queue,
        .count = 1,
        .priority = priority & 0xf,
        .stretch = stretch,
    };
    line_append(index, index->row_count++);
}

const struct index_row *index_find(const struct index *index, uint32_t queue, uint32_t priority,
                                   uint64_t seq) {
    if (index->line_capacity == 0)
        return NULL;
    uint32_t at = line_find(index->lines, index->line_capacity, queue, priority)->first;
    while (at != INDEX_NO_ROW && index->rows[at].last_seq < seq)
        at = index->rows[at].next;
    return at == INDEX_NO_ROW ? NULL : &index->rows[at];
}

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "index.h"
#include "prng.h"

enum {
    SEGMENT_BYTES = 64 * 1024 * 1024,
    FRAME_MESSAGES = 50,
};

/* ---- An os that has nothing but memory, which it counts and may refuse ---- */

struct memory {
    struct os os;
    size_t held_bytes;
    uint32_t left; /* how many more allocations succeed */
};

static void *allocate(struct os *os, size_t bytes) {
    struct memory *memory = (struct memory *)os;
    if (memory->left == 0)
        return NULL;
    memory->left--;
    memory->held_bytes += bytes;
    void *block = malloc(bytes);
    if (block != NULL)
        memset(block, 0xa5, bytes);
    return block;
}

static void release(struct os *os, void *block, size_t bytes) {
    ((struct memory *)os)->held_bytes -= bytes;
    free(block);
}

static const struct os_ops memory_ops = {.allocate = allocate, .release = release};

/* ---- An index, and a plain list of what was put in ---- */

struct message {
    uint64_t lsn, end_lsn;
    uint64_t seq;
    uint32_t queue, priority;
};

struct trial {
    struct memory memory;
    struct index index;
    struct prng prng;
    uint32_t queues, priorities;
    uint64_t message_bytes; /* at most */
    uint64_t lsn;
    uint64_t *seqs; /* the last one of each queue */
    struct message *messages;
    size_t count, capacity;
    unsigned joinings;
};

static void trial_begin(struct trial *trial, uint64_t seed, uint32_t queues, uint32_t priorities) {
    memset(trial, 0, sizeof *trial);
    trial->memory = (struct memory){.os.ops = &memory_ops, .left = UINT32_MAX};
    trial->index.os = &trial->memory.os;
    trial->prng = prng_stream(seed, queues);
    trial->queues = queues;
    trial->priorities = priorities;
    trial->message_bytes = 1000;
    trial->lsn = prng_below(&trial->prng, UINT64_C(1) << 50) * 8;
    trial->seqs = calloc(queues, sizeof *trial->seqs);
    cr_assert_not_null(trial->seqs);
    index_begin(&trial->index, trial->lsn);
}

static void trial_end(struct trial *trial) {
    index_deinit(&trial->index);
    cr_assert_eq(trial->memory.held_bytes, 0);
    cr_assert_null(trial->index.rows);
    cr_assert_null(trial->index.lines);
    free(trial->seqs);
    free(trial->messages);
}

/* X3. */
static bool rows_are_few(const struct index *index) {
    return index->row_count <= INDEX_ROWS_MAX || index->row_count <= 2 * index->line_count;
}

/* Both return what is wrong, or NULL. */

static const char *wrong_with_lines(const struct trial *trial) {
    const struct index *index = &trial->index;
    uint64_t messages = 0;
    uint32_t lines = 0, rows = 0;
    for (uint32_t i = 0; i < index->line_capacity; i++) {
        const struct index_line *line = &index->lines[i];
        if (line->first == INDEX_NO_ROW)
            continue;
        lines++;
        const struct index_row *before = NULL;
        for (uint32_t at = line->first; at != INDEX_NO_ROW; at = index->rows[at].next) {
            const struct index_row *row = &index->rows[at];
            if (row->queue != line->queue || row->priority != line->priority)
                return "a row in a strange line";
            if (row->first_seq > row->last_seq || row->lsn >= row->end_lsn || row->count == 0)
                return "a row that holds nothing";
            if (before != NULL && (before->last_seq >= row->first_seq ||
                                   before->end_lsn > row->lsn || before->stretch >= row->stretch))
                return "X2: rows that do not ascend";
            messages += row->count;
            rows++;
            before = row;
        }
        if (before != &index->rows[line->last])
            return "the last row is another";
        if (index_find(index, line->queue, line->priority, before->last_seq + 1) != NULL)
            return "a row is found for a seq beyond the last";
    }
    if (lines != index->line_count || rows != index->row_count || messages != trial->count)
        return "the rows' sum is not what was added";
    return rows_are_few(index) ? NULL : "X3: too many rows";
}

static const char *wrong_with_messages(const struct trial *trial, uint32_t *tally) {
    const struct index *index = &trial->index;
    for (size_t i = 0; i < trial->count; i++) {
        const struct message *message = &trial->messages[i];
        const struct index_row *row =
            index_find(index, message->queue, message->priority, message->seq);
        if (row == NULL || row->queue != message->queue || row->priority != message->priority)
            return "X1: no row";
        if (row->first_seq > message->seq || row->last_seq < message->seq)
            return "X1: a row that does not enclose the seq";
        if (row->lsn > message->lsn || row->end_lsn < message->end_lsn)
            return "X1: a row that does not enclose the frame";
        if (row->stretch != (message->lsn - index->first_lsn) / index->stretch_bytes)
            return "X1: a row of another stretch";
        if (row->first_seq == message->seq && row->lsn != message->lsn)
            return "a row that begins before its first message";
        if (row->last_seq == message->seq && row->end_lsn != message->end_lsn)
            return "a row that ends behind its last message";
        tally[row - index->rows]++;
    }
    for (uint32_t i = 0; i < index->row_count; i++) {
        if (tally[i] != index->rows[i].count)
            return "a row with a wrong count";
        if (i > 0 && index->rows[i].stretch < index->rows[i - 1].stretch)
            return "rows not by stretch";
    }
    return NULL;
}

static void trial_check(const struct trial *trial) {
    const char *wrong = wrong_with_lines(trial);
    cr_assert_null(wrong, "%s, after %zu messages", wrong, trial->count);
    uint32_t *tally = calloc(trial->index.row_count + 1, sizeof *tally);
    cr_assert_not_null(tally);
    wrong = wrong_with_messages(trial, tally);
    free(tally);
    cr_assert_null(wrong, "%s, after %zu messages", wrong, trial->count);
}

static uint32_t pairs_of(const struct message *messages, size_t count) {
    uint32_t pairs = 0;
    for (size_t i = 0; i < count; i++) {
        size_t j = 0;
        while (messages[j].queue != messages[i].queue ||
               messages[j].priority != messages[i].priority)
            j++;
        pairs += j == i;
    }
    return pairs;
}

static void remember(struct trial *trial, const struct message *message) {
    if (trial->count == trial->capacity) {
        trial->capacity = trial->capacity == 0 ? 1024 : trial->capacity * 2;
        trial->messages = realloc(trial->messages, trial->capacity * sizeof *trial->messages);
        cr_assert_not_null(trial->messages);
    }
    trial->messages[trial->count++] = *message;
}

/* Reserves for the frame as little as may be, then adds it with no memory to be had. */
static void add_frame(struct trial *trial, const struct message *messages, size_t count) {
    struct index *index = &trial->index;
    cr_assert_eq(index_reserve(index, pairs_of(messages, count), NULL), PAWL_OK);
    const uint32_t left = trial->memory.left;
    trial->memory.left = 0;
    for (size_t i = 0; i < count; i++) {
        const struct message *message = &messages[i];
        const uint64_t stretch_bytes = index->stretch_bytes;
        remember(trial, message);
        index_add(index, message->lsn, message->end_lsn, message->queue, message->priority,
                  message->seq);
        cr_assert_leq(index->row_count, index->row_capacity);
        cr_assert(rows_are_few(index), "%u rows", index->row_count);
        if (index->stretch_bytes != stretch_bytes) {
            trial->joinings++;
            trial_check(trial);
        }
    }
    trial->memory.left = left;
}

static void add_any_frame(struct trial *trial) {
    struct prng *prng = &trial->prng;
    struct message messages[FRAME_MESSAGES];
    const size_t count = prng_between(prng, 1, FRAME_MESSAGES);
    /* Now and then one frame is longer than a stretch or many. */
    uint64_t bytes = prng_chance(prng, 200) ? prng_below(prng, 1024 * 1024) / 8 * 8 : 48;
    const uint32_t of = prng_chance(prng, 50000) ? trial->queues : (trial->queues + 9) / 10;
    for (size_t i = 0; i < count; i++) {
        const uint32_t queue = (uint32_t)prng_below(prng, of);
        trial->seqs[queue] += prng_chance(prng, 5000) ? prng_between(prng, 1, 1000) : 1;
        messages[i] = (struct message){
            .seq = trial->seqs[queue],
            .queue = queue,
            .priority = (uint32_t)prng_below(prng, trial->priorities),
        };
        bytes += prng_between(prng, 8, trial->message_bytes / 8) * 8;
    }
    for (size_t i = 0; i < count; i++) {
        messages[i].lsn = trial->lsn;
        messages[i].end_lsn = trial->lsn + bytes;
    }
    trial->lsn += bytes;
    add_frame(trial, messages, count);
}

static void add_segment(struct trial *trial) {
    while (trial->lsn - trial->index.first_lsn < SEGMENT_BYTES)
        add_any_frame(trial);
}

/* ---- Tests ---- */

Test(index, a_row_is_a_queue_and_priority_in_a_stretch) {
    struct trial trial;
    trial_begin(&trial, 1, 1, 1);
    struct index *index = &trial.index;
    const uint64_t start = index->first_lsn;
    const uint64_t second = start + INDEX_STRETCH_BYTES;
    cr_assert_eq(index_reserve(index, 5, NULL), PAWL_OK);
    index_add(index, start + 96, start + 200, 7, 4, 10);
    index_add(index, start + 96, start + 200, 7, 9, 11);
    index_add(index, second - 8, second + 80, 7, 4, 15);
    index_add(index, second, second + 80, 7, 4, 16);
    index_add(index, second + 80, second + 160, 8, 4, 10);
    const struct index_row *row = index_find(index, 7, 4, 0);
    cr_assert_eq(row->first_seq, 10);
    cr_assert_eq(row->last_seq, 15);
    cr_assert_eq(row->count, 2);
    cr_assert_eq(row->lsn, start + 96);
    cr_assert_eq(row->end_lsn, second + 80, "where a frame begins is what counts");
    cr_assert_eq(index_find(index, 7, 4, 12), row, "it encloses what is not there");
    cr_assert_eq(index_find(index, 7, 4, 15), row);
    cr_assert_eq(index_find(index, 7, 4, 16), &index->rows[row->next]);
    cr_assert_eq(index_find(index, 7, 4, 16)->lsn, second);
    cr_assert_eq(index_find(index, 7, 4, 16)->next, INDEX_NO_ROW);
    cr_assert_null(index_find(index, 7, 4, 17));
    cr_assert_eq(index_find(index, 7, 9, 1)->first_seq, 11);
    cr_assert_null(index_find(index, 7, 5, 1));
    cr_assert_eq(index_find(index, 8, 4, 1)->lsn, second + 80);
    cr_assert_null(index_find(index, 9, 4, 1));
    trial_end(&trial);
}

Test(index, nothing_is_found_where_nothing_is) {
    struct index index = {0};
    cr_assert_null(index_find(&index, 1, 4, 0), "not even begun");
    struct trial trial;
    trial_begin(&trial, 1, 1, 1);
    cr_assert_null(index_find(&trial.index, 1, 4, 0));
    cr_assert_eq(index_reserve(&trial.index, 1, NULL), PAWL_OK);
    cr_assert_null(index_find(&trial.index, 1, 4, 0));
    trial_end(&trial);
}

Test(index, every_message_is_where_its_row_says) {
    static const struct {
        uint32_t queues, priorities;
        uint64_t message_bytes;
        unsigned joinings; /* at least */
    } kinds[] = {
        {1, 1, 4000, 0},     {1, 10, 2000, 1},   {3, 2, 3000, 1},
        {100, 1, 2000, 3},   {100, 10, 1000, 3}, {2000, 2, 1000, 3},
        {10000, 1, 1000, 3}, {10000, 3, 500, 3}, {2048, 1, 1000, 3},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct trial trial;
        trial_begin(&trial, 100 + i, kinds[i].queues, kinds[i].priorities);
        trial.message_bytes = kinds[i].message_bytes;
        add_segment(&trial);
        trial_check(&trial);
        cr_assert_geq(trial.joinings, kinds[i].joinings, "kind %zu", i);
        cr_assert_leq(trial.joinings, 11, "kind %zu: a stretch is the segment by then", i);
        trial_end(&trial);
    }
}

Test(index, memory_follows_the_queues_and_not_the_messages) {
    struct trial trial;
    trial_begin(&trial, 5, 1, 1);
    struct index *index = &trial.index;
    for (uint64_t seq = 1; seq <= 1000000; seq++) {
        const uint64_t end_lsn = trial.lsn + prng_between(&trial.prng, 10, 400) * 8;
        cr_assert_eq(index_reserve(index, 1, NULL), PAWL_OK);
        index_add(index, trial.lsn, end_lsn, 77, 4, seq);
        trial.lsn = end_lsn;
    }
    cr_assert_leq(trial.memory.held_bytes,
                  INDEX_ROWS_MAX * sizeof *index->rows + 16 * sizeof *index->lines);
    cr_assert_leq(index->row_count, INDEX_ROWS_MAX);
    uint64_t count = 0;
    for (uint32_t at = 0; at != INDEX_NO_ROW; at = index->rows[at].next)
        count += index->rows[at].count;
    cr_assert_eq(count, 1000000);
    trial_end(&trial);
}

/* Ids of queues that a careless hash would put in one place. */
Test(index, lines_of_any_ids_are_kept_apart) {
    for (unsigned shift = 0; shift <= 18; shift += 3) {
        struct trial trial;
        trial_begin(&trial, 6, 1, 1);
        for (uint32_t i = 0; i < 10000; i++) {
            const struct message message = {trial.lsn, trial.lsn + 80, i + 1, i << shift, i % 10};
            trial.lsn += 80;
            add_frame(&trial, &message, 1);
            cr_assert_lt(trial.index.line_count, trial.index.line_capacity, "a search ends");
            cr_assert_null(index_find(&trial.index, UINT32_MAX, 15, 0));
        }
        trial_check(&trial);
        cr_assert_eq(trial.index.line_count, 10000);
        trial_end(&trial);
    }
}

Test(index, one_that_begins_again_has_forgotten_all) {
    struct trial trial;
    trial_begin(&trial, 7, 50, 10);
    add_segment(&trial);
    cr_assert_gt(trial.joinings, 0);
    const size_t held_bytes = trial.memory.held_bytes;
    index_begin(&trial.index, trial.lsn);
    cr_assert_eq(trial.index.row_count, 0);
    cr_assert_eq(trial.index.line_count, 0);
    cr_assert_eq(trial.index.stretch_bytes, INDEX_STRETCH_BYTES);
    for (size_t i = 0; i < trial.count; i++)
        cr_assert_null(
            index_find(&trial.index, trial.messages[i].queue, trial.messages[i].priority, 0));
    trial.count = 0;
    trial.memory.left = 0;
    add_segment(&trial);
    trial_check(&trial);
    cr_assert_eq(trial.memory.held_bytes, held_bytes, "what it had is enough for as much");
    trial_end(&trial);
}

/* What an index says, in a block to be compared and freed. */
static void *contents(const struct index *index, size_t *ret_bytes) {
    const size_t rows_bytes = index->row_count * sizeof *index->rows;
    uint8_t *copy = malloc(rows_bytes + 3 * sizeof(uint64_t));
    cr_assert_not_null(copy);
    const uint64_t head[3] = {index->first_lsn, index->stretch_bytes, index->line_count};
    memcpy(copy, head, sizeof head);
    if (rows_bytes > 0)
        memcpy(copy + sizeof head, index->rows, rows_bytes);
    *ret_bytes = rows_bytes + sizeof head;
    return copy;
}

/* Reserves with so many allocations left. */
static pawl_status reserve_with(struct trial *trial, uint32_t left, uint32_t more) {
    size_t bytes = 0, bytes_then = 0;
    void *before = contents(&trial->index, &bytes);
    trial->memory.left = left;
    const pawl_status status = index_reserve(&trial->index, more, NULL);
    trial->memory.left = UINT32_MAX;
    void *then = contents(&trial->index, &bytes_then);
    cr_assert(bytes == bytes_then && memcmp(before, then, bytes) == 0,
              "reserving for %u with %u allocations has changed something", more, left);
    free(before);
    free(then);
    return status;
}

Test(index, reserving_changes_nothing_whether_it_fails_or_not) {
    static const uint32_t queues[] = {1, 30, 700, 5000};
    unsigned refused = 0, done = 0;
    for (size_t i = 0; i < sizeof queues / sizeof *queues; i++) {
        struct trial trial;
        trial_begin(&trial, 200 + i, queues[i], 3);
        cr_assert_eq(reserve_with(&trial, 0, 1), PAWL_NO_MEMORY);
        cr_assert_eq(reserve_with(&trial, 1, 1), PAWL_NO_MEMORY, "lines, but no rows");
        for (unsigned frame = 0; frame < 600; frame++) {
            const uint32_t more = (uint32_t)prng_between(&trial.prng, 1, 3000);
            for (uint32_t left = 0; left < 2 && frame % 20 == 19; left++) {
                const bool is_done = reserve_with(&trial, left, more) == PAWL_OK;
                refused += !is_done;
                done += is_done;
                trial_check(&trial);
            }
            add_any_frame(&trial);
        }
        trial_check(&trial);
        trial_end(&trial);
    }
    cr_assert_gt(refused, 10);
    cr_assert_gt(done, 10);
}

Test(index, more_queues_than_can_be_are_refused) {
    struct trial trial;
    trial_begin(&trial, 8, 10, 1);
    add_any_frame(&trial);
    cr_assert_eq(reserve_with(&trial, 0, UINT32_MAX), PAWL_NO_MEMORY);
    cr_assert_eq(reserve_with(&trial, 0, UINT32_MAX / 2 + 1), PAWL_NO_MEMORY);
    cr_assert_eq(reserve_with(&trial, 2, UINT32_MAX - 50), PAWL_NO_MEMORY);
    trial_check(&trial);
    trial_end(&trial);
}

#include "log_world.h"

#include "chain.h"

enum { NUMBERS = 60, PAYLOAD = 300 };

static struct image image;
static struct os_dir *dir;
static struct identity identity;

static void set_up_many_segments(void) {
    set_up();
    struct log *log = must_open_log(SMALL_SEGMENT);
    for (uint64_t number = 1; number <= NUMBERS; number++)
        (void)must_append_durably(log, number, PAYLOAD);
    must_close(log);
    image_take(&image);
    identity = image_identity(&image);
    char path[700];
    join(path, sizeof path, store, "/", "log");
    cr_assert_eq(os_dir_open(os, path, OS_OPEN_READ, &dir), 0);
}

static void tear_down_many_segments(void) {
    os_dir_close(os, dir);
    image_drop(&image);
    tear_down();
}

/* The chain's entries against the start frames in the files. */
static void must_be_in_order(const struct chain *chain, uint64_t newest) {
    cr_assert_eq(chain->count, newest, "a log without a cut uses every ordinal");
    for (size_t i = 0; i < chain->count; i++) {
        const struct chain_entry *entry = &chain->entries[i];
        const struct image_file *file = image_segment(&image, i + 1);
        cr_assert_eq(entry->ordinal, i + 1);
        cr_assert_eq(entry->first_lsn, bytes_load_u64(file->bytes + SEGMENT_DATA_AT));
        cr_assert_eq(entry->end_lsn,
                     i + 1 < chain->count ? chain->entries[i + 1].first_lsn : CHAIN_END_OPEN);
    }
    cr_assert_eq(chain->entries[0].first_lsn, SEGMENT_FIRST_LSN);
}

Test(chain, is_read_backwards_from_the_active_segment, .init = set_up_many_segments,
     .fini = tear_down_many_segments) {
    const uint64_t newest = image_newest_used(&image);
    cr_assert_geq(newest, 5);
    for (uint64_t active = 1; active <= newest; active++) {
        struct chain chain;
        chain_init(&chain, os, dir, &identity);
        cr_assert_eq(chain_load(&chain, active, NULL), PAWL_OK);
        must_be_in_order(&chain, active);
        cr_assert_eq(chain_last(&chain).ordinal, active);
        chain_deinit(&chain);
    }
}

Test(chain, follows_to_segments_begun_since, .init = set_up_many_segments,
     .fini = tear_down_many_segments) {
    const uint64_t newest = image_newest_used(&image);
    struct chain chain;
    chain_init(&chain, os, dir, &identity);
    cr_assert_eq(chain_load(&chain, 1, NULL), PAWL_OK);
    cr_assert_eq(chain_follow(&chain, 1, NULL), PAWL_OK, "nothing new");
    cr_assert_eq(chain_follow(&chain, 3, NULL), PAWL_OK);
    must_be_in_order(&chain, 3);
    cr_assert_eq(chain_follow(&chain, newest, NULL), PAWL_OK);
    must_be_in_order(&chain, newest);
    pawl_error error;
    cr_assert_eq(chain_follow(&chain, newest + 1, &error), PAWL_DAMAGED, "a herald has no start");
    chain_deinit(&chain);
}

Test(chain, finds_the_segment_of_every_position, .init = set_up_many_segments,
     .fini = tear_down_many_segments) {
    const uint64_t newest = image_newest_used(&image);
    struct chain chain;
    struct chain_entry found = {.ordinal = 77};
    chain_init(&chain, os, dir, &identity);
    cr_assert_eq(chain_load(&chain, newest, NULL), PAWL_OK);
    cr_assert(!chain_find(&chain, 0, &found));
    cr_assert(!chain_find(&chain, SEGMENT_FIRST_LSN - 1, &found));
    cr_assert_eq(found.ordinal, 77, "untouched");
    for (size_t i = 0; i < chain.count; i++) {
        const struct chain_entry entry = chain.entries[i];
        cr_assert(chain_find(&chain, entry.first_lsn, &found));
        cr_assert_eq(found.ordinal, entry.ordinal);
        cr_assert(chain_find(&chain, entry.end_lsn - 1, &found));
        cr_assert_eq(found.ordinal, entry.ordinal);
        cr_assert_eq(chain_offset(&entry, entry.first_lsn), SEGMENT_DATA_AT);
        cr_assert_eq(chain_count_beyond(&chain, entry.first_lsn), chain.count - i);
    }
    cr_assert_eq(chain_count_beyond(&chain, chain.entries[1].first_lsn - 1), chain.count);
    chain_deinit(&chain);
}

static void must_miss(uint64_t active, const char *name) {
    struct chain chain;
    pawl_error error = {0};
    chain_init(&chain, os, dir, &identity);
    cr_assert_eq(chain_load(&chain, active, &error), PAWL_DAMAGED);
    cr_assert_str_eq(error.file, name);
    chain_deinit(&chain);
}

Test(chain, says_which_segment_is_missing_or_spoiled, .init = set_up_many_segments,
     .fini = tear_down_many_segments) {
    const uint64_t newest = image_newest_used(&image);
    cr_assert_eq(os_unlink(os, dir, "0000000003.seg"), 0);
    must_miss(newest, "0000000003.seg");
    must_miss(3, "0000000003.seg");
    must_miss(0, "0000000000.seg");
    struct os_file *file = NULL;
    cr_assert_eq(os_file_open(os, dir, "0000000004.seg", OS_OPEN_READ | OS_OPEN_WRITE, &file), 0);
    cr_assert_eq(os_file_write(os, file, "x", 1, SEGMENT_DATA_AT + 70), 0);
    (void)os_file_close(os, file);
    must_miss(newest, "0000000004.seg");
}

Test(chain, holds_a_file_once_for_all_who_use_it, .init = set_up_many_segments,
     .fini = tear_down_many_segments) {
    struct chain chain;
    struct os_file *first = NULL, *again = NULL, *other = NULL;
    chain_init(&chain, os, dir, &identity);
    cr_assert_eq(chain_load(&chain, 3, NULL), PAWL_OK);
    cr_assert_eq(chain_hold(&chain, 1, 0, &first, NULL), PAWL_OK);
    cr_assert_eq(chain_hold(&chain, 1, 0, &again, NULL), PAWL_OK);
    cr_assert_eq(chain_hold(&chain, 2, 0, &other, NULL), PAWL_OK);
    cr_assert_eq(first, again);
    cr_assert_neq(first, other);
    chain_let_go(&chain, first);
    chain_let_go(&chain, again);
    chain_let_go(&chain, other);
    cr_assert_eq(chain_hold(&chain, 1, 0, &again, NULL), PAWL_OK);
    cr_assert_eq(first, again, "it stays open for the next");
    chain_let_go(&chain, again);
    pawl_error error = {0};
    cr_assert_eq(chain_hold(&chain, 99, 0, &other, &error), PAWL_DAMAGED);
    cr_assert_str_eq(error.file, "0000000099.seg");
    chain_deinit(&chain);
}

/* Enough segments, all alike, for more than the chain keeps open. */
static void make_segments(uint64_t count) {
    uint8_t frame[SEGMENT_START_FRAME_BYTES];
    for (uint64_t ordinal = 1; ordinal <= count; ordinal++) {
        struct segment_header header = {.ordinal = ordinal};
        memcpy(header.uuid, identity.uuid, sizeof header.uuid);
        cr_assert_eq(segment_make(os, dir, &header, identity.secret, 4096, NULL), PAWL_OK);
        const struct segment_start start = {ordinal - 1, SEGMENT_FIRST_LSN + (ordinal - 1) * 4096};
        (void)segment_start_frame(&start, ordinal, identity.secret, 0, 0, frame);
        char name[SEGMENT_NAME_BYTES];
        struct os_file *file = NULL;
        segment_name(ordinal, name);
        cr_assert_eq(os_file_open(os, dir, name, OS_OPEN_READ | OS_OPEN_WRITE, &file), 0);
        cr_assert_eq(os_file_write(os, file, frame, sizeof frame, SEGMENT_DATA_AT), 0);
        (void)os_file_close(os, file);
    }
}

Test(chain, closes_only_what_is_durable_and_unused, .init = set_up_many_segments,
     .fini = tear_down_many_segments) {
    enum { MORE = CHAIN_FILES + 2 };
    struct chain chain;
    struct os_file *files[MORE] = {NULL};
    make_segments(MORE);
    chain_init(&chain, os, dir, &identity);
    cr_assert_eq(chain_load(&chain, MORE, NULL), PAWL_OK);
    for (uint64_t i = 0; i < CHAIN_FILES; i++)
        cr_assert_eq(chain_hold(&chain, i + 1, 0, &files[i], NULL), PAWL_OK);
    const uint64_t all = chain.entries[MORE - 1].first_lsn;
    cr_assert_eq(chain_hold(&chain, CHAIN_FILES + 1, all, &files[CHAIN_FILES], NULL), PAWL_BUSY,
                 "all are in use");
    chain_let_go(&chain, files[4]);
    chain_let_go(&chain, files[9]);
    cr_assert_eq(chain_hold(&chain, CHAIN_FILES + 1, 0, &files[CHAIN_FILES], NULL), PAWL_BUSY,
                 "what is not durable stays open");
    const uint64_t to_ten = chain.entries[9].end_lsn;
    cr_assert_eq(chain_hold(&chain, CHAIN_FILES + 1, to_ten - 8, &files[CHAIN_FILES], NULL),
                 PAWL_OK, "the fifth is durable");
    cr_assert_eq(chain_hold(&chain, CHAIN_FILES + 2, to_ten - 8, &files[CHAIN_FILES + 1], NULL),
                 PAWL_BUSY, "the tenth is not, but for a byte");
    cr_assert_eq(chain_hold(&chain, CHAIN_FILES + 2, to_ten, &files[CHAIN_FILES + 1], NULL),
                 PAWL_OK);
    for (size_t i = 0; i < MORE; i++) {
        if (i != 4 && i != 9)
            chain_let_go(&chain, files[i]);
    }
    chain_deinit(&chain);
}

static enum chain_start start_of(uint64_t ordinal, struct segment_start *ret_start) {
    char name[SEGMENT_NAME_BYTES];
    struct os_file *file = NULL;
    struct frame_header header;
    enum chain_start verdict = CHAIN_START_WRONG;
    segment_name(ordinal, name);
    cr_assert_eq(os_file_open(os, dir, name, OS_OPEN_READ | OS_OPEN_WRITE, &file), 0);
    cr_assert_eq(
        chain_read_start(os, file, ordinal, identity.secret, &verdict, &header, ret_start, NULL),
        PAWL_OK);
    (void)os_file_close(os, file);
    return verdict;
}

Test(chain_start, is_whole_none_or_wrong, .init = set_up_many_segments,
     .fini = tear_down_many_segments) {
    const uint64_t newest = image_newest_used(&image);
    struct segment_start start = {.predecessor = 99, .end_lsn = 99};
    cr_assert_eq(start_of(newest + 1, &start), CHAIN_START_NONE, "a herald");
    cr_assert_eq(start.predecessor, 99, "untouched");
    cr_assert_eq(start_of(2, &start), CHAIN_START_WHOLE);
    cr_assert_eq(start.predecessor, 1);
    struct os_file *file = NULL;
    cr_assert_eq(os_file_open(os, dir, "0000000002.seg", OS_OPEN_READ | OS_OPEN_WRITE, &file), 0);
    uint8_t frame[SEGMENT_START_FRAME_BYTES];
    size_t read;
    cr_assert_eq(os_file_read(os, file, frame, sizeof frame, SEGMENT_DATA_AT, &read), 0);
    for (size_t at = 0; at < sizeof frame; at++) {
        const uint8_t wrong = (uint8_t)(frame[at] ^ 0x20);
        cr_assert_eq(os_file_write(os, file, &wrong, 1, SEGMENT_DATA_AT + at), 0);
        cr_assert_eq(start_of(2, &start), CHAIN_START_WRONG, "byte %zu", at);
        cr_assert_eq(os_file_write(os, file, &frame[at], 1, SEGMENT_DATA_AT + at), 0);
    }
    cr_assert_eq(start_of(2, &start), CHAIN_START_WHOLE);
    cr_assert_eq(os_file_truncate(os, file, SEGMENT_DATA_AT + sizeof frame - 1), 0);
    cr_assert_eq(start_of(2, &start), CHAIN_START_WRONG, "a byte is missing");
    cr_assert_eq(os_file_truncate(os, file, SEGMENT_DATA_AT), 0);
    cr_assert_eq(start_of(2, &start), CHAIN_START_NONE);
    (void)os_file_close(os, file);
}

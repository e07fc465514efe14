/* What a look at a store says, held against what an opening says and what the second reader says,
 * over every damage that the tests can think of.
 */
#include "verify_world.h"

#include "../oracle/reader.h"

enum {
    FLIP_STEP = 29, /* no divisor of what a format is made of, so that every field has its turn */
    CUT_STEP = 83,
    SECTOR = 512,
};

static pawl_status open_and_close(uint64_t *ret_tail) {
    struct log_options options = options_of(SMALL_SEGMENT);
    struct log *log;
    struct log_opening opening;
    options.create = false;
    const pawl_status status = try_open(&options, &log, &opening, NULL);
    if (status == PAWL_OK) {
        *ret_tail = log_tail(log);
        must_close(log);
    }
    return status;
}

/* Counts, so that a test can tell that it met what it was made for. */
static unsigned opened_count, refused_count, inside_count;

/* The three must agree about what the directory of the store holds. */
static void judge(const struct image *image, const char *what, size_t which, uint64_t at) {
    image_put(image);
    const struct reader_result reader = reader_read_store(store);
    const struct seen seen = look();
    uint64_t tail = 0;
    const pawl_status opened = open_and_close(&tail);
    const char *name = which < image->count ? image->files[which].name : "";
    const bool must_refuse = reader.verdict == READER_DAMAGED;
    cr_assert_eq(seen.status, PAWL_OK, "%s %s %llu", what, name, (unsigned long long)at);
    cr_assert_eq(opened, must_refuse ? PAWL_DAMAGED : PAWL_OK,
                 "%s %s %llu: opening says %s, the second reader %s (%s)", what, name,
                 (unsigned long long)at, status_name(opened), reader_verdict_name(reader.verdict),
                 reader.why);
    cr_assert_eq(seen.report.found[WALK_DAMAGE] > 0, reader.verdict != READER_OK,
                 "%s %s %llu: verify says %s, the second reader %s (%s)", what, name,
                 (unsigned long long)at, seen.report.found[WALK_DAMAGE] > 0 ? seen.what : "whole",
                 reader_verdict_name(reader.verdict), reader.why);
    if (!must_refuse) {
        cr_assert_eq(tail, reader.end_lsn, "%s %s %llu", what, name, (unsigned long long)at);
        cr_assert_eq(seen.report.tail_lsn, reader.end_lsn, "%s %s %llu", what, name,
                     (unsigned long long)at);
    }
    if (reader.verdict == READER_OK) {
        cr_assert_eq(seen.visited, reader.frames, "%s %s %llu: %llu frames, not %llu", what, name,
                     (unsigned long long)at, (unsigned long long)seen.visited,
                     (unsigned long long)reader.frames);
        cr_assert(!seen.has_hole);
    }
    opened_count += !must_refuse;
    refused_count += must_refuse;
    inside_count += reader.verdict == READER_DAMAGED_INSIDE;
}

static size_t used_bytes(const struct image_file *file) {
    size_t used = file->count;
    while (used > 0 && file->bytes[used - 1] == 0)
        used--;
    return used;
}

static void judge_flips(void) {
    for (size_t i = 0; i < whole.count; i++) {
        if (!is_segment(&whole.files[i]))
            continue;
        const size_t used = used_bytes(&whole.files[i]);
        size_t at = 0;
        while (at < used + SECTOR && at < whole.files[i].count) {
            image_copy(&changed, &whole);
            changed.files[i].bytes[at] ^= (uint8_t)(1U << at % 8);
            judge(&changed, "flip", i, at);
            at += FLIP_STEP;
            if (at > 64 && at < SEGMENT_DATA_AT)
                at = SEGMENT_DATA_AT + at % FLIP_STEP; /* nothing is read in between */
        }
    }
}

static void judge_cuts(void) {
    for (size_t i = 0; i < whole.count; i++) {
        if (!is_segment(&whole.files[i]))
            continue;
        for (size_t bytes = 0; bytes < whole.files[i].count;
             bytes += bytes < SEGMENT_DATA_AT ? SECTOR : CUT_STEP) {
            image_copy(&changed, &whole);
            changed.files[i].count = bytes;
            judge(&changed, "cut", i, bytes);
        }
    }
}

static void judge_lost_sectors(void) {
    for (size_t i = 0; i < whole.count; i++) {
        if (!is_segment(&whole.files[i]))
            continue;
        const size_t used = used_bytes(&whole.files[i]);
        for (size_t at = 0; at < used; at += SECTOR) {
            image_copy(&changed, &whole);
            const size_t left = whole.files[i].count - at;
            memset(changed.files[i].bytes + at, 0, left < SECTOR ? left : SECTOR);
            judge(&changed, "lost sector", i, at);
        }
    }
}

Test(verify, agrees_with_opening_on_flipped_bits_of_a_closed_store, .init = set_up_in_memory,
     .fini = tear_down_images) {
    take_store(true);
    judge_flips();
    cr_assert_gt(opened_count, 10);
    cr_assert_gt(refused_count, 10);
    cr_assert_gt(inside_count, 10);
}

Test(verify, agrees_with_opening_on_flipped_bits_of_a_killed_store, .init = set_up_in_memory,
     .fini = tear_down_images) {
    take_store(false);
    judge_flips();
    cr_assert_gt(opened_count, 10);
    cr_assert_gt(refused_count, 10);
}

Test(verify, agrees_with_opening_on_cut_files, .init = set_up_in_memory, .fini = tear_down_images) {
    take_store(true);
    judge_cuts();
    cr_assert_gt(refused_count, 10);
}

Test(verify, agrees_with_opening_on_cut_files_of_a_killed_store, .init = set_up_in_memory,
     .fini = tear_down_images) {
    take_store(false);
    judge_cuts();
    cr_assert_gt(opened_count, 10);
    cr_assert_gt(refused_count, 10);
}

Test(verify, agrees_with_opening_on_lost_sectors, .init = set_up_in_memory,
     .fini = tear_down_images) {
    take_store(true);
    judge_lost_sectors();
    image_drop(&whole);
    remove_tree(store);
    take_store(false);
    judge_lost_sectors();
    cr_assert_gt(opened_count, 1);
    cr_assert_gt(refused_count, 10);
}

Test(verify, agrees_with_opening_on_files_gone_renamed_swapped_and_copied, .init = set_up_in_memory,
     .fini = tear_down_images) {
    for (int is_closed = 0; is_closed <= 1; is_closed++) {
        image_drop(&whole);
        remove_tree(store);
        take_store(is_closed != 0);
        for (size_t i = 0; i < whole.count; i++) {
            if (!is_segment(&whole.files[i]))
                continue;
            image_copy(&changed, &whole);
            image_remove(&changed, &changed.files[i]);
            judge(&changed, "gone", i, 0);
            image_copy(&changed, &whole);
            image_rename(&changed.files[i], 40);
            judge(&changed, "renamed", i, 40);
            image_copy(&changed, &whole);
            image_set(&changed, "log/0000000041.seg", whole.files[i].bytes, whole.files[i].count);
            judge(&changed, "doubled", i, 41);
            for (size_t j = 0; j < whole.count; j++) {
                if (j == i || !is_segment(&whole.files[j]))
                    continue;
                image_copy(&changed, &whole);
                memcpy(changed.files[i].name, whole.files[j].name, sizeof whole.files[j].name);
                memcpy(changed.files[j].name, whole.files[i].name, sizeof whole.files[i].name);
                judge(&changed, "swapped", i, j);
            }
        }
    }
    cr_assert_gt(refused_count, 20);
}

Test(verify, agrees_with_opening_on_files_replaced_by_their_older_selves, .init = set_up_in_memory,
     .fini = tear_down_images) {
    static struct image older;
    struct log *log = must_open_log(SMALL_SEGMENT);
    for (uint64_t number = 1; number <= FRAMES / 2; number++)
        (void)must_append_durably(log, number, PAYLOAD);
    image_take(&older);
    for (uint64_t number = 1; number <= FRAMES / 2; number++)
        (void)must_append_durably(log, number, PAYLOAD);
    must_close(log);
    image_take(&whole);
    for (size_t i = 0; i < whole.count; i++) {
        const struct image_file *was = image_find(&older, whole.files[i].name);
        if (!is_segment(&whole.files[i]) || was == NULL)
            continue;
        image_copy(&changed, &whole);
        image_remove(&changed, &changed.files[i]);
        image_set(&changed, was->name, was->bytes, was->count);
        judge(&changed, "older", changed.count - 1, 0);
    }
    image_drop(&older);
    cr_assert_gt(refused_count, 0);
}

static void must_be_the_same(const struct image *before) {
    image_take(&changed);
    cr_assert_eq(changed.count, before->count);
    for (size_t i = 0; i < before->count; i++) {
        const struct image_file *file = image_find(&changed, before->files[i].name);
        cr_assert_not_null(file);
        cr_assert_eq(file->count, before->files[i].count);
        cr_assert_eq(memcmp(file->bytes, before->files[i].bytes, file->count), 0);
    }
}

Test(verify, changes_no_byte, .init = set_up_in_memory, .fini = tear_down_images) {
    take_store(false);
    image_put(&whole);
    cr_assert_eq(look().status, PAWL_OK);
    must_be_the_same(&whole);
}

Test(verify, names_the_place_of_a_damage_and_goes_on_behind_it, .init = set_up_in_memory,
     .fini = tear_down_images) {
    take_store(true);
    const struct seen before = look();
    cr_assert_eq(before.report.found[WALK_DAMAGE], 0);
    image_copy(&changed, &whole);
    struct image_file *second = image_segment(&changed, 2);
    const size_t start_bytes = SEGMENT_START_FRAME_BYTES;
    second->bytes[SEGMENT_DATA_AT + start_bytes + 20] ^= 1; /* in a header */
    image_put(&changed);
    const struct seen seen = look();
    cr_assert_eq(seen.report.found[WALK_DAMAGE], 1);
    cr_assert_eq(seen.ordinal, 2);
    cr_assert_eq(seen.offset, SEGMENT_DATA_AT + start_bytes);
    cr_assert_eq(seen.visited, before.visited - 1);
    cr_assert_eq(seen.report.tail_lsn, before.report.tail_lsn);
}

Test(verify, shows_what_is_whole_around_a_missing_segment, .init = set_up_in_memory,
     .fini = tear_down_images) {
    take_store(true);
    const struct seen before = look();
    image_copy(&changed, &whole);
    image_remove(&changed, image_segment(&changed, 2));
    image_put(&changed);
    const struct seen seen = look();
    cr_assert_eq(seen.report.found[WALK_DAMAGE], 1);
    cr_assert_eq(seen.ordinal, 2);
    cr_assert(seen.has_hole);
    cr_assert_eq(seen.next_lsn, before.next_lsn, "what stands behind the hole is shown");
}

Test(verify, tells_of_a_copy_of_identity_that_is_not_whole, .init = set_up_in_memory,
     .fini = tear_down_images) {
    take_store(true);
    for (size_t at = 0; at < IDENTITY_BYTES; at += OS_SECTOR_BYTES) {
        image_copy(&changed, &whole);
        image_find(&changed, IDENTITY_NAME)->bytes[at + 20] ^= 4;
        image_put(&changed);
        const struct seen seen = look();
        cr_assert_eq(seen.report.found[WALK_DAMAGE], 1);
        cr_assert_eq(seen.ordinal, 0);
        cr_assert_eq(seen.offset, at);
    }
}

/* Each copy whole, one of them another store's: an opening refuses, a look reads what is there. */
Test(verify, tells_of_copies_of_identity_that_differ, .init = set_up_in_memory,
     .fini = tear_down_images) {
    take_store(true);
    const struct seen before = look();
    image_copy(&changed, &whole);
    remove_tree(store);
    must_close(must_open_log(SMALL_SEGMENT));
    image_drop(&whole);
    image_take(&whole);
    const struct image_file *other = image_find(&whole, IDENTITY_NAME);
    struct image_file *identity = image_find(&changed, IDENTITY_NAME);
    uint8_t own[IDENTITY_BYTES];
    memcpy(own, identity->bytes, sizeof own);
    for (size_t at = 0; at < IDENTITY_BYTES; at += OS_SECTOR_BYTES) {
        uint64_t tail;
        memcpy(identity->bytes, own, sizeof own);
        memcpy(identity->bytes + at, other->bytes, OS_SECTOR_BYTES);
        image_put(&changed);
        const struct seen seen = look();
        cr_assert_eq(seen.status, PAWL_OK);
        cr_assert_eq(seen.report.found[WALK_DAMAGE], 1, "%s: %s", seen.file, seen.what);
        cr_assert_str_eq(seen.file, IDENTITY_NAME);
        cr_assert_eq(seen.visited, before.visited);
        cr_assert_eq(reader_read_store(store).verdict, READER_DAMAGED);
        cr_assert_eq(open_and_close(&tail), PAWL_DAMAGED);
    }
}

Test(verify, tells_of_an_identity_that_is_lost, .init = set_up_in_memory,
     .fini = tear_down_images) {
    take_store(true);
    struct image_file *identity = image_find(&whole, IDENTITY_NAME);
    memset(identity->bytes, 0, identity->count);
    image_put(&whole);
    struct seen seen = look();
    cr_assert_eq(seen.status, PAWL_OK);
    cr_assert_eq(seen.report.found[WALK_DAMAGE], 1);
    identity->name[0] = 'x';
    image_put(&whole);
    seen = look();
    cr_assert_eq(seen.status, PAWL_OK, "missing");
    cr_assert_eq(seen.report.found[WALK_DAMAGE], 1);
    cr_assert(strstr(seen.what, "missing") != NULL, "%s", seen.what);
}

Test(verify, finds_no_store_where_there_is_none, .init = set_up_in_memory,
     .fini = tear_down_images) {
    struct verify *verify = NULL;
    cr_assert_eq(verify_open(os, store, &verify, NULL), PAWL_NO_STORE);
    cr_assert_eq(mkdir(store, 0700), 0);
    cr_assert_eq(verify_open(os, store, &verify, NULL), PAWL_NO_STORE);
    cr_assert_null(verify);
}

Test(verify, takes_a_copy_of_identity_that_was_never_finished_for_no_damage,
     .init = set_up_in_memory, .fini = tear_down_images) {
    take_store(true);
    struct image_file *identity = image_find(&whole, IDENTITY_NAME);
    memset(identity->bytes + OS_SECTOR_BYTES + 17, 0, OS_SECTOR_BYTES - 17);
    image_put(&whole);
    const struct seen seen = look();
    cr_assert_eq(seen.report.found[WALK_DAMAGE], 0);
    cr_assert_eq(seen.report.found[WALK_NOTE], 1);
}

Test(verify, lists_strangers, .init = set_up_in_memory, .fini = tear_down_images) {
    take_store(true);
    image_set(&whole, "log/notes.txt", "hello", 5);
    image_put(&whole);
    const struct seen seen = look();
    cr_assert_eq(seen.report.found[WALK_DAMAGE], 0);
    cr_assert_eq(seen.report.found[WALK_NOTE], 1);
}

Test(verify, starts_where_it_is_told, .init = set_up_in_memory, .fini = tear_down_images) {
    take_store(true);
    const struct seen all = look();
    const struct verify_options from = {.from_lsn = all.report.tail_lsn / 2};
    const struct seen seen = look_with(&from);
    cr_assert_eq(seen.status, PAWL_OK);
    cr_assert_gt(seen.visited, 0);
    cr_assert_lt(seen.visited, all.visited);
    cr_assert_eq(seen.next_lsn, all.next_lsn);
    const struct verify_options behind = {.from_lsn = all.report.tail_lsn};
    cr_assert_eq(look_with(&behind).visited, 0);
}

/* A store in use. */

static void write_at(uint64_t ordinal, uint64_t offset, const void *bytes, size_t count) {
    char name[64], path[1024], bare[SEGMENT_NAME_BYTES];
    segment_name(ordinal, bare);
    join(name, sizeof name, "log/", "", bare);
    join(path, sizeof path, store, "/", name);
    FILE *file = fopen(path, "r+b");
    cr_assert_not_null(file);
    cr_assert_eq(fseek(file, (long)offset, SEEK_SET), 0);
    cr_assert_eq(fwrite(bytes, 1, count, file), count);
    cr_assert_eq(fclose(file), 0);
}

Test(verify, takes_a_tail_in_flux_for_no_damage, .init = set_up_in_memory,
     .fini = tear_down_images) {
    struct log *log = must_open_log(LARGE_SEGMENT);
    const struct place last = must_append_durably(log, 1, PAYLOAD);
    const uint64_t offset = SEGMENT_DATA_AT + last.end_lsn - SEGMENT_FIRST_LSN;
    static const uint8_t junk[200] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    write_at(1, offset, junk, sizeof junk);
    const struct seen seen = look();
    cr_assert(seen.report.is_in_use);
    cr_assert_eq(seen.report.found[WALK_DAMAGE], 0, "%s", seen.what);
    cr_assert_eq(seen.report.tail_lsn, last.end_lsn);
    cr_assert_eq(seen.report.durable_lsn, last.end_lsn);
    cr_assert_eq(seen.visited, 2);
    must_close(log);
}

Test(verify, finds_damage_below_the_tail_of_a_store_in_use, .init = set_up_in_memory,
     .fini = tear_down_images) {
    struct log *log = must_open_log(LARGE_SEGMENT);
    const struct place first = must_append_durably(log, 1, PAYLOAD);
    const struct place last = must_append(log, 2, PAYLOAD);
    const uint64_t places[] = {first.lsn + 30, first.lsn + 100, last.lsn + 30, last.lsn + 100};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const uint64_t offset = SEGMENT_DATA_AT + places[i] - SEGMENT_FIRST_LSN;
        image_take(&whole);
        const uint8_t was = image_segment(&whole, 1)->bytes[offset];
        const uint8_t flipped = was ^ 0x10;
        write_at(1, offset, &flipped, 1);
        const struct seen seen = look();
        cr_assert_eq(seen.report.found[WALK_DAMAGE], 1, "place %zu", i);
        cr_assert_eq(seen.ordinal, 1);
        write_at(1, offset, &was, 1);
        image_drop(&whole);
        cr_assert_eq(look().report.found[WALK_DAMAGE], 0);
    }
    must_close(log);
}

Test(verify, follows_into_new_segments, .init = set_up_in_memory, .fini = tear_down_images) {
    struct log *log = must_open_log(SMALL_SEGMENT);
    (void)must_append(log, 1, PAYLOAD);
    struct seen seen = {0};
    struct verify *verify;
    const struct verify_options options = {.is_full = false};
    const struct walk_visitor visitor = {&seen, see_frame, see_finding};
    cr_assert_eq(verify_open(os, store, &verify, NULL), PAWL_OK);
    cr_assert_eq(verify_run(verify, &options, &visitor, &seen.report, NULL), PAWL_OK);
    cr_assert_eq(seen.visited, 2);
    for (uint64_t number = 2; number <= FRAMES; number++) {
        (void)must_append(log, number, PAYLOAD);
        if (number % 5 == 0) {
            cr_assert_eq(verify_follow(verify, NULL), PAWL_OK);
            cr_assert_eq(seen.next_lsn, log_tail(log));
        }
    }
    cr_assert(!seen.has_hole);
    cr_assert_eq(verify_follow(verify, NULL), PAWL_OK);
    cr_assert_eq(seen.what[0], '\0', "%s", seen.what);
    verify_close(verify);
    must_close(log);
}

Test(verify, ends_when_its_visitor_says_so, .init = set_up_in_memory, .fini = tear_down_images) {
    take_store(true);
    struct verify *verify;
    struct verify_report report;
    const struct verify_options options = {.is_full = true};
    const struct walk_visitor deaf = {0};
    cr_assert_eq(verify_open(os, store, &verify, NULL), PAWL_OK);
    cr_assert_eq(verify_run(verify, &options, &deaf, &report, NULL), PAWL_OK);
    cr_assert_eq(report.found[WALK_DAMAGE], 0);
    cr_assert_gt(report.frames, FRAMES);
    cr_assert_geq(report.records, FRAMES);
    verify_close(verify);
}

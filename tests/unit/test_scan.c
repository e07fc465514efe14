#include "log_world.h"

#include "hash.h"
#include "scan.h"

#include <sys/stat.h>

static struct image image;

static void tear_down_image(void) {
    image_drop(&image);
    tear_down();
}

/* An image of a store whose numbers 1 to `count` are durable, each before the next was appended.
 * The last one's place is told. As the death of its process leaves it, or closed. */
static struct place take_store(uint64_t segment_bytes, uint64_t count, uint32_t payload_bytes,
                               bool is_closed) {
    struct log *log = must_open_log(segment_bytes);
    struct place last = {0};
    for (uint64_t number = 1; number <= count; number++)
        last = must_append_durably(log, number, payload_bytes);
    if (!is_closed)
        image_take(&image);
    must_close(log);
    if (is_closed)
        image_take(&image);
    return last;
}

/* What a look at the image finds. */
struct found {
    pawl_status status;
    enum recovery_row row;
    uint64_t end_lsn, torn_bytes, later_frames;
    size_t strangers;
    pawl_error error; /* for a status, or a row that is damage */
};

static struct found look(void) {
    struct found found = {.status = PAWL_OK};
    struct os_dir *dir = NULL;
    char path[700];
    image_put(&image);
    join(path, sizeof path, store, "/", "log");
    cr_assert_eq(os_dir_open(os, path, OS_OPEN_READ, &dir), 0);
    const struct identity identity = image_identity(&image);
    struct scan scan;
    scan_init(&scan, os, dir, &identity);
    scan.must_not_write = true;
    found.status = scan_run(&scan, &found.error);
    found.row = scan.row;
    found.end_lsn = scan.end_lsn;
    found.torn_bytes = scan.torn_bytes;
    found.later_frames = scan.later_frames;
    found.strangers = scan.strangers;
    if (found.status == PAWL_OK && recovery_is_damage(scan.row))
        cr_assert_eq(scan_damage(&scan, &found.error), PAWL_DAMAGED);
    scan_deinit(&scan);
    os_dir_close(os, dir);
    return found;
}

/* Opens the image, reads `expected` numbers, and closes it. */
static struct log_opening must_open_image(uint64_t expected) {
    const struct log_options options = options_of(LARGE_SEGMENT);
    struct log_opening opening;
    image_put(&image);
    struct log *log = must_open_with(&options, &opening);
    cr_assert(!opening.was_created);
    cr_assert(opening.was_alone);
    must_read_all(log, expected);
    must_close(log);
    return opening;
}

/* Opening the image is refused; file and offset are told. */
static void must_be_damaged(const char *file, uint64_t offset) {
    const struct log_options options = options_of(LARGE_SEGMENT);
    struct log *log = NULL;
    struct log_opening opening;
    pawl_error error = {0};
    image_put(&image);
    cr_assert_eq(try_open(&options, &log, &opening, &error), PAWL_DAMAGED, "%s: %s", file,
                 error.sentence);
    cr_assert_null(log);
    cr_assert_str_eq(error.file, file, "%s", error.sentence);
    cr_assert_eq(error.offset, offset, "%llu: %s", (unsigned long long)error.offset,
                 error.sentence);
    cr_assert_not_null(strstr(error.sentence, file), "%s", error.sentence);
}

/* What the engine counts as torn: up to the last 8 bytes that are not all zero. */
static uint64_t torn_of(const uint8_t *bytes, size_t count) {
    size_t used = count;
    while (used > 0 && bytes[used - 1] == 0)
        used--;
    used = (used + 7) / 8 * 8;
    return used < count ? used : count;
}

/* The end. */

Test(scan, of_a_closed_store_ends_cleanly, .init = set_up, .fini = tear_down_image) {
    const struct place last = take_store(LARGE_SEGMENT, 20, 40, true);
    const struct found found = look();
    cr_assert_eq(found.status, PAWL_OK);
    cr_assert_eq(found.row, RECOVERY_CLEAN);
    cr_assert_eq(found.end_lsn, last.end_lsn + frame_bytes(0, 0), "behind the mark");
    cr_assert_eq(found.torn_bytes, 0);
    cr_assert(must_open_image(20).was_closed);
}

Test(scan, of_a_store_whose_process_died_ends_cleanly_too, .init = set_up,
     .fini = tear_down_image) {
    const struct place last = take_store(LARGE_SEGMENT, 20, 40, false);
    const struct found found = look();
    cr_assert_eq(found.row, RECOVERY_CLEAN);
    cr_assert_eq(found.end_lsn, last.end_lsn);
    cr_assert(!must_open_image(20).was_closed);
}

/* B01, B04. */
Test(scan, a_cut_at_any_byte_of_the_last_frame_takes_that_frame_alone, .init = set_up,
     .fini = tear_down_image) {
    const struct place last = take_store(LARGE_SEGMENT, 20, 40, false);
    struct image_file *segment = image_segment(&image, 1);
    const size_t begin = image_offset(segment, last.lsn);
    const size_t end = begin + (size_t)(last.end_lsn - last.lsn);
    for (size_t cut = begin; cut <= end; cut++) {
        segment->count = cut;
        const struct log_opening opening = must_open_image(cut == end ? 20 : 19);
        const uint64_t torn = cut == end ? 0 : torn_of(segment->bytes + begin, cut - begin);
        cr_assert_eq(opening.torn_bytes, torn, "cut %zu", cut - begin);
        cr_assert_eq(opening.row, torn == 0 ? RECOVERY_CLEAN : RECOVERY_CUT_TORN, "cut %zu",
                     cut - begin);
        cr_assert_eq(opening.later_frames, 0);
    }
}

Test(scan, zeros_from_any_byte_of_the_last_frame_take_that_frame_alone, .init = set_up,
     .fini = tear_down_image) {
    const struct place last = take_store(LARGE_SEGMENT, 20, 40, false);
    struct image_file *segment = image_segment(&image, 1);
    const size_t begin = image_offset(segment, last.lsn);
    const size_t end = begin + (size_t)(last.end_lsn - last.lsn);
    for (size_t cut = end; cut-- > begin;) {
        segment->bytes[cut] = 0;
        const struct log_opening opening = must_open_image(19);
        const uint64_t torn = torn_of(segment->bytes + begin, end - begin);
        cr_assert_eq(opening.torn_bytes, torn, "cut %zu", cut - begin);
        cr_assert_eq(opening.row, torn == 0 ? RECOVERY_CLEAN : RECOVERY_CUT_TORN, "cut %zu",
                     cut - begin);
    }
}

/* B02. */
Test(scan, zeros_behind_the_last_frame_are_its_end, .init = set_up, .fini = tear_down_image) {
    static const size_t counts[] = {0, 1, 7, 4095, 4096, 1024 * 1024};
    const struct place last = take_store(LARGE_SEGMENT, 20, 40, false);
    struct image_file *segment = image_segment(&image, 1);
    const size_t end = image_offset(segment, last.lsn) + (size_t)(last.end_lsn - last.lsn);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        uint8_t *longer = calloc(1, end + counts[i] + 1);
        cr_assert_not_null(longer);
        memcpy(longer, segment->bytes, end);
        free(segment->bytes);
        segment->bytes = longer;
        segment->count = end + counts[i];
        const struct log_opening opening = must_open_image(20);
        cr_assert_eq(opening.row, RECOVERY_CLEAN, "%zu zeros", counts[i]);
        cr_assert_eq(opening.torn_bytes, 0);
    }
}

/* What was cut off stays off: the next frame goes to the next segment, behind the cut. */
Test(scan, what_was_cut_off_never_comes_back, .init = set_up, .fini = tear_down_image) {
    const struct place last = take_store(LARGE_SEGMENT, 20, 40, false);
    struct image_file *segment = image_segment(&image, 1);
    const size_t begin = image_offset(segment, last.lsn);
    segment->bytes[begin + (last.end_lsn - last.lsn) - 1] = 0;
    image_put(&image);
    struct log *log = must_open_log(LARGE_SEGMENT);
    cr_assert_eq(log_tail(log), last.lsn);
    const struct place again = must_append_durably(log, 20, 100);
    cr_assert_eq(again.lsn, last.lsn + SEGMENT_START_FRAME_BYTES);
    must_read_all(log, 20);
    image_drop(&image);
    image_take(&image);
    must_close(log);
    cr_assert_eq(image_newest_used(&image), 2);
    const struct log_opening opening = must_open_image(20);
    cr_assert_eq(opening.row, RECOVERY_CLEAN);
    cr_assert_eq(opening.torn_bytes, 0);
}

/* Recovering twice equals once, however often who recovered dies before it appends. */
Test(scan, a_cut_is_found_again_until_something_is_appended, .init = set_up,
     .fini = tear_down_image) {
    const struct place last = take_store(LARGE_SEGMENT, 20, 40, false);
    struct image_file *segment = image_segment(&image, 1);
    segment->count = image_offset(segment, last.lsn) + 70;
    for (int i = 0; i < 3; i++) {
        const struct log_options options = options_of(LARGE_SEGMENT);
        struct log_opening opening;
        image_put(&image);
        struct log *log = must_open_with(&options, &opening);
        cr_assert_eq(opening.row, RECOVERY_CUT_TORN);
        cr_assert_eq(opening.torn_bytes, 70);
        must_read_all(log, 19);
        image_drop(&image);
        image_take(&image);
        must_close(log);
    }
}

/* Frames that nobody was promised, one of which never reached the disk. */
Test(scan, an_unpromised_frame_behind_a_lost_one_goes_too, .init = set_up,
     .fini = tear_down_image) {
    struct log *log = must_open_log(LARGE_SEGMENT);
    (void)must_append_durably(log, 1, 40);
    const struct place lost = must_append(log, 2, 40);
    const struct place later = must_append(log, 3, 40);
    image_take(&image);
    must_close(log);
    struct image_file *segment = image_segment(&image, 1);
    const size_t begin = image_offset(segment, lost.lsn);
    memset(segment->bytes + begin, 0, (size_t)(lost.end_lsn - lost.lsn));
    const struct log_opening opening = must_open_image(1);
    cr_assert_eq(opening.row, RECOVERY_CUT_REORDERED);
    cr_assert_eq(opening.later_frames, 1);
    cr_assert_eq(opening.torn_bytes, later.end_lsn - lost.lsn);
}

/* Damage. */

Test(scan, any_flipped_bit_of_a_durable_frame_is_damage, .init = set_up, .fini = tear_down_image) {
    struct log *log = must_open_log(LARGE_SEGMENT);
    (void)must_append_durably(log, 1, 40);
    const struct place victim = must_append_durably(log, 2, 40);
    (void)must_append_durably(log, 3, 40);
    image_take(&image);
    must_close(log);
    struct image_file *segment = image_segment(&image, 1);
    const size_t begin = image_offset(segment, victim.lsn);
    for (size_t at = begin; at < begin + (size_t)(victim.end_lsn - victim.lsn); at++) {
        for (unsigned bit = 0; bit < 8; bit += 3) {
            segment->bytes[at] = (uint8_t)(segment->bytes[at] ^ 1U << bit);
            const struct found found = look();
            cr_assert_eq(found.status, PAWL_OK);
            cr_assert_eq(found.row, RECOVERY_LOST_DURABLE, "byte %zu: %s", at - begin,
                         recovery_row_name(found.row));
            cr_assert_eq(found.end_lsn, victim.lsn);
            cr_assert_str_eq(found.error.file, "0000000001.seg");
            cr_assert_eq(found.error.offset, begin);
            cr_assert_eq(found.error.lsn, victim.lsn);
            segment->bytes[at] = (uint8_t)(segment->bytes[at] ^ 1U << bit);
        }
    }
    segment->bytes[begin + 70] ^= 1;
    must_be_damaged("0000000001.seg", begin);
}

Test(scan, the_last_frame_of_a_closed_store_is_proved_by_the_mark, .init = set_up,
     .fini = tear_down_image) {
    const struct place last = take_store(LARGE_SEGMENT, 20, 40, true);
    struct image_file *segment = image_segment(&image, 1);
    const size_t begin = image_offset(segment, last.lsn);
    const size_t size = (size_t)(last.end_lsn - last.lsn);
    segment->bytes[begin + size - 1] = 0;
    must_be_damaged("0000000001.seg", begin);
    memset(segment->bytes + begin, 0, size);
    must_be_damaged("0000000001.seg", begin);
}

/* Behind the last mark, an interrupted write and damage are told apart by what it can leave. */
Test(scan, a_wrong_byte_that_no_interrupted_write_leaves_is_damage, .init = set_up,
     .fini = tear_down_image) {
    const struct place last = take_store(LARGE_SEGMENT, 20, 40, false);
    struct image_file *segment = image_segment(&image, 1);
    const size_t begin = image_offset(segment, last.lsn);
    for (size_t at = begin; at < begin + (size_t)(last.end_lsn - last.lsn); at++) {
        segment->bytes[at] ^= 0x10;
        const struct found found = look();
        cr_assert_eq(found.row, RECOVERY_UNEXPLAINED, "byte %zu: %s", at - begin,
                     recovery_row_name(found.row));
        cr_assert_eq(found.error.offset, begin);
        segment->bytes[at] ^= 0x10;
    }
    segment->bytes[begin + 70] ^= 1;
    must_be_damaged("0000000001.seg", begin);
}

/* B10: a length that lies under a good checksum asks for no memory and ends nothing early. */
Test(scan, a_header_that_says_what_cannot_be_is_damage, .init = set_up, .fini = tear_down_image) {
    const struct place last = take_store(LARGE_SEGMENT, 5, 40, false);
    struct image_file *segment = image_segment(&image, 1);
    const struct frame_key key = {image_identity(&image).secret, 1};
    const size_t begin = image_offset(segment, last.lsn);
    static const uint32_t lengths[] = {0x7fffffff, 0x80000000, 0xfffffff9, 0xffffffff};
    struct frame_header good;
    cr_assert_eq(frame_read_header(segment->bytes + begin, &key, &good), FRAME_WHOLE);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct frame_header header = good;
        header.payload_bytes = lengths[i];
        frame_place(&header, &key, segment->bytes + begin);
        cr_assert_eq(look().row, RECOVERY_IMPOSSIBLE);
        must_be_damaged("0000000001.seg", begin);
    }
    struct frame_header header = good;
    header.lsn += 8;
    frame_place(&header, &key, segment->bytes + begin);
    cr_assert_eq(look().row, RECOVERY_IMPOSSIBLE, "at another place than it says");
}

/* A frame of an earlier life of the same blocks, B11. */
Test(scan, a_frame_of_another_place_is_no_frame, .init = set_up, .fini = tear_down_image) {
    const struct place last = take_store(LARGE_SEGMENT, 5, 40, false);
    struct image_file *segment = image_segment(&image, 1);
    const size_t begin = image_offset(segment, last.lsn);
    const size_t size = (size_t)(last.end_lsn - last.lsn);
    uint8_t copy[512];
    cr_assert_leq(size, sizeof copy);
    memcpy(copy, segment->bytes + begin, size);
    memcpy(segment->bytes + begin + size, copy, size);
    const struct found found = look();
    cr_assert_eq(found.end_lsn, last.end_lsn, "the copy is not read as the next one");
    cr_assert(recovery_is_damage(found.row), "%s", recovery_row_name(found.row));
}

/* Segments. */

enum { MANY = 60, PAYLOAD = 300 };

static void must_be_damaged_at(uint64_t ordinal, uint64_t offset) {
    char name[SEGMENT_NAME_BYTES];
    segment_name(ordinal, name);
    must_be_damaged(name, offset);
}

Test(scan, of_many_segments_opens_and_reads_all, .init = set_up, .fini = tear_down_image) {
    (void)take_store(SMALL_SEGMENT, MANY, PAYLOAD, true);
    cr_assert_geq(image_newest_used(&image), 5);
    (void)must_open_image(MANY);
}

Test(scan, a_missing_segment_is_named, .init = set_up, .fini = tear_down_image) {
    for (int is_closed = 0; is_closed < 2; is_closed++) {
        remove_tree(store);
        (void)take_store(SMALL_SEGMENT, MANY, PAYLOAD, is_closed != 0);
        const uint64_t newest = image_newest_used(&image);
        for (uint64_t missing = 1; missing <= newest; missing++) {
            struct image_file *file = image_segment(&image, missing);
            const struct image_file kept = *file;
            file->name[0] = 'x'; /* put beside the store's log/ instead of into it */
            file->name[3] = '-';
            const struct found found = look();
            cr_assert(found.status == PAWL_DAMAGED || recovery_is_damage(found.row));
            char name[SEGMENT_NAME_BYTES];
            segment_name(missing, name);
            cr_assert_str_eq(found.error.file, name, "%s", found.error.sentence);
            memcpy(file->name, kept.name, sizeof kept.name);
        }
        image_drop(&image);
    }
}

Test(scan, the_newest_segment_missing_refuses_the_opening, .init = set_up,
     .fini = tear_down_image) {
    (void)take_store(SMALL_SEGMENT, MANY, PAYLOAD, false);
    const uint64_t newest = image_newest_used(&image);
    image_remove(&image, image_segment(&image, newest));
    const struct found found = look();
    cr_assert(recovery_is_damage(found.row));
    const struct log_options options = options_of(SMALL_SEGMENT);
    struct log *log = NULL;
    struct log_opening opening;
    cr_assert_eq(try_open(&options, &log, &opening, NULL), PAWL_DAMAGED);
}

Test(scan, a_missing_herald_is_no_damage, .init = set_up, .fini = tear_down_image) {
    (void)take_store(SMALL_SEGMENT, MANY, PAYLOAD, true);
    uint64_t unused = image_newest_used(&image) + 1;
    for (size_t i = 0; i < image.count; i++) {
        uint64_t ordinal;
        if (strncmp(image.files[i].name, "log/", 4) == 0 &&
            segment_parse_name(image.files[i].name + 4, &ordinal) && ordinal >= unused)
            image_remove(&image, &image.files[i--]);
    }
    (void)must_open_image(MANY);
}

Test(scan, a_segment_under_another_name_is_named, .init = set_up, .fini = tear_down_image) {
    (void)take_store(SMALL_SEGMENT, MANY, PAYLOAD, true);
    image_rename(image_segment(&image, 2), 777);
    must_be_damaged("0000000777.seg", 0);
    image_rename(image_segment(&image, 777), 2);
    struct image_file *second = image_segment(&image, 2), *third = image_segment(&image, 3);
    image_rename(second, 3);
    image_rename(third, 2);
    must_be_damaged("0000000003.seg", 0);
}

Test(scan, a_doubled_segment_is_named, .init = set_up, .fini = tear_down_image) {
    (void)take_store(SMALL_SEGMENT, MANY, PAYLOAD, true);
    const struct image_file *second = image_segment(&image, 2);
    image_set(&image, "log/0000000500.seg", second->bytes, second->count);
    must_be_damaged("0000000500.seg", 0);
}

Test(scan, a_segment_of_another_store_is_named, .init = set_up, .fini = tear_down_image) {
    static struct image other;
    (void)take_store(SMALL_SEGMENT, MANY, PAYLOAD, true);
    other = image;
    image.count = 0;
    remove_tree(store);
    (void)take_store(SMALL_SEGMENT, MANY, PAYLOAD, true);
    struct image_file *here = image_segment(&image, 3), *there = image_segment(&other, 3);
    const struct image_file kept = *here;
    *here = *there;
    must_be_damaged("0000000003.seg", 0);
    *here = kept;
    image_drop(&other);
}

Test(scan, a_newer_format_is_told, .init = set_up, .fini = tear_down_image) {
    (void)take_store(SMALL_SEGMENT, MANY, PAYLOAD, true);
    struct image_file *file = image_segment(&image, 2);
    bytes_store_u32(file->bytes + 8, SEGMENT_FORMAT_VERSION + 1);
    bytes_store_u64(file->bytes + 56, hash_bytes(file->bytes, 56, image_identity(&image).secret));
    const struct found found = look();
    cr_assert_eq(found.status, PAWL_VERSION);
    cr_assert_str_eq(found.error.file, "0000000002.seg");
}

Test(scan, any_wrong_bit_of_a_segments_header_is_told, .init = set_up, .fini = tear_down_image) {
    (void)take_store(SMALL_SEGMENT, MANY, PAYLOAD, true);
    struct image_file *file = image_segment(&image, 2);
    for (size_t bit = 0; bit < 64 * 8; bit += 5) {
        file->bytes[bit / 8] = (uint8_t)(file->bytes[bit / 8] ^ 1U << bit % 8);
        const struct found found = look();
        cr_assert_eq(found.status, PAWL_DAMAGED, "bit %zu", bit);
        cr_assert_str_eq(found.error.file, "0000000002.seg");
        file->bytes[bit / 8] = (uint8_t)(file->bytes[bit / 8] ^ 1U << bit % 8);
    }
    file->count = 0;
    must_be_damaged("0000000002.seg", 0);
    file->count = 63;
    must_be_damaged("0000000002.seg", 0);
}

Test(scan, a_wrong_start_of_a_segment_is_told, .init = set_up, .fini = tear_down_image) {
    (void)take_store(SMALL_SEGMENT, MANY, PAYLOAD, true);
    const uint64_t newest = image_newest_used(&image);
    for (uint64_t ordinal = 1; ordinal <= newest; ordinal++) {
        struct image_file *file = image_segment(&image, ordinal);
        file->bytes[SEGMENT_DATA_AT + 70] ^= 1;
        must_be_damaged_at(ordinal, SEGMENT_DATA_AT);
        file->bytes[SEGMENT_DATA_AT + 70] ^= 1;
    }
}

/* What lies before the newest proof is read when it is needed: the reader tells. */
Test(scan, a_wrong_byte_in_an_early_segment_is_told_by_the_reader, .init = set_up,
     .fini = tear_down_image) {
    struct log *log = must_open_log(SMALL_SEGMENT);
    struct place places[MANY + 1] = {{0}};
    for (uint64_t number = 1; number <= MANY; number++)
        places[number] = must_append_durably(log, number, PAYLOAD);
    must_close(log);
    image_take(&image);
    struct image_file *segment = image_segment(&image, 1);
    for (uint64_t number = 1; number <= 3; number++) {
        const size_t begin = image_offset(segment, places[number].lsn);
        for (size_t at = begin; at < begin + FRAME_HEADER_BYTES + PAYLOAD; at += 37) {
            segment->bytes[at] ^= 4;
            image_put(&image);
            log = must_open_log(SMALL_SEGMENT);
            uint64_t count = 0;
            pawl_error error = {0};
            cr_assert_eq(read_all(log, &count, &error), PAWL_DAMAGED);
            cr_assert_eq(count, number - 1, "all before it are there");
            cr_assert_str_eq(error.file, "0000000001.seg");
            cr_assert_eq(error.offset, begin);
            cr_assert_eq(error.lsn, places[number].lsn);
            must_close(log);
            segment->bytes[at] ^= 4;
        }
    }
}

/* B17. */
Test(scan, an_early_segment_cut_at_a_frames_edge_is_told_by_the_reader, .init = set_up,
     .fini = tear_down_image) {
    struct log *log = must_open_log(SMALL_SEGMENT);
    struct place places[MANY + 1] = {{0}};
    for (uint64_t number = 1; number <= MANY; number++)
        places[number] = must_append_durably(log, number, PAYLOAD);
    must_close(log);
    image_take(&image);
    struct image_file *segment = image_segment(&image, 1);
    segment->count = image_offset(segment, places[4].lsn);
    image_put(&image);
    log = must_open_log(SMALL_SEGMENT);
    uint64_t count = 0;
    pawl_error error = {0};
    cr_assert_eq(read_all(log, &count, &error), PAWL_DAMAGED);
    cr_assert_eq(count, 3);
    cr_assert_str_eq(error.file, "0000000001.seg");
    cr_assert_eq(error.offset, segment->count);
    must_close(log);
}

/* B136. */
Test(scan, strangers_are_counted_and_left_alone, .init = set_up, .fini = tear_down_image) {
    static const char *const strangers[] = {"log/0000000002.seg~", "log/2.seg", "log/notes",
                                            "log/0000000003.seg.bak"};
    (void)take_store(SMALL_SEGMENT, MANY, PAYLOAD, true);
    for (size_t i = 0; i < 4; i++)
        image_set(&image, strangers[i], "mine", 4);
    cr_assert_eq(look().strangers, 4);
    cr_assert_eq(must_open_image(MANY).strangers, 4);
    for (size_t i = 0; i < 4; i++) {
        char path[700];
        join(path, sizeof path, store, "/", strangers[i]);
        cr_assert_eq(access(path, F_OK), 0, "%s", path);
    }
}

static pawl_status status_with_special(const char *name, int (*make)(const char *path)) {
    char path[700];
    const struct log_options options = options_of(SMALL_SEGMENT);
    struct log *log = NULL;
    struct log_opening opening;
    image_put(&image);
    join(path, sizeof path, store, "/log/", name);
    cr_assert_eq(make(path), 0);
    const pawl_status status = try_open(&options, &log, &opening, NULL);
    if (status == PAWL_OK)
        must_close(log);
    return status;
}

static int make_directory(const char *path) {
    return mkdir(path, 0700);
}

static int make_pipe(const char *path) {
    return mkfifo(path, 0600);
}

static int make_link(const char *path) {
    return symlink("0000000001.seg", path);
}

Test(scan, what_is_no_file_under_a_segments_name_is_refused, .init = set_up,
     .fini = tear_down_image) {
    (void)take_store(SMALL_SEGMENT, MANY, PAYLOAD, true);
    cr_assert_neq(status_with_special("0000000888.seg", make_directory), PAWL_OK);
    cr_assert_neq(status_with_special("0000000888.seg", make_pipe), PAWL_OK);
    cr_assert_neq(status_with_special("0000000888.seg", make_link), PAWL_OK);
    (void)must_open_image(MANY);
}

/* The dry look leaves every byte as it was. */
Test(scan, that_must_not_write_changes_nothing, .init = set_up, .fini = tear_down_image) {
    const struct place last = take_store(SMALL_SEGMENT, MANY, PAYLOAD, false);
    struct image_file *segment = image_segment(&image, image_newest_used(&image));
    segment->count = image_offset(segment, last.lsn) + 70;
    cr_assert_eq(look().row, RECOVERY_CUT_TORN);
    static struct image after;
    image_take(&after);
    cr_assert_eq(after.count, image.count);
    for (size_t i = 0; i < image.count; i++) {
        const struct image_file *file = image_find(&after, image.files[i].name);
        cr_assert_not_null(file);
        cr_assert_eq(file->count, image.files[i].count);
        cr_assert_arr_eq(file->bytes, image.files[i].bytes, file->count);
    }
    image_drop(&after);
}

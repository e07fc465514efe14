#include "recovery.h"

#include <criterion/criterion.h>

/* The decision as an argument, to hold the table to. */
static enum recovery_row expected_of(const struct recovery_facts *facts) {
    if (facts->is_proved)
        return RECOVERY_LOST_DURABLE;
    if (facts->has_gap)
        return RECOVERY_LOST_SEGMENT;
    if (facts->is_sealed && !facts->next_exists)
        return RECOVERY_LOST_SUCCESSOR;
    switch (facts->bytes) {
    case RECOVERY_ABSURD: return RECOVERY_IMPOSSIBLE;
    case RECOVERY_ROT: return RECOVERY_UNEXPLAINED;
    case RECOVERY_TORN: return facts->has_later ? RECOVERY_CUT_REORDERED : RECOVERY_CUT_TORN;
    case RECOVERY_ZERO: return facts->has_later ? RECOVERY_CUT_REORDERED : RECOVERY_CLEAN;
    case RECOVERY_BYTES_COUNT: break;
    }
    return RECOVERY_ROW_COUNT;
}

Test(recovery, every_combination_of_facts_meets_exactly_one_row) {
    unsigned seen[RECOVERY_ROW_COUNT] = {0};
    for (int bytes = 0; bytes < RECOVERY_BYTES_COUNT; bytes++) {
        for (unsigned bits = 0; bits < 32; bits++) {
            const struct recovery_facts facts = {
                .bytes = (enum recovery_bytes)bytes,
                .is_proved = (bits & 1) != 0,
                .has_later = (bits & 2) != 0,
                .is_sealed = (bits & 4) != 0,
                .next_exists = (bits & 8) != 0,
                .has_gap = (bits & 16) != 0,
            };
            cr_assert_eq(recovery_count_matches(&facts), 1, "bytes %d, facts %u", bytes, bits);
            const enum recovery_row row = recovery_decide(&facts);
            cr_assert_eq(row, expected_of(&facts), "bytes %d, facts %u: %s", bytes, bits,
                         recovery_row_name(row));
            seen[row]++;
        }
    }
    for (int row = 0; row < RECOVERY_ROW_COUNT; row++)
        cr_assert_gt(seen[row], 0, "%s is never met", recovery_row_name((enum recovery_row)row));
}

Test(recovery, proof_is_damage_whatever_else_is_true) {
    for (int bytes = 0; bytes < RECOVERY_BYTES_COUNT; bytes++) {
        for (unsigned bits = 0; bits < 16; bits++) {
            const struct recovery_facts facts = {
                .bytes = (enum recovery_bytes)bytes,
                .is_proved = true,
                .has_later = (bits & 1) != 0,
                .is_sealed = (bits & 2) != 0,
                .next_exists = (bits & 4) != 0,
                .has_gap = (bits & 8) != 0,
            };
            cr_assert(recovery_is_damage(recovery_decide(&facts)));
        }
    }
}

Test(recovery, three_rows_are_no_damage) {
    for (int row = 0; row < RECOVERY_ROW_COUNT; row++) {
        const bool is_whole =
            row == RECOVERY_CLEAN || row == RECOVERY_CUT_TORN || row == RECOVERY_CUT_REORDERED;
        cr_assert_eq(recovery_is_damage((enum recovery_row)row), !is_whole, "row %d", row);
    }
}

static enum recovery_file_row expected_of_file(const struct recovery_file_facts *facts) {
    const bool is_in_use = facts->has_content || facts->is_followed;
    switch (facts->header) {
    case RECOVERY_HEADER_NEWER: return RECOVERY_FILE_NEWER;
    case RECOVERY_HEADER_FOREIGN: return RECOVERY_FILE_FOREIGN;
    case RECOVERY_HEADER_OURS:
        return facts->is_named_right ? RECOVERY_FILE_SEGMENT : RECOVERY_FILE_RENAMED;
    case RECOVERY_HEADER_ABSENT:
    case RECOVERY_HEADER_WRONG: return is_in_use ? RECOVERY_FILE_HEADER : RECOVERY_FILE_UNFINISHED;
    case RECOVERY_HEADER_COUNT: break;
    }
    return RECOVERY_FILE_ROW_COUNT;
}

Test(recovery, every_file_meets_exactly_one_row) {
    unsigned seen[RECOVERY_FILE_ROW_COUNT] = {0};
    for (int header = 0; header < RECOVERY_HEADER_COUNT; header++) {
        for (unsigned bits = 0; bits < 8; bits++) {
            const struct recovery_file_facts facts = {
                .header = (enum recovery_header)header,
                .is_named_right = (bits & 1) != 0,
                .has_content = (bits & 2) != 0,
                .is_followed = (bits & 4) != 0,
            };
            cr_assert_eq(recovery_count_file_matches(&facts), 1, "header %d, facts %u", header,
                         bits);
            const enum recovery_file_row row = recovery_decide_file(&facts);
            cr_assert_eq(row, expected_of_file(&facts), "header %d, facts %u: %s", header, bits,
                         recovery_file_row_name(row));
            seen[row]++;
        }
    }
    for (int row = 0; row < RECOVERY_FILE_ROW_COUNT; row++)
        cr_assert_gt(seen[row], 0, "%s is never met",
                     recovery_file_row_name((enum recovery_file_row)row));
}

static void must_be_a_sentence(const char *name, const char *sentence) {
    cr_assert_not_null(name);
    cr_assert_not_null(sentence);
    cr_assert_gt(strlen(name), 0);
    cr_assert_gt(strlen(sentence), 10, "%s", name);
    cr_assert_neq(sentence[strlen(sentence) - 1], '.', "%s", name);
    cr_assert_null(strchr(name, ' '), "%s", name);
}

Test(recovery, every_row_has_a_name_and_a_sentence_of_its_own) {
    for (int i = 0; i < RECOVERY_ROW_COUNT; i++) {
        const enum recovery_row row = (enum recovery_row)i;
        must_be_a_sentence(recovery_row_name(row), recovery_row_sentence(row));
        for (int j = 0; j < i; j++) {
            cr_assert_str_neq(recovery_row_name(row), recovery_row_name((enum recovery_row)j));
            cr_assert_str_neq(recovery_row_sentence(row),
                              recovery_row_sentence((enum recovery_row)j));
        }
    }
    for (int i = 0; i < RECOVERY_FILE_ROW_COUNT; i++) {
        const enum recovery_file_row row = (enum recovery_file_row)i;
        must_be_a_sentence(recovery_file_row_name(row), recovery_file_row_sentence(row));
        for (int j = 0; j < i; j++)
            cr_assert_str_neq(recovery_file_row_name(row),
                              recovery_file_row_name((enum recovery_file_row)j));
    }
}

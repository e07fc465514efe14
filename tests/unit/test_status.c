#include <criterion/criterion.h>

#include <errno.h>
#include <string.h>

#include "status.h"

struct row {
    pawl_status status;
    const char *name;
};

static const struct row all[] = {
#define X(name, exit_code, sentence) {name, #name},
    STATUS_MAP(X)
#undef X
};

enum { ALL_COUNT = sizeof all / sizeof all[0] };

Test(status, each_has_a_name_a_sentence_and_an_exit_code) {
    for (size_t i = 0; i < ALL_COUNT; i++) {
        cr_assert_str_eq(status_name(all[i].status), all[i].name);
        const char *sentence = status_sentence(all[i].status);
        const size_t bytes = strlen(sentence);
        cr_assert(bytes > 0, "%s has no sentence", all[i].name);
        cr_assert(sentence[bytes - 1] != '.', "%s ends in a full stop", all[i].name);
        const int code = status_exit_code(all[i].status);
        cr_assert(code >= 0 && code <= 7, "%s has exit code %d", all[i].name, code);
        cr_assert((code == 0) == (all[i].status == PAWL_OK), "%s has exit code 0", all[i].name);
    }
}

Test(status, names_and_numbers_are_unique) {
    for (size_t i = 0; i < ALL_COUNT; i++)
        for (size_t k = i + 1; k < ALL_COUNT; k++) {
            cr_assert(strcmp(all[i].name, all[k].name) != 0, "%s is there twice", all[i].name);
            cr_assert(all[i].status != all[k].status, "%s and %s share a number", all[i].name,
                      all[k].name);
        }
}

Test(status, what_is_no_status_has_words_too) {
    const pawl_status none = (pawl_status)9999;
    cr_assert_str_eq(status_name(none), "PAWL_?");
    cr_assert_str_eq(status_sentence(none), "unknown status");
    cr_assert_eq(status_exit_code(none), 1);
}

Test(error, set_clears_what_was_there) {
    pawl_error error;
    memset(&error, 0x5a, sizeof error);
    const pawl_status status = error_set(&error, PAWL_BUSY, "slot %u is held", 3u);
    cr_assert_eq(status, PAWL_BUSY);
    cr_assert_eq(error.status, PAWL_BUSY);
    cr_assert_str_eq(error.sentence, "slot 3 is held");
    cr_assert_str_eq(error.file, "");
    cr_assert_str_eq(error.id, "");
    cr_assert_eq(error.os_errno, 0);
    cr_assert_eq(error.offset, 0);
    cr_assert_eq(error.lsn, 0);
}

Test(error, long_sentences_and_names_are_cut) {
    char text[1000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    pawl_error error;
    (void)error_set(&error, PAWL_INVALID, "%s", text);
    cr_assert_eq(strlen(error.sentence), sizeof error.sentence - 1);
    (void)error_at(&error, PAWL_DAMAGED, text, 4096, 77);
    cr_assert_eq(strlen(error.file), sizeof error.file - 1);
    (void)error_os(&error, EIO, "name", 0, "%s", text);
    cr_assert_eq(strlen(error.sentence), sizeof error.sentence - 1);
    cr_assert_str_eq(error.file, "name");
}

Test(error, os_picks_the_status_that_fits) {
    static const struct {
        int os_errno;
        pawl_status status;
    } table[] = {
        {ENOSPC, PAWL_DISK_FULL},  {EDQUOT, PAWL_DISK_FULL},
        {EFBIG, PAWL_DISK_FULL},   {ENOMEM, PAWL_NO_MEMORY},
        {EACCES, PAWL_PERMISSION}, {EPERM, PAWL_PERMISSION},
        {EROFS, PAWL_PERMISSION},  {EIO, PAWL_IO},
        {ENOENT, PAWL_IO},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        pawl_error error;
        const pawl_status status = error_os(&error, table[i].os_errno, "log/x", 8192, "writing");
        cr_assert_eq(status, table[i].status, "errno %d", table[i].os_errno);
        cr_assert_eq(error.status, status);
        cr_assert_eq(error.os_errno, table[i].os_errno);
        cr_assert_eq(error.offset, 8192);
        cr_assert_str_eq(error.file, "log/x");
        cr_assert(strncmp(error.sentence, "writing: ", 9) == 0, "%s", error.sentence);
        cr_assert(strlen(error.sentence) > 9, "the system's words are missing");
    }
}

Test(error, may_be_null) {
    cr_assert_eq(error_set(NULL, PAWL_FULL, "full"), PAWL_FULL);
    cr_assert_eq(error_os(NULL, ENOSPC, NULL, 0, "full"), PAWL_DISK_FULL);
    cr_assert_eq(error_at(NULL, PAWL_DAMAGED, NULL, 0, 0), PAWL_DAMAGED);
}

static pawl_status tried(pawl_status inner, int *ret_reached) {
    TRY(inner);
    *ret_reached = 1;
    return PAWL_OK;
}

Test(error, try_leaves_with_the_status) {
    int reached = 0;
    cr_assert_eq(tried(PAWL_IO, &reached), PAWL_IO);
    cr_assert_eq(reached, 0);
    cr_assert_eq(tried(PAWL_OK, &reached), PAWL_OK);
    cr_assert_eq(reached, 1);
}

#include "os_posix_world.h"

#include "bytes.h"
#include "hash.h"
#include "identity.h"

static struct identity sample_identity(void) {
    struct identity identity = {.secret = 0x1122334455667788U, .incarnation = 3};
    for (size_t i = 0; i < sizeof identity.uuid; i++)
        identity.uuid[i] = (uint8_t)(i + 1);
    return identity;
}

static void flip(struct os_file *file, uint64_t offset, uint8_t bits) {
    uint8_t byte = 0;
    size_t read = 0;
    cr_assert_eq(os_file_read(os, file, &byte, 1, offset, &read), 0);
    byte = (uint8_t)(byte ^ bits);
    cr_assert_eq(os_file_write(os, file, &byte, 1, offset), 0);
}

static struct os_file *written_identity(void) {
    const struct identity identity = sample_identity();
    struct os_file *file = must_open(IDENTITY_NAME, MAKE);
    cr_assert_eq(identity_write(os, file, &identity, NULL), PAWL_OK);
    return file;
}

static pawl_status read_identity(struct os_file *file, struct identity *ret_identity,
                                 pawl_error *error) {
    struct identity_copies copies;
    TRY(identity_read_copies(os, file, &copies, error));
    return identity_take(&copies, ret_identity, error);
}

static void must_read_sample(struct os_file *file) {
    const struct identity expected = sample_identity();
    struct identity identity = {.incarnation = 0};
    cr_assert_eq(read_identity(file, &identity, NULL), PAWL_OK);
    cr_assert_arr_eq(identity.uuid, expected.uuid, sizeof expected.uuid);
    cr_assert_eq(identity.secret, expected.secret);
    cr_assert_eq(identity.incarnation, expected.incarnation);
}

static void must_refuse(struct os_file *file, pawl_status expected) {
    struct identity identity = {.secret = 5, .incarnation = 5};
    pawl_error error;
    cr_assert_eq(read_identity(file, &identity, &error), expected);
    cr_assert_eq(error.status, expected);
    cr_assert_str_eq(error.file, IDENTITY_NAME);
    cr_assert_eq(identity.secret, 5, "untouched");
    cr_assert_eq(identity.incarnation, 5, "untouched");
}

Test(identity, comes_back_as_it_was_written, .init = set_up, .fini = tear_down) {
    struct os_file *file = written_identity();
    must_read_sample(file);
    struct os_stat stat;
    cr_assert_eq(os_file_stat(os, file, &stat), 0);
    cr_assert_eq(stat.bytes, IDENTITY_BYTES);
    (void)os_file_close(os, file);
}

Test(identity, no_two_are_drawn_alike, .init = set_up, .fini = tear_down) {
    struct identity first = {0}, second = {0};
    cr_assert_eq(identity_draw(os, &first, NULL), PAWL_OK);
    cr_assert_eq(identity_draw(os, &second, NULL), PAWL_OK);
    cr_assert_arr_neq(first.uuid, second.uuid, sizeof first.uuid);
    cr_assert_neq(first.secret, second.secret);
    cr_assert_eq(first.incarnation, 1);
}

Test(identity, of_zeros_or_nothing_was_never_written, .init = set_up, .fini = tear_down) {
    struct os_file *file = must_open(IDENTITY_NAME, MAKE);
    struct identity identity = {.secret = 5};
    cr_assert_eq(read_identity(file, &identity, NULL), PAWL_EMPTY);
    for (uint64_t bytes = 1; bytes <= IDENTITY_BYTES + 1; bytes += 512) {
        cr_assert_eq(os_file_truncate(os, file, bytes), 0);
        cr_assert_eq(read_identity(file, &identity, NULL), PAWL_EMPTY);
    }
    cr_assert_eq(identity.secret, 5, "untouched");
    (void)os_file_close(os, file);
}

Test(identity, one_damaged_copy_does_no_harm, .init = set_up, .fini = tear_down) {
    struct os_file *file = written_identity();
    for (uint64_t copy = 0; copy < 2; copy++) {
        for (uint64_t at = 0; at < 56; at++) {
            flip(file, copy * OS_SECTOR_BYTES + at, 0x10);
            must_read_sample(file);
            flip(file, copy * OS_SECTOR_BYTES + at, 0x10);
        }
    }
    uint8_t zeros[OS_SECTOR_BYTES] = {0};
    cr_assert_eq(os_file_write(os, file, zeros, sizeof zeros, 0), 0);
    must_read_sample(file);
    (void)os_file_close(os, file);
}

Test(identity, two_damaged_copies_are_damage, .init = set_up, .fini = tear_down) {
    struct os_file *file = written_identity();
    for (uint64_t at = 0; at < 56; at++) {
        flip(file, at, 0x01);
        flip(file, OS_SECTOR_BYTES + (at * 5) % 56, 0x80);
        must_refuse(file, PAWL_DAMAGED);
        flip(file, at, 0x01);
        flip(file, OS_SECTOR_BYTES + (at * 5) % 56, 0x80);
    }
    must_read_sample(file);
    (void)os_file_close(os, file);
}

Test(identity, of_two_whole_copies_that_differ_is_damage, .init = set_up, .fini = tear_down) {
    struct os_file *file = written_identity();
    uint8_t block[OS_SECTOR_BYTES];
    size_t read;
    for (uint64_t copy = 0; copy < 2; copy++) {
        cr_assert_eq(os_file_read(os, file, block, sizeof block, copy * OS_SECTOR_BYTES, &read), 0);
        bytes_store_u64(block + 40, 4);
        bytes_store_u64(block + 48, hash_bytes(block, 48, 0));
        cr_assert_eq(os_file_write(os, file, block, sizeof block, copy * OS_SECTOR_BYTES), 0);
        must_refuse(file, PAWL_DAMAGED);
        const struct identity identity = sample_identity();
        cr_assert_eq(identity_write(os, file, &identity, NULL), PAWL_OK);
    }
    must_read_sample(file);
    (void)os_file_close(os, file);
}

Test(identity, that_is_cut_short_is_read_as_long_as_one_copy_is_there, .init = set_up,
     .fini = tear_down) {
    struct os_file *file = written_identity();
    for (uint64_t bytes = IDENTITY_BYTES; bytes >= OS_SECTOR_BYTES; bytes -= 64) {
        cr_assert_eq(os_file_truncate(os, file, bytes), 0);
        must_read_sample(file);
    }
    cr_assert_eq(os_file_truncate(os, file, 55), 0);
    must_refuse(file, PAWL_DAMAGED);
    (void)os_file_close(os, file);
}

Test(identity, of_a_newer_format_is_not_damage, .init = set_up, .fini = tear_down) {
    struct os_file *file = written_identity();
    uint8_t block[OS_SECTOR_BYTES];
    size_t read;
    cr_assert_eq(os_file_read(os, file, block, sizeof block, 0, &read), 0);
    bytes_store_u32(block + 8, IDENTITY_FORMAT_VERSION + 1);
    bytes_store_u64(block + 48, hash_bytes(block, 48, 0));
    for (uint64_t copy = 0; copy < 2; copy++)
        cr_assert_eq(os_file_write(os, file, block, sizeof block, copy * OS_SECTOR_BYTES), 0);
    must_refuse(file, PAWL_VERSION);
    (void)os_file_close(os, file);
}

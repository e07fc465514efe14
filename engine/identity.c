#include "identity.h"

#include "bytes.h"
#include "check.h"
#include "hash.h"

#include <string.h>

enum {
    AT_MAGIC = 0,
    AT_VERSION = 8,
    AT_UUID = 16,
    AT_SECRET = 32,
    AT_INCARNATION = 40,
    AT_HASH = 48,
};

static const uint8_t identity_magic[8] = {'P', 'A', 'W', 'L', '-', 'I', 'D', 'N'};

pawl_status identity_draw(struct os *os, struct identity *ret_identity, pawl_error *error) {
    struct identity identity = {.incarnation = 1};
    int failed = os_entropy(os, identity.uuid, sizeof identity.uuid);
    if (failed == 0)
        failed = os_entropy(os, &identity.secret, sizeof identity.secret);
    if (failed != 0)
        return error_os(error, failed, NULL, 0, "no entropy for a new store");
    *ret_identity = identity;
    return PAWL_OK;
}

static void identity_encode(const struct identity *identity, uint8_t block[OS_SECTOR_BYTES]) {
    memset(block, 0, OS_SECTOR_BYTES);
    memcpy(block + AT_MAGIC, identity_magic, sizeof identity_magic);
    bytes_store_u32(block + AT_VERSION, IDENTITY_FORMAT_VERSION);
    memcpy(block + AT_UUID, identity->uuid, IDENTITY_UUID_BYTES);
    bytes_store_u64(block + AT_SECRET, identity->secret);
    bytes_store_u64(block + AT_INCARNATION, identity->incarnation);
    bytes_store_u64(block + AT_HASH, hash_bytes(block, AT_HASH, 0));
}

pawl_status identity_read_copy(const uint8_t block[OS_SECTOR_BYTES],
                               struct identity *ret_identity) {
    if (memcmp(block + AT_MAGIC, identity_magic, sizeof identity_magic) != 0 ||
        bytes_load_u64(block + AT_HASH) != hash_bytes(block, AT_HASH, 0))
        return PAWL_DAMAGED;
    if (bytes_load_u32(block + AT_VERSION) > IDENTITY_FORMAT_VERSION)
        return PAWL_VERSION;
    memcpy(ret_identity->uuid, block + AT_UUID, IDENTITY_UUID_BYTES);
    ret_identity->secret = bytes_load_u64(block + AT_SECRET);
    ret_identity->incarnation = bytes_load_u64(block + AT_INCARNATION);
    return PAWL_OK;
}

pawl_status identity_read(struct os *os, struct os_file *file, struct identity *ret_identity,
                          pawl_error *error) {
    uint8_t blocks[IDENTITY_BYTES] = {0};
    size_t read;
    const int failed = os_file_read(os, file, blocks, sizeof blocks, 0, &read);
    if (failed != 0)
        return error_os(error, failed, IDENTITY_NAME, 0, "cannot read %s", IDENTITY_NAME);
    if (bytes_are_zero(blocks, sizeof blocks))
        return PAWL_EMPTY;
    struct identity copies[2];
    pawl_status statuses[2];
    for (size_t i = 0; i < 2; i++)
        statuses[i] = identity_read_copy(blocks + i * OS_SECTOR_BYTES, &copies[i]);
    const size_t chosen = statuses[0] == PAWL_DAMAGED ? 1 : 0;
    /* No crash leaves two whole ones that differ: they are written once, with one content. */
    const bool differs = chosen == 0 && statuses[1] != PAWL_DAMAGED &&
                         memcmp(blocks, blocks + OS_SECTOR_BYTES, AT_HASH) != 0;
    const pawl_status status = differs ? PAWL_DAMAGED : statuses[chosen];
    if (status == PAWL_OK)
        *ret_identity = copies[chosen];
    if (status == PAWL_DAMAGED)
        (void)error_set(error, status,
                        differs ? "the two copies in %s differ; restore it from a backup"
                                : "neither copy in %s is whole; restore it from a backup",
                        IDENTITY_NAME);
    if (status == PAWL_VERSION)
        (void)error_set(error, status, "the store was made by a newer version of the library");
    return status == PAWL_OK ? status : error_at(error, status, IDENTITY_NAME, 0, 0);
}

pawl_status identity_write(struct os *os, struct os_file *file, const struct identity *identity,
                           pawl_error *error) {
    uint8_t blocks[IDENTITY_BYTES];
    identity_encode(identity, blocks);
    memcpy(blocks + OS_SECTOR_BYTES, blocks, OS_SECTOR_BYTES);
    int failed = os_file_write(os, file, blocks, sizeof blocks, 0);
    if (failed == 0 && STEP_IS_ON(STEP_CREATE_SYNC_IDENTITY))
        failed = os_file_sync(os, file);
    if (failed != 0)
        return error_os(error, failed, IDENTITY_NAME, 0, "cannot write %s", IDENTITY_NAME);
    return PAWL_OK;
}

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

/* One of the two copies. */
static pawl_status identity_decode(const uint8_t block[OS_SECTOR_BYTES],
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

static enum identity_verdict identity_judge(const struct identity_copies *copies) {
    const bool first_is_whole = copies->statuses[0] != PAWL_DAMAGED;
    const bool second_is_whole = copies->statuses[1] != PAWL_DAMAGED;
    if (bytes_are_zero(copies->blocks, sizeof copies->blocks))
        return IDENTITY_BLANK;
    if (!first_is_whole && !second_is_whole)
        return IDENTITY_BROKEN;
    if (first_is_whole && second_is_whole &&
        memcmp(copies->blocks[0], copies->blocks[1], AT_HASH) != 0)
        return IDENTITY_DIFFERENT;
    return copies->statuses[first_is_whole ? 0 : 1] == PAWL_OK ? IDENTITY_SOUND : IDENTITY_NEWER;
}

pawl_status identity_read_copies(struct os *os, struct os_file *file,
                                 struct identity_copies *ret_copies, pawl_error *error) {
    struct identity_copies copies = {0};
    size_t read;
    const int failed = os_file_read(os, file, copies.blocks, sizeof copies.blocks, 0, &read);
    if (failed != 0)
        return error_os(error, failed, IDENTITY_NAME, 0, "cannot read %s", IDENTITY_NAME);
    for (size_t i = 0; i < 2; i++)
        copies.statuses[i] = identity_decode(copies.blocks[i], &copies.copies[i]);
    copies.verdict = identity_judge(&copies);
    *ret_copies = copies;
    return PAWL_OK;
}

static pawl_status identity_refuse(pawl_status status, const char *sentence, pawl_error *error) {
    return error_at(error, error_set(error, status, "%s", sentence), IDENTITY_NAME, 0, 0);
}

pawl_status identity_take(const struct identity_copies *copies, struct identity *ret_identity,
                          pawl_error *error) {
    switch (copies->verdict) {
    case IDENTITY_BLANK: return PAWL_EMPTY;
    case IDENTITY_BROKEN:
        return identity_refuse(
            PAWL_DAMAGED, "neither copy in identity is whole; restore it from a backup", error);
    case IDENTITY_DIFFERENT:
        return identity_refuse(
            PAWL_DAMAGED, "the two copies in identity differ; restore it from a backup", error);
    case IDENTITY_NEWER:
        return identity_refuse(PAWL_VERSION, "the store was made by a newer version of the library",
                               error);
    case IDENTITY_SOUND: break;
    }
    *ret_identity = copies->copies[copies->statuses[0] == PAWL_OK ? 0 : 1];
    return PAWL_OK;
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

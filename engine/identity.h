/* identity: the file that makes a directory a store: its uuid, its secret, its incarnation.
 *
 * Two copies of one block, in two sectors, written once; what can change is in the log. The file is
 * also what the byte locks are taken on (slots.h), so it is never deleted, renamed or replaced.
 * An empty or all-zero file is a store whose making was interrupted before anything was promised.
 * Threads: who calls holds the door (slots.h).
 */
#ifndef PAWL_ENGINE_IDENTITY_H
#define PAWL_ENGINE_IDENTITY_H

#include "os.h"
#include "status.h"

#define IDENTITY_NAME "identity"

enum {
    IDENTITY_UUID_BYTES = 16,
    IDENTITY_BYTES = 2 * OS_SECTOR_BYTES,
    IDENTITY_FORMAT_VERSION = 0,
};

struct identity {
    uint8_t uuid[IDENTITY_UUID_BYTES];
    uint64_t secret;      /* seeds every checksum of the store */
    uint64_t incarnation; /* 1; a restored store has a higher one, and refuses older receipts */
};

/* A new one, from the machine's entropy. */
pawl_status identity_draw(struct os *os, struct identity *ret_identity, pawl_error *error);

/* PAWL_EMPTY: nothing was ever written. PAWL_DAMAGED: neither copy is whole, or both are and they
 * differ. PAWL_VERSION. */
pawl_status identity_read(struct os *os, struct os_file *file, struct identity *ret_identity,
                          pawl_error *error);

/* One of the two copies. PAWL_DAMAGED: it is not whole. PAWL_VERSION. */
pawl_status identity_read_copy(const uint8_t block[OS_SECTOR_BYTES], struct identity *ret_identity);

/* Writes both copies and syncs the file; its name is the caller's to sync. */
pawl_status identity_write(struct os *os, struct os_file *file, const struct identity *identity,
                           pawl_error *error);

#endif

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

enum identity_verdict {
    IDENTITY_BLANK,     /* nothing was ever written */
    IDENTITY_BROKEN,    /* neither copy is whole: damage, or a creation that died */
    IDENTITY_DIFFERENT, /* both are, and differ: no crash leaves that */
    IDENTITY_NEWER,     /* of a newer format */
    IDENTITY_SOUND,     /* one is whole, or both are, alike */
};

/* The file as it is. */
struct identity_copies {
    enum identity_verdict verdict;
    uint8_t blocks[2][OS_SECTOR_BYTES];
    pawl_status statuses[2];   /* PAWL_DAMAGED: this copy is not whole. PAWL_VERSION */
    struct identity copies[2]; /* where the status is PAWL_OK */
};

/* PAWL_IO and so on: it could not be read. */
pawl_status identity_read_copies(struct os *os, struct os_file *file,
                                 struct identity_copies *ret_copies, pawl_error *error);

/* The identity, if they are sound. PAWL_EMPTY: blank. PAWL_DAMAGED: broken or different.
 * PAWL_VERSION. */
pawl_status identity_take(const struct identity_copies *copies, struct identity *ret_identity,
                          pawl_error *error);

/* Writes both copies and syncs the file; its name is the caller's to sync. */
pawl_status identity_write(struct os *os, struct os_file *file, const struct identity *identity,
                           pawl_error *error);

#endif

/* verify: a look at a store without opening it: every frame in order, everything that is not whole.
 *
 * It serves a store that is closed, in use, damaged, or in a directory that can't be written to.
 * What it is not: a repair, or an opening.
 *
 * Invariants
 * V1  Nothing is written, locked, synced or dropped from the cache, `shared` included. So it judges
 *     what programs see; an opening, which drops the cache first, may see less after a failed sync.
 * V2  What an opening would refuse as damage is found to be damage here, and more: an opening reads
 *     the log's end, this reads all of it.
 * V3  What stands behind the tail of a store in use is in flux and never damage.
 * Threads: one look belongs to one thread.
 */
#ifndef PAWL_ENGINE_VERIFY_H
#define PAWL_ENGINE_VERIFY_H

#include "walk.h"

struct verify;

struct verify_options {
    uint64_t from_lsn; /* frames before it are neither visited nor counted */
    bool is_full;      /* check payloads and padding too, and what lies beside the frames */
};

struct verify_report {
    uint64_t segments; /* of the log; a segment made ahead is none yet */
    uint64_t frames;
    uint64_t records;
    uint64_t bytes; /* of those frames */
    uint64_t first_lsn;
    uint64_t durable_lsn; /* known to be durable */
    uint64_t tail_lsn;
    uint64_t torn_bytes; /* behind the tail of a closed store: the next opening cuts them off */
    uint64_t found[WALK_KIND_COUNT]; /* findings of each kind */
    bool is_in_use;                  /* a process has the store open */
    bool has_changed; /* the store was opened or closed meanwhile: findings may be of both */
};

/* PAWL_NO_STORE, PAWL_VERSION, PAWL_PERMISSION, PAWL_IO, PAWL_NO_MEMORY. A store whose identity or
 * log/ is damaged is opened, and one whose log/ can't be read: verify_run() then tells. */
pawl_status verify_open(struct os *os, const char *path, struct verify **ret_verify,
                        pawl_error *error);
void verify_close(struct verify *verify);

/* Visits all there is. Once. PAWL_OK however much is damaged or can't be read; *ret_report counts.
 * PAWL_VERSION: a file is of a newer format. PAWL_IO: the store as a whole can't be looked at.
 * PAWL_NO_MEMORY; or what a visitor answered. */
pawl_status verify_run(struct verify *verify, const struct verify_options *options,
                       const struct walk_visitor *visitor, struct verify_report *ret_report,
                       pawl_error *error);

/* Visits what has come since, as far as it is whole. PAWL_OK, also when nothing has. */
pawl_status verify_follow(struct verify *verify, pawl_error *error);

#endif

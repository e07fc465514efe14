/* shared: the memory that all processes with the store open have in common, and its owner words.
 *
 * It is a small file, mapped by every handle. It is right while any handle is open and means
 * nothing afterwards: who is proved alone writes it anew before anybody maps it. Nothing in it is
 * needed to understand the log.
 *
 * Owner words. The append lock and the lead of a group commit are each one futex word that holds
 * who has it: slot and generation of a session. The kernel tells when a session's process is dead
 * (slots.h); the word tells what it held. A word is taken over by replacing exactly the dead
 * owner's value, so of many that notice one wins, and a slot that was taken again in between is
 * another value.
 *
 * Invariants
 * H1  tail_lsn, active_ordinal, is_sealed and appending_lsn change only under the append lock.
 *
 * H2  Every frame below tail_lsn is wholly in its file. active_ordinal is set before the tail
 *     passes its segment's first LSN.
 *
 * H3  appending_lsn is set before a frame is written and cleared after tail_lsn has passed it. Who
 *     takes the lock and finds it set settles the tail first.
 *
 * H4  durable_lsn only grows, and only by who leads a sync that has returned. Every byte of the log
 *     below it is on stable storage.
 *
 * H5  Once failure is set, nothing new is appended, and durable_lsn grows no more but by a sync
 *     that was under way.
 *
 * H6  What a process that is gone had written, or was syncing, and what is not durable yet, lies
 *     below rewrite_lsn, or below the dirty_lsn of a slot that nobody holds, or it still stands in
 *     sync_owner.
 *
 * Threads: every field is atomic, or constant from the end of the opening that made it; but a
 * slot's host and command, which serve a sentence and are read as they may stand. Orders are given
 * at the functions.
 */
#ifndef PAWL_ENGINE_SHARED_H
#define PAWL_ENGINE_SHARED_H

#include "identity.h"
#include "os.h"
#include "status.h"

#define SHARED_NAME "shared"

#define SHARED_OWNER_WAITED (1U << 31)

enum {
    SHARED_SLOTS = 250,
    SHARED_GENERATION_MAX = (1U << 23) - 1,
};

/* 0: nobody; else slot | generation << 8, and SHARED_OWNER_WAITED when somebody sleeps on it. */
typedef uint32_t shared_owner;

/* Who has a slot. Written by its owner before anybody can see the slot's generation in a word, but
 * for dirty_lsn. */
struct shared_slot {
    _Atomic uint32_t generation; /* of the newest session in it; 0 never used */
    _Atomic uint32_t pid;
    _Atomic uint64_t dirty_lsn; /* it may have written up to here; set before it writes */
    char host[64];
    char command[64];
    uint8_t reserved[112];
};

struct shared {
    /* Constant from shared_make() on. */
    uint64_t magic;
    uint32_t version;
    uint32_t bytes;
    uint8_t boot_id[OS_BOOT_ID_BYTES];
    uint8_t uuid[IDENTITY_UUID_BYTES];
    uint64_t opening;       /* drawn anew by each opener that is alone */
    uint64_t segment_bytes; /* what all of them use */
    uint64_t opening_lsn;   /* the tail when it was made; for who is alone to set */
    uint64_t closed_lsn;    /* the same, if the log was closed cleanly there; else 0 */

    uint8_t apart_1[64];
    _Atomic uint32_t append_owner;
    _Atomic uint32_t is_sealed; /* the active segment has its footer */
    _Atomic uint64_t appending_lsn;
    _Atomic uint64_t tail_lsn;
    _Atomic uint64_t active_ordinal;
    _Atomic uint64_t sync_frames; /* frames so far that somebody waits for */

    uint8_t apart_2[64];
    _Atomic uint64_t room_lsn;      /* the active segment is zero-filled up to here */
    _Atomic uint64_t ready_ordinal; /* a segment made ahead, and the next one's file; 0 none */
    _Atomic uint32_t ready_is_reserve;
    _Atomic uint32_t supply_owner; /* who makes segments, for the sentence of who waits */
    _Atomic uint32_t active_is_reserve;
    _Atomic uint64_t marked_lsn; /* the tail behind the newest mark */

    uint8_t apart_3[64];
    _Atomic uint32_t sync_owner;
    _Atomic uint32_t durable_event; /* counts up when durable_lsn or failure has changed */
    _Atomic uint32_t durable_waiters;
    _Atomic uint32_t group_frames; /* how many frames the last sync made durable */
    _Atomic uint64_t durable_lsn;
    _Atomic uint64_t rewrite_lsn;   /* below it, what is not durable is written again first */
    _Atomic uint64_t synced_frames; /* sync_frames when the last sync began */

    uint8_t apart_4[64];
    _Atomic uint64_t failure; /* errno and ordinal of what latched the store; 0: it is not */

    uint8_t apart_5[64];
    _Atomic uint32_t tail_event; /* counts up when tail_lsn has changed */
    _Atomic uint32_t tail_waiters;

    uint8_t apart_last[64];
    _Atomic uint32_t slots_used; /* no slot from here on was ever taken */
    struct shared_slot slots[SHARED_SLOTS];
};

/* Writes the file anew, of full size, so that a mapping of it can never lack a block, and maps it;
 * for who holds the door and is alone. */
pawl_status shared_make(struct os *os, struct os_dir *dir, const struct identity *identity,
                        uint64_t segment_bytes, struct shared **ret_shared, pawl_error *error);

/* Maps it. PAWL_DAMAGED when it is not of this boot and this store while somebody has it open: then
 * something outside replaced it. */
pawl_status shared_map(struct os *os, struct os_dir *dir, const struct identity *identity,
                       struct shared **ret_shared, pawl_error *error);

/* How far the log of a store in use reaches, read as a file by who only looks. */
struct shared_glance {
    uint64_t opening;
    uint64_t tail_lsn; /* never more than the true one */
    uint64_t durable_lsn;
    uint64_t active_ordinal; /* never less than the one that holds tail_lsn */
};

/* PAWL_EMPTY when the file means nothing: it is of another boot or store, or not there. */
pawl_status shared_look(struct os *os, struct os_dir *dir, const struct identity *identity,
                        struct shared_glance *ret_glance);

void shared_unmap(struct os *os, struct shared *shared);

/* For a handle that has the store for itself: the same in its own memory. */
pawl_status shared_make_private(struct os *os, const struct identity *identity,
                                uint64_t segment_bytes, struct shared **ret_shared,
                                pawl_error *error);
void shared_release_private(struct os *os, struct shared *shared);

static inline shared_owner shared_owner_make(unsigned slot, uint32_t generation) {
    return slot | generation << 8;
}

static inline unsigned shared_owner_slot(shared_owner owner) {
    return owner & 0xffU;
}

static inline uint32_t shared_owner_generation(shared_owner owner) {
    return (owner & ~SHARED_OWNER_WAITED) >> 8;
}

/* Takes the word for `self` if it is free. Who has slept on it passes SHARED_OWNER_WAITED with it,
 * since others may sleep there still. Acquire. */
bool shared_owner_try(_Atomic uint32_t *word, shared_owner self);

/* Replaces the dead `owner` (as it was read from the word) by `self`. False: somebody was quicker.
 */
bool shared_owner_replace(_Atomic uint32_t *word, shared_owner owner, shared_owner self);

/* Says that somebody is about to sleep on the word, and what to sleep on; 0 when it has become
 * free. */
uint32_t shared_owner_mark_waited(_Atomic uint32_t *word);

/* Gives the word up and wakes one sleeper. Release. */
void shared_owner_drop(struct os *os, _Atomic uint32_t *word);

/* Counts an event and wakes everybody who waits for it. */
void shared_event_raise(struct os *os, _Atomic uint32_t *event, _Atomic uint32_t *waiters);

/* Is it still what it was when it was mapped? Somebody outside may have written over it. */
bool shared_is_sound(const struct shared *shared);

/* Raises rewrite_lsn to `lsn`, if it is lower. */
void shared_raise_rewrite(struct shared *shared, uint64_t lsn);

/* Latches the store (H5): segment `ordinal` could not be made durable. The first cause stays. */
void shared_fail(struct os *os, struct shared *shared, int os_errno, uint64_t ordinal);

static inline bool shared_is_failed(const struct shared *shared) {
    return atomic_load(&shared->failure) != 0;
}

/* The first cause. */
void shared_failure(const struct shared *shared, int *ret_errno, uint64_t *ret_ordinal);

#endif

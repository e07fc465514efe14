#include "shared.h"

#include "check.h"
#include "segment.h"

#include <string.h>

#define SHARED_MAGIC 0x444552414853574cU /* "LWSHARED" */
enum { SHARED_VERSION = 1 };

STATIC_CHECK(sizeof(struct shared_slot) == 256, "slots keep their place");
STATIC_CHECK(SHARED_SLOTS <= 256, "a slot fits its byte of an owner word");

static pawl_status shared_fill(struct os *os, struct shared *shared,
                               const struct identity *identity, uint64_t segment_bytes,
                               pawl_error *error) {
    shared->magic = SHARED_MAGIC;
    shared->version = SHARED_VERSION;
    shared->bytes = sizeof *shared;
    os_boot_id(os, shared->boot_id);
    memcpy(shared->uuid, identity->uuid, sizeof shared->uuid);
    shared->segment_bytes = segment_bytes;
    const int failed = os_entropy(os, &shared->opening, sizeof shared->opening);
    if (failed != 0)
        return error_os(error, failed, SHARED_NAME, 0, "no entropy to open the store");
    return PAWL_OK;
}

static bool shared_is_of(struct os *os, const struct shared *shared,
                         const struct identity *identity) {
    uint8_t boot_id[OS_BOOT_ID_BYTES];
    os_boot_id(os, boot_id);
    return shared->magic == SHARED_MAGIC && shared->version == SHARED_VERSION &&
           shared->bytes == sizeof *shared &&
           memcmp(shared->boot_id, boot_id, sizeof boot_id) == 0 &&
           memcmp(shared->uuid, identity->uuid, sizeof shared->uuid) == 0;
}

pawl_status shared_map(struct os *os, struct os_dir *dir, const struct identity *identity,
                       struct shared **ret_shared, pawl_error *error) {
    struct os_file *file;
    int failed = os_file_open(os, dir, SHARED_NAME, OS_OPEN_READ | OS_OPEN_WRITE, &file);
    if (failed != 0)
        return error_os(error, failed, SHARED_NAME, 0, "cannot open %s of a store in use",
                        SHARED_NAME);
    void *address = NULL;
    struct os_stat stat = {0};
    failed = os_file_stat(os, file, &stat);
    if (failed == 0 && stat.bytes >= sizeof(struct shared))
        failed = os_file_map(os, file, sizeof(struct shared), &address);
    (void)os_file_close(os, file); /* nothing was written through it, and a mapping outlives it */
    if (failed != 0)
        return error_os(error, failed, SHARED_NAME, 0, "cannot map %s", SHARED_NAME);
    const struct shared *shared = address;
    if (shared == NULL || !shared_is_of(os, shared, identity)) {
        if (address != NULL)
            os_file_unmap(os, address, sizeof *shared);
        return error_at(error,
                        error_set(error, PAWL_DAMAGED,
                                  "%s was replaced while the store is open; close every process "
                                  "that has it open and open it again",
                                  SHARED_NAME),
                        SHARED_NAME, 0, 0);
    }
    *ret_shared = address;
    return PAWL_OK;
}

/* What was written may be gone from the cache before it is mapped, if the disk refused it
 * meanwhile: it is set in the mapping once more. */
static pawl_status shared_write(struct os *os, struct os_dir *dir, const struct shared *content,
                                struct shared **ret_shared, pawl_error *error) {
    struct os_file *file;
    void *address = NULL;
    int failed =
        os_file_open(os, dir, SHARED_NAME, OS_OPEN_READ | OS_OPEN_WRITE | OS_OPEN_CREATE, &file);
    if (failed == 0) {
        /* What lies behind it stays: who holds the door has left its name there. */
        failed = os_file_write(os, file, content, sizeof *content, 0);
        if (failed == 0)
            failed = os_file_map(os, file, sizeof *content, &address);
        (void)os_file_close(os, file); /* nothing of it is to be durable */
    }
    if (failed != 0)
        return error_os(error, failed, SHARED_NAME, 0, "cannot write %s", SHARED_NAME);
    memcpy(address, content, sizeof *content);
    *ret_shared = address;
    return PAWL_OK;
}

pawl_status shared_make(struct os *os, struct os_dir *dir, const struct identity *identity,
                        uint64_t segment_bytes, struct shared **ret_shared, pawl_error *error) {
    struct shared *content;
    if (!STEP_IS_ON(STEP_SHARED_ANEW))
        return shared_map(os, dir, identity, ret_shared, error);
    TRY(shared_make_private(os, identity, segment_bytes, &content, error));
    const pawl_status status = shared_write(os, dir, content, ret_shared, error);
    shared_release_private(os, content);
    return status;
}

/* A second read, after the first has returned, is what makes the order of the two fields sure. */
pawl_status shared_look(struct os *os, struct os_dir *dir, const struct identity *identity,
                        struct shared_glance *ret_glance) {
    struct os_file *file;
    struct shared *seen = os_allocate(os, sizeof *seen);
    if (seen == NULL)
        return PAWL_NO_MEMORY;
    pawl_status status = PAWL_EMPTY;
    if (os_file_open(os, dir, SHARED_NAME, OS_OPEN_READ, &file) == 0) {
        size_t first = 0, second = 0;
        uint64_t tail_lsn = 0;
        if (os_file_read(os, file, seen, sizeof *seen, 0, &first) == 0)
            tail_lsn = atomic_load(&seen->tail_lsn);
        if (os_file_read(os, file, seen, sizeof *seen, 0, &second) == 0 && first == sizeof *seen &&
            second == sizeof *seen && shared_is_of(os, seen, identity)) {
            ret_glance->opening = seen->opening;
            ret_glance->tail_lsn = tail_lsn;
            ret_glance->durable_lsn = atomic_load(&seen->durable_lsn);
            ret_glance->active_ordinal = atomic_load(&seen->active_ordinal);
            status = PAWL_OK;
        }
        (void)os_file_close(os, file); /* only read */
    }
    os_release(os, seen, sizeof *seen);
    return status;
}

void shared_unmap(struct os *os, struct shared *shared) {
    os_file_unmap(os, shared, sizeof *shared);
}

pawl_status shared_make_private(struct os *os, const struct identity *identity,
                                uint64_t segment_bytes, struct shared **ret_shared,
                                pawl_error *error) {
    struct shared *shared = os_allocate(os, sizeof *shared);
    if (shared == NULL)
        return error_set(error, PAWL_NO_MEMORY, "no memory to open the store");
    const pawl_status status = shared_fill(os, shared, identity, segment_bytes, error);
    if (status != PAWL_OK) {
        os_release(os, shared, sizeof *shared);
        return status;
    }
    *ret_shared = shared;
    return PAWL_OK;
}

void shared_release_private(struct os *os, struct shared *shared) {
    os_release(os, shared, sizeof *shared);
}

bool shared_owner_try(_Atomic uint32_t *word, shared_owner self) {
    uint32_t expected = 0;
    return atomic_compare_exchange_strong_explicit(word, &expected, self, memory_order_acquire,
                                                   memory_order_relaxed);
}

bool shared_owner_replace(_Atomic uint32_t *word, shared_owner owner, shared_owner self) {
    uint32_t expected = owner;
    return atomic_compare_exchange_strong_explicit(word, &expected,
                                                   self | (owner & SHARED_OWNER_WAITED),
                                                   memory_order_acquire, memory_order_relaxed);
}

uint32_t shared_owner_mark_waited(_Atomic uint32_t *word) {
    uint32_t seen = atomic_load_explicit(word, memory_order_relaxed);
    while (seen != 0 && (seen & SHARED_OWNER_WAITED) == 0) {
        if (atomic_compare_exchange_weak_explicit(word, &seen, seen | SHARED_OWNER_WAITED,
                                                  memory_order_relaxed, memory_order_relaxed))
            return seen | SHARED_OWNER_WAITED;
    }
    return seen;
}

void shared_owner_drop(struct os *os, _Atomic uint32_t *word) {
    const uint32_t was = atomic_exchange_explicit(word, 0, memory_order_release);
    os_step(os);
    if ((was & SHARED_OWNER_WAITED) != 0)
        os_futex_wake(os, word, 1);
}

void shared_event_raise(struct os *os, _Atomic uint32_t *event, _Atomic uint32_t *waiters) {
    atomic_fetch_add_explicit(event, 1, memory_order_seq_cst);
    if (atomic_load_explicit(waiters, memory_order_seq_cst) != 0)
        os_futex_wake(os, event, UINT32_MAX);
}

bool shared_is_sound(const struct shared *shared) {
    return shared->magic == SHARED_MAGIC;
}

void shared_raise_rewrite(struct shared *shared, uint64_t lsn) {
    uint64_t seen = atomic_load(&shared->rewrite_lsn);
    while (seen < lsn && !atomic_compare_exchange_weak(&shared->rewrite_lsn, &seen, lsn))
        continue;
}

/* One word, so that the errno of one failure is never told with the segment of another. */
enum { FAILURE_ORDINAL_BITS = 40 };

STATIC_CHECK(SEGMENT_ORDINAL_MAX < UINT64_C(1) << FAILURE_ORDINAL_BITS, "an ordinal has room");

void shared_failure(const struct shared *shared, int *ret_errno, uint64_t *ret_ordinal) {
    const uint64_t failure = atomic_load(&shared->failure);
    *ret_errno = (int)(failure >> FAILURE_ORDINAL_BITS);
    *ret_ordinal = failure & ((UINT64_C(1) << FAILURE_ORDINAL_BITS) - 1);
}

void shared_fail(struct os *os, struct shared *shared, int os_errno, uint64_t ordinal) {
    uint64_t none = 0;
    const uint64_t failure = (uint64_t)os_errno << FAILURE_ORDINAL_BITS | ordinal;
    (void)atomic_compare_exchange_strong(&shared->failure, &none, failure);
    shared_event_raise(os, &shared->durable_event, &shared->durable_waiters);
    shared_event_raise(os, &shared->tail_event, &shared->tail_waiters);
}

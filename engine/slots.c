#include "slots.h"

#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Far behind the file's content: a lock needs no byte to be there. */
enum {
    BYTE_DOOR = 1 << 20,
    BYTE_MAINTENANCE,
    BYTE_FIRST_SLOT = BYTE_DOOR + 256,
};

/* Who holds the door has no slot yet that could name it, so it leaves its name behind the part of
 * `shared` that is mapped. A hint, for the sentence of who waits. */
enum { HINT_AT = (sizeof(struct shared) + 4095) / 4096 * 4096 };

static const uint64_t pause_ns_min = 50 * 1000;
static const uint64_t pause_ns_max = 4 * 1000 * 1000;

static void door_leave_name(struct slots *slots, struct os_dir *dir) {
    struct os_file *file;
    struct os_process process = {0};
    os_process(slots->os, &process);
    if (os_file_open(slots->os, dir, SHARED_NAME, OS_OPEN_READ | OS_OPEN_WRITE | OS_OPEN_CREATE,
                     &file) != 0)
        return;
    (void)os_file_write(slots->os, file, &process, sizeof process, HINT_AT); /* a hint */
    (void)os_file_close(slots->os, file);
}

static pawl_status door_busy(struct slots *slots, struct os_dir *dir, pawl_error *error) {
    struct os_file *file;
    struct os_process process = {0};
    size_t read = 0;
    if (os_file_open(slots->os, dir, SHARED_NAME, OS_OPEN_READ, &file) == 0) {
        if (os_file_read(slots->os, file, &process, sizeof process, HINT_AT, &read) != 0)
            read = 0;
        (void)os_file_close(slots->os, file); /* only read */
    }
    if (read < sizeof process || process.pid == 0)
        return error_set(error, PAWL_BUSY, "another process is opening or closing the store");
    process.host[sizeof process.host - 1] = '\0';
    process.command[sizeof process.command - 1] = '\0';
    return error_set(error, PAWL_BUSY,
                     "the store is being opened or closed, or held for itself alone, by process "
                     "%u on %s (%s)",
                     process.pid, process.host, process.command);
}

pawl_status slots_take_door(struct slots *slots, struct os_dir *dir, uint64_t deadline,
                            pawl_error *error) {
    uint64_t pause_ns = pause_ns_min;
    for (;;) {
        const int failed = os_lock_take(slots->os, slots->identity, BYTE_DOOR);
        if (failed == 0)
            break;
        if (failed != EAGAIN)
            return error_os(error, failed, IDENTITY_NAME, 0, "cannot lock %s", IDENTITY_NAME);
        if (os_clock_boot(slots->os) >= deadline)
            return door_busy(slots, dir, error);
        os_pause(slots->os, pause_ns);
        pause_ns = pause_ns * 2 > pause_ns_max ? pause_ns_max : pause_ns * 2;
    }
    door_leave_name(slots, dir);
    return PAWL_OK;
}

void slots_drop_door(struct slots *slots) {
    os_lock_drop(slots->os, slots->identity, BYTE_DOOR);
}

pawl_status slots_are_free(struct slots *slots, bool *ret_free, unsigned *ret_slot,
                           pawl_error *error) {
    uint64_t held = BYTE_FIRST_SLOT;
    const int failed =
        os_lock_find(slots->os, slots->identity, BYTE_FIRST_SLOT, SHARED_SLOTS, &held);
    if (failed != 0 && failed != ENOENT)
        return error_os(error, failed, IDENTITY_NAME, 0, "cannot test the locks of %s",
                        IDENTITY_NAME);
    *ret_free = failed == ENOENT;
    *ret_slot = (unsigned)(held - BYTE_FIRST_SLOT);
    return PAWL_OK;
}

pawl_status slots_hold(struct slots *slots, struct os_dir *dir, bool is_alone, pawl_error *error) {
    int failed = is_alone ? os_dir_hold(slots->os, dir, true) : 0;
    if (failed == 0)
        failed = os_dir_hold(slots->os, dir, false);
    if (failed == EAGAIN)
        return error_set(error, PAWL_BUSY,
                         "others have the store open and hold another file %s: it was replaced; "
                         "close the store everywhere first",
                         IDENTITY_NAME);
    if (failed != 0)
        return error_os(error, failed, NULL, 0, "cannot lock the store's directory");
    return PAWL_OK;
}

pawl_status slots_find_door(struct slots *slots, bool *ret_held, pawl_error *error) {
    uint64_t held;
    const int failed = os_lock_find(slots->os, slots->identity, BYTE_DOOR, 1, &held);
    if (failed != 0 && failed != ENOENT)
        return error_os(error, failed, IDENTITY_NAME, 0, "cannot test the locks of %s",
                        IDENTITY_NAME);
    *ret_held = failed == 0;
    return PAWL_OK;
}

static void slot_fill(struct slots *slots, struct shared_slot *slot) {
    struct os_process process = {0};
    os_process(slots->os, &process);
    atomic_store(&slot->pid, process.pid);
    atomic_store(&slot->dirty_lsn, 0);
    (void)snprintf(slot->host, sizeof slot->host, "%s", process.host);
    (void)snprintf(slot->command, sizeof slot->command, "%s", process.command);
    /* L2: before its new owner can own anything. */
    const uint32_t was = atomic_load(&slot->generation);
    uint32_t is = was;
    if (STEP_IS_ON(STEP_SLOT_GENERATION) || was == 0)
        is = was == SHARED_GENERATION_MAX ? 1 : was + 1;
    os_step(slots->os);
    atomic_store(&slot->generation, is);
}

static bool slot_is_held(struct slots *slots, unsigned slot) {
    uint64_t held;
    return os_lock_find(slots->os, slots->identity, BYTE_FIRST_SLOT + slot, 1, &held) != ENOENT;
}

pawl_status slots_take(struct slots *slots, struct shared *shared, pawl_error *error) {
    for (unsigned i = 0; i < SHARED_SLOTS; i++) {
        if (slot_is_held(slots, i))
            continue;
        /* What its last owner left goes on being owed (H6), from before the slot is held again. */
        shared_raise_rewrite(shared, atomic_load(&shared->slots[i].dirty_lsn));
        const int failed = os_lock_take(slots->os, slots->identity, BYTE_FIRST_SLOT + i);
        if (failed == EAGAIN)
            continue;
        if (failed != 0)
            return error_os(error, failed, IDENTITY_NAME, 0, "cannot lock %s", IDENTITY_NAME);
        slot_fill(slots, &shared->slots[i]);
        if (atomic_load(&shared->slots_used) <= i)
            atomic_store(&shared->slots_used, i + 1);
        slots->shared = shared;
        slots->self = shared_owner_make(i, atomic_load(&shared->slots[i].generation));
        return PAWL_OK;
    }
    return error_set(error, PAWL_BUSY,
                     "all %d sessions of the store are taken, the first by process %u",
                     SHARED_SLOTS, atomic_load(&shared->slots[0].pid));
}

bool slots_owner_is_dead(struct slots *slots, shared_owner owner) {
    const unsigned slot = shared_owner_slot(owner);
    const uint32_t generation = shared_owner_generation(owner);
    if (slot >= SHARED_SLOTS)
        return true;
    if (atomic_load(&slots->shared->slots[slot].generation) != generation)
        return true;
    if (slot == shared_owner_slot(slots->self))
        return generation != shared_owner_generation(slots->self);
    return !slot_is_held(slots, slot);
}

bool slots_left_dirty(struct slots *slots, uint64_t durable_lsn) {
    const struct shared *shared = slots->shared;
    const uint32_t used = atomic_load(&shared->slots_used);
    const unsigned self = shared_owner_slot(slots->self);
    for (unsigned i = 0; i < used && i < SHARED_SLOTS; i++) {
        if (i != self && atomic_load(&shared->slots[i].dirty_lsn) > durable_lsn &&
            !slot_is_held(slots, i))
            return true;
    }
    return false;
}

pawl_status slots_busy(const struct slots *slots, shared_owner owner, const char *what,
                       pawl_error *error) {
    const unsigned index = shared_owner_slot(owner);
    if (owner == 0 || index >= SHARED_SLOTS)
        return error_set(error, PAWL_BUSY, "another process holds %s", what);
    struct shared_slot *slot = &slots->shared->slots[index];
    return error_set(error, PAWL_BUSY, "process %u on %.63s (%.63s) holds %s",
                     atomic_load(&slot->pid), slot->host, slot->command, what);
}

bool slots_take_maintenance(struct slots *slots) {
    return os_lock_take(slots->os, slots->identity, BYTE_MAINTENANCE) == 0;
}

void slots_drop_maintenance(struct slots *slots) {
    os_lock_drop(slots->os, slots->identity, BYTE_MAINTENANCE);
}

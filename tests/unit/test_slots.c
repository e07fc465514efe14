#include "os_posix_world.h"

#include "slots.h"

#include <signal.h>

static const struct identity ours = {.uuid = {1, 2, 3}, .secret = 4, .incarnation = 1};

/* One handle: its own open of identity, its own mapping. */
struct session {
    struct slots slots;
    struct shared *shared;
};

static void session_begin(struct session *session) {
    memset(session, 0, sizeof *session);
    session->slots.os = os;
    session->slots.identity = must_open(IDENTITY_NAME, MAKE);
    cr_assert_eq(shared_map(os, dir, &ours, &session->shared, NULL), PAWL_OK);
}

static void session_end(struct session *session) {
    shared_unmap(os, session->shared);
    (void)os_file_close(os, session->slots.identity);
}

/* Its slot is free and its file open again, as after one process's end and another's start. */
static void session_renew(struct session *session) {
    session_end(session);
    session_begin(session);
}

static void make_shared(void) {
    set_up();
    struct shared *shared = NULL;
    cr_assert_eq(shared_make(os, dir, &ours, 8192, &shared, NULL), PAWL_OK);
    shared_unmap(os, shared);
}

static shared_owner must_take(struct session *session) {
    cr_assert_eq(slots_take(&session->slots, session->shared, NULL), PAWL_OK);
    return session->slots.self;
}

static bool are_free(struct session *session, unsigned *ret_slot) {
    bool is_free = false;
    cr_assert_eq(slots_are_free(&session->slots, &is_free, ret_slot, NULL), PAWL_OK);
    return is_free;
}

Test(slots, the_door_lets_one_in_and_says_who, .init = make_shared, .fini = tear_down) {
    struct session first, second;
    session_begin(&first);
    session_begin(&second);
    pawl_error error;
    char pid[32];
    (void)snprintf(pid, sizeof pid, "process %d ", (int)getpid());
    cr_assert_eq(slots_take_door(&first.slots, dir, 0, NULL), PAWL_OK, "free, even in the past");
    cr_assert_eq(slots_take_door(&second.slots, dir, 0, &error), PAWL_BUSY);
    cr_assert_not_null(strstr(error.sentence, pid), "%s", error.sentence);
    const uint64_t deadline = os_clock_boot(os) + 3000000;
    cr_assert_eq(slots_take_door(&second.slots, dir, deadline, &error), PAWL_BUSY);
    cr_assert_geq(os_clock_boot(os), deadline, "it waited until then");
    slots_drop_door(&first.slots);
    cr_assert_eq(slots_take_door(&second.slots, dir, 0, NULL), PAWL_OK);
    slots_drop_door(&second.slots);
    session_end(&first);
    session_end(&second);
}

Test(slots, the_name_at_the_door_leaves_shared_alone, .init = make_shared, .fini = tear_down) {
    struct session session;
    session_begin(&session);
    atomic_store(&session.shared->slots[SHARED_SLOTS - 1].pid, 4711);
    cr_assert_eq(slots_take_door(&session.slots, dir, 0, NULL), PAWL_OK);
    cr_assert_eq(atomic_load(&session.shared->slots[SHARED_SLOTS - 1].pid), 4711);
    slots_drop_door(&session.slots);
    struct shared *again = NULL;
    cr_assert_eq(shared_map(os, dir, &ours, &again, NULL), PAWL_OK, "and is mapped as before");
    shared_unmap(os, again);
    session_end(&session);
}

Test(slots, one_held_means_that_nobody_is_alone, .init = make_shared, .fini = tear_down) {
    struct session first, second;
    unsigned slot = 99;
    session_begin(&first);
    session_begin(&second);
    cr_assert(are_free(&first, &slot));
    (void)must_take(&first);
    cr_assert(are_free(&first, &slot), "its own does not count");
    cr_assert(!are_free(&second, &slot));
    cr_assert_eq(slot, 0);
    session_renew(&first);
    cr_assert(are_free(&second, &slot));
    session_end(&first);
    session_end(&second);
}

Test(slots, closing_identity_gives_the_slot_back, .init = make_shared, .fini = tear_down) {
    struct session first, second;
    unsigned slot;
    session_begin(&first);
    session_begin(&second);
    const shared_owner owner = must_take(&first);
    (void)must_take(&second);
    cr_assert(!slots_owner_is_dead(&second.slots, owner));
    session_end(&first);
    cr_assert(are_free(&second, &slot));
    cr_assert(slots_owner_is_dead(&second.slots, owner));
    session_end(&second);
}

Test(slots, a_slot_taken_again_is_another_session, .init = make_shared, .fini = tear_down) {
    struct session first, second, witness;
    session_begin(&first);
    session_begin(&second);
    session_begin(&witness);
    const shared_owner old = must_take(&first);
    cr_assert_eq(shared_owner_slot(must_take(&witness)), 1, "the next free one");
    session_renew(&first);
    const shared_owner heir = must_take(&second);
    cr_assert_eq(shared_owner_slot(heir), shared_owner_slot(old));
    cr_assert_neq(shared_owner_generation(heir), shared_owner_generation(old));
    cr_assert(slots_owner_is_dead(&witness.slots, old), "though its byte is held");
    cr_assert(slots_owner_is_dead(&witness.slots, old | SHARED_OWNER_WAITED));
    cr_assert(!slots_owner_is_dead(&witness.slots, heir));
    cr_assert(!slots_owner_is_dead(&witness.slots, heir | SHARED_OWNER_WAITED));
    cr_assert(slots_owner_is_dead(&second.slots, old), "the heir knows it too");
    cr_assert(!slots_owner_is_dead(&second.slots, heir), "nobody is dead to himself");
    session_end(&first);
    session_end(&second);
    session_end(&witness);
}

Test(slots, what_a_session_may_have_written_is_owed_when_it_is_gone, .init = make_shared,
     .fini = tear_down) {
    struct session first, second, third;
    session_begin(&first);
    session_begin(&second);
    session_begin(&third);
    const unsigned slot = shared_owner_slot(must_take(&first));
    (void)must_take(&second);
    atomic_store(&first.shared->slots[slot].dirty_lsn, 500);
    cr_assert(!slots_left_dirty(&second.slots, 400), "it lives and answers for itself");
    session_end(&first);
    cr_assert(slots_left_dirty(&second.slots, 499));
    cr_assert(!slots_left_dirty(&second.slots, 500), "all of it is durable");
    cr_assert_eq(atomic_load(&second.shared->rewrite_lsn), 0);
    cr_assert_eq(shared_owner_slot(must_take(&third)), slot);
    cr_assert(!slots_left_dirty(&second.slots, 400), "the slot is another's");
    cr_assert_eq(atomic_load(&second.shared->rewrite_lsn), 500, "who told what the last one left");
    session_end(&second);
    session_end(&third);
}

Test(slots, a_word_that_names_no_session_is_dead, .init = make_shared, .fini = tear_down) {
    struct session session;
    session_begin(&session);
    (void)must_take(&session);
    cr_assert(slots_owner_is_dead(&session.slots, shared_owner_make(SHARED_SLOTS, 1)));
    cr_assert(slots_owner_is_dead(&session.slots, shared_owner_make(255, 1)));
    cr_assert(slots_owner_is_dead(&session.slots, shared_owner_make(SHARED_SLOTS - 1, 1)),
              "a slot that was never taken");
    session_end(&session);
}

Test(slots, a_generation_goes_round_without_0, .init = make_shared, .fini = tear_down) {
    struct session session;
    session_begin(&session);
    atomic_store(&session.shared->slots[0].generation, SHARED_GENERATION_MAX - 1);
    cr_assert_eq(shared_owner_generation(must_take(&session)), SHARED_GENERATION_MAX);
    session_renew(&session);
    cr_assert_eq(shared_owner_generation(must_take(&session)), 1);
    session_end(&session);
}

Test(slots, all_taken_is_busy, .init = make_shared, .fini = tear_down) {
    static struct session sessions[SHARED_SLOTS + 1];
    pawl_error error;
    for (unsigned i = 0; i <= SHARED_SLOTS; i++)
        session_begin(&sessions[i]);
    for (unsigned i = 0; i < SHARED_SLOTS; i++)
        cr_assert_eq(shared_owner_slot(must_take(&sessions[i])), i);
    struct session *late = &sessions[SHARED_SLOTS];
    cr_assert_eq(slots_take(&late->slots, late->shared, &error), PAWL_BUSY);
    cr_assert_eq(late->slots.self, 0);
    session_renew(&sessions[77]);
    cr_assert_eq(shared_owner_slot(must_take(late)), 77);
    for (unsigned i = 0; i <= SHARED_SLOTS; i++)
        session_end(&sessions[i]);
}

Test(slots, who_is_waited_for_is_named, .init = make_shared, .fini = tear_down) {
    struct session session;
    session_begin(&session);
    const shared_owner owner = must_take(&session);
    pawl_error error;
    char pid[32];
    (void)snprintf(pid, sizeof pid, "process %d ", (int)getpid());
    cr_assert_eq(slots_busy(&session.slots, owner, "the append lock", &error), PAWL_BUSY);
    cr_assert_not_null(strstr(error.sentence, pid), "%s", error.sentence);
    cr_assert_not_null(strstr(error.sentence, "the append lock"), "%s", error.sentence);
    cr_assert_eq(slots_busy(&session.slots, shared_owner_make(255, 1), "it", &error), PAWL_BUSY);
    session_end(&session);
}

Test(slots, maintenance_is_for_one, .init = make_shared, .fini = tear_down) {
    struct session first, second;
    session_begin(&first);
    session_begin(&second);
    cr_assert(slots_take_maintenance(&first.slots));
    cr_assert(!slots_take_maintenance(&second.slots));
    slots_drop_maintenance(&first.slots);
    cr_assert(slots_take_maintenance(&second.slots));
    slots_drop_maintenance(&second.slots);
    session_end(&first);
    session_end(&second);
}

/* A child that takes a slot, the door and maintenance, says so, and waits to be killed. */
static int hold_everything(void *context) {
    const int *pipes = context;
    struct slots slots = {.os = NULL};
    struct shared *shared = NULL;
    struct os_dir *own_dir = NULL;
    pawl_error error;
    NEED(os_posix_create(&slots.os) == 0);
    NEED(os_dir_open(slots.os, root, 0, &own_dir) == 0);
    NEED(os_file_open(slots.os, own_dir, IDENTITY_NAME, READ_WRITE, &slots.identity) == 0);
    NEED(shared_map(slots.os, own_dir, &ours, &shared, &error) == PAWL_OK);
    NEED(slots_take_door(&slots, own_dir, 0, &error) == PAWL_OK);
    NEED(slots_take(&slots, shared, &error) == PAWL_OK);
    NEED(slots_take_maintenance(&slots));
    NEED(write(pipes[1], &slots.self, sizeof slots.self) == sizeof slots.self);
    for (;;)
        (void)pause();
}

static pid_t start_holder(shared_owner *ret_owner) {
    int pipes[2];
    cr_assert_eq(pipe(pipes), 0);
    const pid_t child = start_child(hold_everything, pipes);
    cr_assert_eq(close(pipes[1]), 0);
    cr_assert_eq(read(pipes[0], ret_owner, sizeof *ret_owner), sizeof *ret_owner);
    cr_assert_eq(close(pipes[0]), 0);
    return child;
}

static void end_holder(pid_t child) {
    int status = 0;
    cr_assert_eq(kill(child, SIGKILL), 0);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFSIGNALED(status));
}

Test(slots, the_dead_hold_nothing, .init = make_shared, .fini = tear_down) {
    struct session session;
    shared_owner owner = 0;
    unsigned slot = 99;
    pawl_error error;
    session_begin(&session);
    const pid_t child = start_holder(&owner);
    cr_assert_eq(slots_take_door(&session.slots, dir, 0, &error), PAWL_BUSY);
    char pid[32];
    (void)snprintf(pid, sizeof pid, "process %d ", (int)child);
    cr_assert_not_null(strstr(error.sentence, pid), "%s", error.sentence);
    cr_assert(!slots_take_maintenance(&session.slots));
    cr_assert(!are_free(&session, &slot));
    cr_assert_eq(slot, shared_owner_slot(owner));
    end_holder(child);
    cr_assert_eq(slots_take_door(&session.slots, dir, 0, NULL), PAWL_OK);
    cr_assert(are_free(&session, &slot));
    cr_assert(slots_take_maintenance(&session.slots));
    session_end(&session);
}

Test(slots, the_living_see_who_died, .init = make_shared, .fini = tear_down) {
    struct session session;
    shared_owner owner = 0;
    session_begin(&session);
    (void)must_take(&session);
    const pid_t child = start_holder(&owner);
    cr_assert_eq(shared_owner_slot(owner), 1);
    cr_assert(!slots_owner_is_dead(&session.slots, owner));
    pawl_error error;
    char pid[32];
    (void)snprintf(pid, sizeof pid, "process %d ", (int)child);
    (void)slots_busy(&session.slots, owner, "the store", &error);
    cr_assert_not_null(strstr(error.sentence, pid), "%s", error.sentence);
    end_holder(child);
    cr_assert(slots_owner_is_dead(&session.slots, owner));
    session_end(&session);
}

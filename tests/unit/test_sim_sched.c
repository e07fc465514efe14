#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "world.h"

enum { WORDS = 2, ORDER = 64 };

struct scene {
    struct world *world;
    _Atomic uint32_t words[WORDS];
    char order[ORDER]; /* who did something, in turn */
    size_t count;
    int result;
    uint64_t waited_ns;
};

static void start(struct scene *scene, const struct world_options *options) {
    memset(scene, 0, sizeof *scene);
    struct world_options all = *options;
    all.blocks_max = 1000;
    all.calls_max = all.calls_max == 0 ? 100000 : all.calls_max;
    scene->world = world_make(&all);
}

static void did(struct scene *scene, struct process *process) {
    if (scene->count < ORDER - 1)
        scene->order[scene->count++] = (char)('0' + process_id(process));
}

static void steps_main(struct process *process, void *context) {
    for (int i = 0; i < 10; i++) {
        did(context, process);
        os_step(process_os(process));
    }
}

Test(sim_sched, the_seed_decides_who_goes_on) {
    char first[ORDER] = "";
    bool met_other = false;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct scene scene;
        start(&scene, &(struct world_options){.seed = seed, .switching = 50000});
        for (int i = 0; i < 3; i++)
            cr_assert_eq(world_spawn(scene.world, steps_main, &scene), i);
        cr_assert_eq(world_run(scene.world), WORLD_QUIET);
        cr_assert_eq(scene.count, 30);
        if (seed == 0)
            memcpy(first, scene.order, ORDER);
        met_other |= strcmp(first, scene.order) != 0;
        world_free(scene.world);
    }
    cr_assert(met_other);
}

Test(sim_sched, nobody_else_runs_where_no_switch_may_be) {
    struct scene scene;
    start(&scene, &(struct world_options){.seed = 1});
    (void)world_spawn(scene.world, steps_main, &scene);
    (void)world_spawn(scene.world, steps_main, &scene);
    cr_assert_eq(world_run(scene.world), WORLD_QUIET);
    const bool is_first = scene.order[0] == '0';
    cr_assert_str_eq(scene.order, is_first ? "00000000001111111111" : "11111111110000000000");
    world_free(scene.world);
}

/* ---- Waiting ---- */

static void waiter_main(struct process *process, void *context) {
    struct scene *scene = context;
    struct os *os = process_os(process);
    const uint64_t began = os_clock_boot(os);
    const uint64_t deadline = scene->waited_ns == 0 ? OS_NO_DEADLINE : began + scene->waited_ns;
    scene->result = os_futex_wait(os, &scene->words[0], 0, deadline);
    scene->waited_ns = os_clock_boot(os) - began;
    did(scene, process);
}

static void waker_main(struct process *process, void *context) {
    struct scene *scene = context;
    os_pause(process_os(process), 5000000);
    os_futex_wake(process_os(process), &scene->words[0], 1);
}

Test(sim_sched, time_jumps_to_the_next_deadline) {
    static const uint64_t hour_ns = UINT64_C(3600000000000);
    struct scene scene;
    start(&scene, &(struct world_options){.seed = 1});
    scene.waited_ns = hour_ns;
    (void)world_spawn(scene.world, waiter_main, &scene);
    cr_assert_eq(world_run(scene.world), WORLD_QUIET);
    cr_assert_eq(scene.result, ETIMEDOUT);
    cr_assert(scene.waited_ns >= hour_ns && scene.waited_ns < hour_ns + 1000000);
    world_free(scene.world);
}

Test(sim_sched, a_wake_ends_as_many_waits_as_it_says) {
    struct scene scene;
    start(&scene, &(struct world_options){.seed = 1});
    for (int i = 0; i < 3; i++)
        (void)world_spawn(scene.world, waiter_main, &scene);
    for (size_t woken = 1; woken <= 3; woken++) {
        (void)world_spawn(scene.world, waker_main, &scene);
        cr_assert_eq(world_run(scene.world), woken < 3 ? WORLD_STRANDED : WORLD_QUIET);
        cr_assert_eq(scene.count, woken);
        cr_assert_eq(scene.result, 0);
    }
    world_free(scene.world);
}

Test(sim_sched, a_wait_ends_at_once_when_the_word_differs_and_may_for_no_reason) {
    struct scene scene;
    start(&scene, &(struct world_options){.seed = 1});
    scene.words[0] = 1;
    (void)world_spawn(scene.world, waiter_main, &scene);
    cr_assert_eq(world_run(scene.world), WORLD_QUIET);
    scene.words[0] = 0;
    scene.waited_ns = 0;
    world_plan_fault(scene.world, FAULT_WAKE, 1);
    (void)world_spawn(scene.world, waiter_main, &scene);
    cr_assert_eq(world_run(scene.world), WORLD_QUIET);
    cr_assert_eq(scene.result, 0);
    world_free(scene.world);
}

Test(sim_sched, who_waits_for_ever_is_named) {
    struct scene scene;
    start(&scene, &(struct world_options){.seed = 1});
    (void)world_spawn(scene.world, steps_main, &scene);
    (void)world_spawn(scene.world, waiter_main, &scene);
    cr_assert_eq(world_run(scene.world), WORLD_STRANDED);
    char text[200] = "";
    FILE *out = fmemopen(text, sizeof text, "w");
    cr_assert_not_null(out);
    world_print_threads(scene.world, out);
    (void)fclose(out);
    cr_assert_str_eq(text, "p1 thread 1: waits on a word that is 0\n");
    world_free(scene.world);
}

/* ---- Threads, ends, limits ---- */

static void second_main(struct process *process, void *context) {
    struct scene *scene = context;
    did(scene, process);
    os_futex_wake(process_os(process), &scene->words[0], 1);
}

static void first_main(struct process *process, void *context) {
    process_thread(process, second_main, context);
    waiter_main(process, context);
}

Test(sim_sched, a_process_has_threads_and_ends_with_its_last) {
    struct scene scene;
    start(&scene, &(struct world_options){.seed = 1});
    (void)world_spawn(scene.world, first_main, &scene);
    cr_assert_eq(world_run(scene.world), WORLD_QUIET);
    cr_assert_str_eq(scene.order, "00");
    cr_assert_not(world_is_alive(scene.world, 0));
    world_free(scene.world);
}

Test(sim_sched, a_run_has_a_limit_and_can_go_on_after_it) {
    struct scene scene;
    start(&scene, &(struct world_options){.seed = 1, .calls_max = 5});
    (void)world_spawn(scene.world, steps_main, &scene);
    cr_assert_eq(world_run(scene.world), WORLD_ENDLESS);
    cr_assert_lt(scene.count, 10);
    cr_assert_eq(world_run(scene.world), WORLD_ENDLESS);
    world_limit_calls(scene.world, 100);
    cr_assert_eq(world_run(scene.world), WORLD_QUIET);
    cr_assert_eq(scene.count, 10);
    world_free(scene.world);
}

/* ---- Deaths and stops ---- */

static void hoarder_main(struct process *process, void *context) {
    for (int i = 0; i < 10; i++) {
        if (os_allocate(process_os(process), 1000) != NULL)
            did(context, process);
        os_step(process_os(process));
    }
}

/* Every call is a place to die at, and each is met in its turn. */
Test(sim_sched, a_process_can_be_killed_at_each_of_its_calls) {
    for (uint64_t number = 1; number <= 10; number++) {
        struct scene scene;
        start(&scene, &(struct world_options){.seed = 1});
        world_plan_fault(scene.world, FAULT_KILL, number);
        (void)world_spawn(scene.world, hoarder_main, &scene);
        cr_assert_eq(world_run(scene.world), WORLD_DIED);
        cr_assert_eq(scene.count, number);
        cr_assert_eq(world_openings(scene.world, FAULT_KILL), number);
        cr_assert_eq(world_run(scene.world), WORLD_QUIET);
        cr_assert_eq(scene.count, number, "it does not run again");
        world_free(scene.world);
    }
}

Test(sim_sched, a_process_can_be_killed_while_it_waits) {
    struct scene scene;
    start(&scene, &(struct world_options){.seed = 1, .switching = 100000});
    (void)world_spawn(scene.world, waiter_main, &scene);
    (void)world_spawn(scene.world, waker_main, &scene);
    (void)world_spawn(scene.world, waiter_main, &scene);
    cr_assert_eq(world_run(scene.world), WORLD_STRANDED);
    (void)world_spawn(scene.world, steps_main, &scene);
    const size_t count = scene.count;
    world_plan_fault(scene.world, FAULT_KILL_OTHER, 3);
    cr_assert_eq(world_run(scene.world), WORLD_DIED);
    cr_assert_eq(world_run(scene.world), WORLD_QUIET, "nobody waits any more");
    cr_assert_eq(scene.count, count + 10);
    world_free(scene.world);
}

Test(sim_sched, a_stopped_process_goes_on_when_it_is_continued) {
    struct scene scene;
    start(&scene, &(struct world_options){.seed = 1});
    const int stopped = world_spawn(scene.world, steps_main, &scene);
    const int other = world_spawn(scene.world, steps_main, &scene);
    world_stop_process(scene.world, stopped);
    cr_assert_eq(world_run(scene.world), WORLD_STRANDED);
    cr_assert_str_eq(scene.order, "1111111111");
    cr_assert(world_is_alive(scene.world, stopped) && !world_is_alive(scene.world, other));
    world_continue_process(scene.world, stopped);
    cr_assert_eq(world_run(scene.world), WORLD_QUIET);
    cr_assert_eq(scene.count, 20);
    world_free(scene.world);
}

Test(sim_sched, a_stop_by_chance_ends_by_itself) {
    struct scene scene;
    start(&scene, &(struct world_options){.seed = 3});
    world_plan_fault(scene.world, FAULT_STOP, 4);
    (void)world_spawn(scene.world, steps_main, &scene);
    const enum world_news news = world_run(scene.world);
    cr_assert(news == WORLD_QUIET || news == WORLD_DIED);
    cr_assert_eq(world_fault_count(scene.world, FAULT_STOP), 1);
    cr_assert_eq(scene.count, news == WORLD_QUIET ? 10 : 4);
    world_free(scene.world);
}

Test(sim_sched, a_power_cut_ends_all) {
    struct scene scene;
    start(&scene, &(struct world_options){.seed = 1, .switching = 50000});
    for (int i = 0; i < 3; i++)
        (void)world_spawn(scene.world, steps_main, &scene);
    world_plan_fault(scene.world, FAULT_POWER, 8);
    cr_assert_eq(world_run(scene.world), WORLD_POWER);
    for (int i = 0; i < 3; i++)
        cr_assert_not(world_is_alive(scene.world, i));
    const size_t count = scene.count;
    cr_assert_eq(world_run(scene.world), WORLD_QUIET);
    cr_assert_eq(scene.count, count);
    world_free(scene.world);
}

#include <criterion/criterion.h>

#include <string.h>

#include "policy.h"

static struct policy usual(void) {
    struct policy policy;
    policy_init(&policy);
    return policy;
}

static struct policy inherited(void) {
    struct policy policy;
    policy_init_override(&policy);
    return policy;
}

Test(policy, takes_every_setting_over_its_range_and_not_beyond) {
    unsigned count = 0;
    for (unsigned i = 0; i < SETTING_LIMIT; i++) {
        const struct setting_rule *rule = setting_rule(i);
        const enum setting setting = (enum setting)i;
        pawl_error error = {0};
        if (rule == NULL)
            continue;
        count++;
        cr_assert_eq(policy_check(setting, rule->usual, false, NULL), PAWL_OK, "%s", rule->name);
        cr_assert_eq(policy_check(setting, rule->least, false, NULL), PAWL_OK, "%s", rule->name);
        cr_assert_eq(policy_check(setting, rule->most, false, NULL), PAWL_OK, "%s", rule->name);
        cr_assert_eq(policy_check(setting, SETTING_OFF, false, NULL),
                     rule->may_be_off ? PAWL_OK : PAWL_INVALID, "%s", rule->name);
        cr_assert_eq(policy_check(setting, SETTING_INHERITED, false, NULL), PAWL_INVALID);
        cr_assert_eq(policy_check(setting, rule->usual, true, &error),
                     rule->is_of_group ? PAWL_OK : PAWL_INVALID, "%s", rule->name);
        if (rule->least - 1 != SETTING_OFF || !rule->may_be_off)
            cr_assert_eq(policy_check(setting, rule->least - 1, false, &error), PAWL_INVALID);
        if (rule->most != INT64_MAX)
            cr_assert_eq(policy_check(setting, rule->most + 1, false, &error), PAWL_INVALID);
        if (error.status == PAWL_INVALID)
            cr_assert_not_null(strstr(error.sentence, rule->name), "%s", error.sentence);
    }
    cr_assert_eq(count, 27);
    cr_assert_null(setting_rule(0));
    cr_assert_null(setting_rule(SETTING_LIMIT));
    cr_assert_null(setting_rule(UINT64_MAX));
}

Test(policy, lets_a_group_override_what_is_its_own) {
    struct policy queue = usual(), group = inherited();
    cr_assert_eq(policy_check(SETTING_LEASE, SETTING_INHERITED, true, NULL), PAWL_OK);
    cr_assert_eq(policy_value(&queue, &group, SETTING_LEASE), 30000);
    group.values[SETTING_LEASE] = 5;
    cr_assert_eq(policy_value(&queue, &group, SETTING_LEASE), 5);
}

Test(policy, knows_no_level_of_compression_beyond_19) {
    for (int64_t level = 0; level <= 19; level++)
        cr_assert_eq(policy_check(SETTING_COMPRESSION, level, false, NULL), PAWL_OK);
    cr_assert_eq(policy_check(SETTING_COMPRESSION, 20, false, NULL), PAWL_INVALID);
    cr_assert_eq(policy_check(SETTING_COMPRESSION, 99, false, NULL), PAWL_INVALID);
    cr_assert_eq(policy_check(SETTING_COMPRESSION, PAWL_COMPRESSION_AUTO, false, NULL), PAWL_OK);
}

static void must_come_back(const struct policy *policy, bool of_group, uint32_t rows) {
    uint8_t memory[POLICY_ROWS_BYTES_MAX];
    struct event_list list = {.writer = writer_over(memory, sizeof memory)};
    policy_write(policy, of_group, &list);
    cr_assert(!list.writer.bad);
    cr_assert_eq(list.count, rows);
    const struct event_items items = event_list_items(&list);
    struct policy again = of_group ? inherited() : usual();
    policy_read(&again, &items);
    cr_assert_arr_eq(again.values, policy->values, sizeof again.values);
}

Test(policy, is_written_as_what_is_not_the_default) {
    struct policy queue = usual(), group = inherited();
    must_come_back(&queue, false, 0);
    must_come_back(&group, true, 0);
    queue.values[SETTING_TTL] = 0;
    queue.values[SETTING_MAX_ATTEMPTS] = SETTING_OFF;
    queue.values[SETTING_MAX_BYTES] = INT64_MAX;
    must_come_back(&queue, false, 3);
    group.values[SETTING_LEASE] = 30000;
    group.values[SETTING_MAX_COST] = SETTING_OFF;
    must_come_back(&group, true, 2);
    for (unsigned i = 1; i < SETTING_LIMIT; i++)
        queue.values[i] = setting_rule(i)->most == setting_rule(i)->usual ? setting_rule(i)->least
                                                                          : setting_rule(i)->most;
    must_come_back(&queue, false, SETTING_LIMIT - 1);
}

Test(policy, passes_over_a_setting_that_it_does_not_know) {
    uint8_t memory[64];
    struct event_list list = {.writer = writer_over(memory, sizeof memory)};
    event_list_add(&list, (uint64_t[]){SETTING_LEASE, 8}, 2);
    event_list_add(&list, (uint64_t[]){5000, 1}, 2);
    const struct event_items items = event_list_items(&list);
    struct policy policy = usual();
    policy_read(&policy, &items);
    cr_assert_eq(policy.values[SETTING_LEASE], 7);
}

Test(policy, backs_off_three_times_as_long_each_time_up_to_half_an_hour) {
    struct policy queue = usual(), group = inherited();
    queue.values[SETTING_BACKOFF_JITTER] = 0;
    const uint64_t seconds[] = {2, 6, 18, 54, 162, 486, 1458, 1800, 1800};
    for (uint32_t i = 0; i < 9; i++)
        cr_assert_eq(policy_backoff_us(&queue, &group, i + 1, 0), seconds[i] * 1000000);
    cr_assert_eq(policy_backoff_us(&queue, &group, UINT32_MAX, 0), UINT64_C(1800000000));
}

Test(policy, varies_a_pause_by_up_to_the_jitter) {
    const struct policy queue = usual(), group = inherited();
    uint64_t least = UINT64_MAX, most = 0;
    for (uint64_t chance = 0; chance < 5000; chance++) {
        const uint64_t pause = policy_backoff_us(&queue, &group, 2, chance * 7919);
        least = pause < least ? pause : least;
        most = pause > most ? pause : most;
    }
    cr_assert_eq(least, 4800000);
    cr_assert_eq(most, 7200000);
}

Test(policy, overflows_nowhere) {
    struct policy queue = usual();
    const struct policy group = inherited();
    queue.values[SETTING_BACKOFF_MIN] = SETTING_SPAN_MAX;
    queue.values[SETTING_BACKOFF_MAX] = SETTING_SPAN_MAX;
    queue.values[SETTING_BACKOFF_FACTOR] = 100000;
    queue.values[SETTING_BACKOFF_JITTER] = 1000;
    const uint64_t pause = policy_backoff_us(&queue, &group, 1000, UINT64_MAX);
    cr_assert_leq(pause, 2 * (uint64_t)SETTING_SPAN_MAX * 1000);
    queue.values[SETTING_BACKOFF_JITTER] = 0;
    cr_assert_eq(policy_backoff_us(&queue, &group, 1000, 5), (uint64_t)SETTING_SPAN_MAX * 1000);
    queue.values[SETTING_BACKOFF_MAX] = 10;
    cr_assert_eq(policy_backoff_us(&queue, &group, 1, 5), 10000, "the greatest pause goes before");
    queue.values[SETTING_BACKOFF_MIN] = 0;
    cr_assert_eq(policy_backoff_us(&queue, &group, 9, 5), 0);
}

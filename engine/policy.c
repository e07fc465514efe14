#include "policy.h"

#include "check.h"

static const struct setting_rule rules[SETTING_LIMIT] = {
#define X(upper, number, name, usual, least, most, group, off)                                     \
    [(number)] = {#name, (usual), (least), (most), (group), (off)},
    SETTING_MAP(X)
#undef X
};

const struct setting_rule *setting_rule(uint64_t number) {
    return number < SETTING_LIMIT && rules[number].name != NULL ? &rules[number] : NULL;
}

void policy_init(struct policy *ret_policy) {
    for (unsigned i = 0; i < SETTING_LIMIT; i++)
        ret_policy->values[i] = rules[i].usual;
}

void policy_init_override(struct policy *ret_policy) {
    for (unsigned i = 0; i < SETTING_LIMIT; i++)
        ret_policy->values[i] = SETTING_INHERITED;
}

/* zstd's levels are 1 to 19, and then comes auto. */
static bool value_is_gap(enum setting setting, int64_t value) {
    return setting == SETTING_COMPRESSION && value > 19 && value < PAWL_COMPRESSION_AUTO;
}

pawl_status policy_check(enum setting setting, int64_t value, bool of_group, pawl_error *error) {
    const struct setting_rule *rule = setting_rule(setting);
    CHECK(rule != NULL, error);
    if (of_group && !rule->is_of_group)
        return error_set(error, PAWL_INVALID, "%s is the queue's; a group can't override it",
                         rule->name);
    if ((of_group && value == SETTING_INHERITED) || (value == SETTING_OFF && rule->may_be_off))
        return PAWL_OK;
    if (value < rule->least || value > rule->most || value_is_gap(setting, value))
        return error_set(error, PAWL_INVALID, "%s is %lld; it may be %lld to %lld%s", rule->name,
                         (long long)value, (long long)rule->least, (long long)rule->most,
                         rule->may_be_off ? ", or off" : "");
    return PAWL_OK;
}

int64_t policy_value(const struct policy *queue, const struct policy *group, enum setting setting) {
    const int64_t own = group->values[setting];
    return own == SETTING_INHERITED ? queue->values[setting] : own;
}

/* Off is a negative number, and rows hold none: it is written as 0 and the rest one higher. */
static uint64_t row_of_value(int64_t value) {
    return (uint64_t)value + 1;
}

static int64_t value_of_row(uint64_t row) {
    return row == 0 ? SETTING_OFF : (int64_t)(row - 1 > INT64_MAX ? INT64_MAX : row - 1);
}

void policy_write(const struct policy *policy, bool of_group, struct event_list *list) {
    for (unsigned i = 0; i < SETTING_LIMIT; i++) {
        const int64_t silent = of_group ? SETTING_INHERITED : rules[i].usual;
        if (rules[i].name == NULL || policy->values[i] == silent)
            continue;
        const uint64_t row[] = {i, row_of_value(policy->values[i])};
        event_list_add(list, row, 2);
    }
}

void policy_read(struct policy *policy, const struct event_items *rows) {
    uint64_t row[EVENT_ROW_MAX];
    struct event_rows next = event_rows_of(rows);
    while (event_rows_next(&next, row, 2)) {
        if (setting_rule(row[0]) != NULL)
            policy->values[row[0]] = value_of_row(row[1]);
    }
}

/* pause * numerator / 1000, at most `limit`. */
static uint64_t scaled(uint64_t pause, uint64_t permille, uint64_t limit) {
    if (permille != 0 && pause > limit / permille * 1000)
        return limit;
    const uint64_t product = pause / 1000 * permille + pause % 1000 * permille / 1000;
    return product < limit ? product : limit;
}

uint64_t policy_backoff_us(const struct policy *queue, const struct policy *group,
                           uint32_t failures, uint64_t chance) {
    const uint64_t least = (uint64_t)policy_value(queue, group, SETTING_BACKOFF_MIN) * 1000;
    const uint64_t most = (uint64_t)policy_value(queue, group, SETTING_BACKOFF_MAX) * 1000;
    const uint64_t factor = (uint64_t)policy_value(queue, group, SETTING_BACKOFF_FACTOR);
    const uint64_t jitter = (uint64_t)policy_value(queue, group, SETTING_BACKOFF_JITTER);
    uint64_t pause = least < most ? least : most;
    for (uint32_t i = 1; i < failures && pause > 0 && pause < most && factor > 1000; i++)
        pause = scaled(pause, factor, most);
    /* 1000 - jitter to 1000 + jitter thousandths of it. */
    return scaled(pause, 1000 - jitter + chance % (2 * jitter + 1), 2 * most);
}

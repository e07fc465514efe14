/* pawl verify: reads every byte of the log and says what is not whole. */

#include "finding.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    OPTION_JSON,
    OPTION_COUNT,
};

static const struct option options[OPTION_COUNT] = {
    [OPTION_JSON] = {"json", OPTION_FLAG, NULL, "print one JSON object"},
};

enum { TRIES = 3 }; /* a store that is opened or closed meanwhile is looked at again */

/* All that was found, in the order in which it was. */
struct list {
    struct walk_finding *all;
    size_t count, capacity;
};

static pawl_status keep_finding(void *context, const struct walk_finding *finding,
                                pawl_error *error) {
    struct list *list = context;
    if (list->count == list->capacity) {
        const size_t capacity = list->capacity == 0 ? 16 : list->capacity * 2;
        struct walk_finding *all = realloc(list->all, capacity * sizeof *all);
        if (all == NULL)
            return error_set(error, PAWL_NO_MEMORY, "no memory for what was found");
        list->all = all;
        list->capacity = capacity;
    }
    list->all[list->count++] = *finding;
    return PAWL_OK;
}

static pawl_status verify_once(struct os *os, const char *path, struct list *list,
                               struct verify_report *ret_report, pawl_error *error) {
    struct verify *verify;
    const struct verify_options how = {.is_full = true};
    const struct walk_visitor visitor = {.context = list, .finding = keep_finding};
    list->count = 0;
    TRY(verify_open(os, path, &verify, error));
    const pawl_status status = verify_run(verify, &how, &visitor, ret_report, error);
    verify_close(verify);
    return status;
}

static json_t *array_of(const struct list *list, enum walk_kind kind) {
    json_t *array = json_array();
    for (size_t i = 0; i < list->count; i++) {
        if (list->all[i].kind != kind)
            continue;
        json_t *object = json_object();
        finding_set(object, &list->all[i]);
        if (json_array_append_new(array, object) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

/* False: no memory; told. */
static bool print_json(const struct verify_report *report, const struct list *list) {
    json_t *object = json_object();
    output_set_number(object, "segments", report->segments);
    output_set_number(object, "frames", report->frames);
    output_set_number(object, "records", report->records);
    output_set_number(object, "bytes", report->bytes);
    output_set_number(object, "first_lsn", report->first_lsn);
    output_set_number(object, "durable_lsn", report->durable_lsn);
    output_set_number(object, "tail_lsn", report->tail_lsn);
    output_set_number(object, "torn_bytes", report->torn_bytes);
    (void)json_object_set_new(object, "in_use", json_boolean(report->is_in_use));
    const bool is_made = json_object_set_new(object, "damaged", array_of(list, WALK_DAMAGE)) == 0 &&
                         json_object_set_new(object, "unread", array_of(list, WALK_UNREAD)) == 0 &&
                         json_object_set_new(object, "notes", array_of(list, WALK_NOTE)) == 0;
    if (!is_made) {
        json_decref(object);
        object = NULL;
    }
    return output_json(object);
}

static void print_findings(const struct list *list, enum walk_kind kind, const char *word) {
    for (size_t i = 0; i < list->count; i++) {
        const struct walk_finding *finding = &list->all[i];
        if (finding->kind != kind)
            continue;
        output_print_text(finding->file);
        (void)printf(" offset %" PRIu64, finding->offset);
        if (finding->lsn != 0)
            (void)printf(" lsn %" PRIu64, finding->lsn);
        (void)printf(": %s: ", word);
        output_print_text(finding->what);
        (void)putchar('\n');
    }
}

static void print_text(const struct verify_report *report, const struct list *list) {
    print_findings(list, WALK_DAMAGE, "damaged");
    print_findings(list, WALK_UNREAD, "unread");
    print_findings(list, WALK_NOTE, "note");
    const char *verdict = report->found[WALK_DAMAGE] > 0   ? "damaged"
                          : report->found[WALK_UNREAD] > 0 ? "not all read"
                                                           : "whole";
    (void)printf("%s%s: %" PRIu64 " segments, %" PRIu64 " frames, %" PRIu64 " records, %" PRIu64
                 " bytes; known to be durable to %" PRIu64 ", ends at %" PRIu64,
                 verdict, report->is_in_use ? ", in use" : "", report->segments, report->frames,
                 report->records, report->bytes, report->durable_lsn, report->tail_lsn);
    if (report->torn_bytes > 0)
        (void)printf("; %" PRIu64 " bytes of an unfinished write behind it", report->torn_bytes);
    (void)putchar('\n');
}

static int verify_into(struct os *os, const struct invocation *invocation, struct list *list) {
    struct verify_report report = {0};
    struct findings findings = {0};
    pawl_error error = {0};
    pawl_status status = PAWL_OK;
    for (int try = 0; try < TRIES; try++) {
        status = verify_once(os, invocation->store, list, &report, &error);
        const bool is_whole = report.found[WALK_DAMAGE] == 0 && report.found[WALK_UNREAD] == 0;
        if (status != PAWL_OK || is_whole || !report.has_changed)
            break;
    }
    if (status != PAWL_OK)
        return output_status(invocation->command->name, status, &error);
    if (!invocation->options[OPTION_JSON].is_set)
        print_text(&report, list);
    else if (!print_json(&report, list))
        return EXIT_FAILED;
    for (size_t i = 0; i < list->count; i++)
        findings_add(&findings, &list->all[i]);
    return findings_conclude(invocation, &findings, "");
}

static int verify_store(struct os *os, const struct invocation *invocation) {
    struct list list = {0};
    const int code = verify_into(os, invocation, &list);
    free(list.all);
    return code;
}

static int run(const struct invocation *invocation) {
    return finding_run(invocation, verify_store);
}

const struct command command_verify = {
    .name = "verify",
    .arguments = "",
    .help = "read every byte of the log and say what is not whole\n\n"
            "Writes nothing, and works on a store in use, read-only or damaged.\n"
            "Exits 0 when all of it is whole, 4 when something is damaged, 1 when something could\n"
            "not be read and nothing else is wrong.",
    .options = options,
    .option_count = OPTION_COUNT,
    .run = run,
};

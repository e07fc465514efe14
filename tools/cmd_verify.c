/* pawl verify: reads every byte of the log and says what is not whole. */

#include "command.h"
#include "output.h"

#include "os_posix.h"
#include "verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    OPTION_JSON,
    OPTION_COUNT,
};

static const struct option options[OPTION_COUNT] = {
    [OPTION_JSON] = {"json", OPTION_FLAG, NULL, "print one JSON object"},
};

enum { TRIES = 3 }; /* a store that is opened or closed meanwhile is looked at again */

struct findings {
    json_t *damaged, *notes; /* arrays of objects */
    struct walk_finding first;
};

static json_t *finding_object(const struct walk_finding *finding) {
    json_t *object = json_object();
    if (finding->ordinal != 0)
        output_set_number(object, "segment", finding->ordinal);
    output_set_text(object, "file", finding->file);
    output_set_number(object, "offset", finding->offset);
    if (finding->lsn != 0)
        output_set_number(object, "lsn", finding->lsn);
    output_set_text(object, "what", finding->what);
    return object;
}

static pawl_status keep_finding(void *context, const struct walk_finding *finding,
                                pawl_error *error) {
    struct findings *findings = context;
    json_t *list = finding->is_damage ? findings->damaged : findings->notes;
    if (finding->is_damage && json_array_size(list) == 0)
        findings->first = *finding;
    if (json_array_append_new(list, finding_object(finding)) == 0)
        return PAWL_OK;
    return error_set(error, PAWL_NO_MEMORY, "no memory for what was found");
}

static pawl_status verify_once(struct os *os, const char *path, struct findings *findings,
                               struct verify_report *ret_report, pawl_error *error) {
    struct verify *verify;
    const struct verify_options how = {.is_full = true};
    const struct walk_visitor visitor = {.context = findings, .finding = keep_finding};
    (void)json_array_clear(findings->damaged);
    (void)json_array_clear(findings->notes);
    TRY(verify_open(os, path, &verify, error));
    const pawl_status status = verify_run(verify, &how, &visitor, ret_report, error);
    verify_close(verify);
    return status;
}

static bool print_json(const struct verify_report *report, const struct findings *findings) {
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
    (void)json_object_set(object, "damaged", findings->damaged);
    (void)json_object_set(object, "notes", findings->notes);
    return output_json(object);
}

static void print_findings(const json_t *list, const char *word) {
    size_t i;
    const json_t *finding;
    json_array_foreach(list, i, finding) {
        const json_t *lsn = json_object_get(finding, "lsn");
        output_print_text(json_string_value(json_object_get(finding, "file")));
        (void)printf(" offset %" JSON_INTEGER_FORMAT,
                     json_integer_value(json_object_get(finding, "offset")));
        if (lsn != NULL)
            (void)printf(" lsn %" JSON_INTEGER_FORMAT, json_integer_value(lsn));
        (void)printf(": %s: %s\n", word, json_string_value(json_object_get(finding, "what")));
    }
}

static void print_text(const struct verify_report *report, const struct findings *findings) {
    print_findings(findings->damaged, "damaged");
    print_findings(findings->notes, "note");
    (void)printf("%s%s: %" PRIu64 " segments, %" PRIu64 " frames, %" PRIu64 " records, %" PRIu64
                 " bytes; known to be durable to %" PRIu64 ", ends at %" PRIu64,
                 report->damaged == 0 ? "whole" : "damaged", report->is_in_use ? ", in use" : "",
                 report->segments, report->frames, report->records, report->bytes,
                 report->durable_lsn, report->tail_lsn);
    if (report->torn_bytes > 0)
        (void)printf("; %" PRIu64 " bytes of an unfinished write behind it", report->torn_bytes);
    (void)putchar('\n');
}

static int verify_store(struct os *os, const struct invocation *invocation,
                        struct findings *findings) {
    struct verify_report report = {0};
    pawl_error error = {0};
    pawl_status status = PAWL_OK;
    for (int try = 0; try < TRIES; try++) {
        status = verify_once(os, invocation->store, findings, &report, &error);
        if (status != PAWL_OK || report.damaged == 0 || !report.has_changed)
            break;
    }
    if (status != PAWL_OK)
        return output_status("verify", status, &error);
    if (!invocation->options[OPTION_JSON].is_set)
        print_text(&report, findings);
    else if (!print_json(&report, findings))
        return EXIT_FAILED;
    if (report.damaged == 0)
        return EXIT_DONE;
    output_failure("verify",
                   "the store is damaged: %" PRIu64 " places, the first in %s at offset %" PRIu64,
                   report.damaged, findings->first.file, findings->first.offset);
    return EXIT_DAMAGED;
}

static int run(const struct invocation *invocation) {
    struct os *os;
    struct findings findings = {.damaged = json_array(), .notes = json_array()};
    int code;
    if (os_posix_create(&os) != 0)
        code = output_status("verify", PAWL_NO_MEMORY, NULL);
    else {
        code = verify_store(os, invocation, &findings);
        os_posix_destroy(os);
    }
    json_decref(findings.damaged);
    json_decref(findings.notes);
    return code;
}

const struct command command_verify = {
    .name = "verify",
    .arguments = "",
    .help = "read every byte of the log and say what is not whole\n\n"
            "Writes nothing, and works on a store in use, read-only or damaged.\n"
            "Exits 0 when all of it is whole, 4 when something is damaged.",
    .options = options,
    .option_count = OPTION_COUNT,
    .run = run,
};

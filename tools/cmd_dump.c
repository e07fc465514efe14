/* pawl dump: every record of the log, in order. */

#include "finding.h"

#include "bytes.h"
#include "footer.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    OPTION_JSON,
    OPTION_FROM,
    OPTION_FOLLOW,
    OPTION_PAYLOAD,
    OPTION_COUNT,
};

static const struct option options[OPTION_COUNT] = {
    [OPTION_JSON] = {"json", OPTION_FLAG, NULL, "print one JSON object a line"},
    [OPTION_FROM] = {"from", OPTION_NUMBER, "LSN", "start at the first frame at or behind LSN"},
    [OPTION_FOLLOW] = {"follow", OPTION_FLAG, NULL, "then wait for more, until interrupted"},
    [OPTION_PAYLOAD] = {"payload", OPTION_FLAG, NULL, "show payloads too"},
};

enum { PAUSE_MS = 100 };

static volatile sig_atomic_t is_interrupted;

static void interrupt(int number) {
    (void)number;
    is_interrupted = 1;
}

struct dump {
    bool is_json, shows_payload, is_following;
    struct findings findings;
};

/* One record, or a frame that has none. */
struct event {
    const struct walk_frame *frame;
    const char *name;
    const struct record *record; /* NULL: the frame has none */
    uint32_t index;              /* of the record in its frame */
    bool is_of_log;              /* one of the log's own, whose body is told by name */
    bool has_payload;            /* the frame's payload is shown with its first record */
};

static const char *event_name(const struct walk_frame *frame, const struct record *record) {
    if (record == NULL)
        return (frame->header.flags & FRAME_MARK) != 0 ? "durable-mark" : "empty";
    if (record->kind == RECORD_SEGMENT_START)
        return "segment-start";
    return record->kind == RECORD_FOOTER ? "segment-end" : "record";
}

static bool event_is_of_log(const struct walk_frame *frame, const struct record *record) {
    struct segment_start start;
    struct footer footer;
    if (record == NULL)
        return true;
    if (record->kind == RECORD_SEGMENT_START)
        return segment_start_decode(frame->metadata, frame->header.metadata_bytes, &start);
    return record->kind == RECORD_FOOTER &&
           footer_read(frame->metadata, frame->header.metadata_bytes, &footer);
}

/* ---- JSON ---- */

static void json_log_event(json_t *object, const struct event *event) {
    const struct walk_frame *frame = event->frame;
    struct segment_start start;
    struct footer footer;
    if (event->record == NULL) {
        output_set_number(object, "durable_lsn", frame->header.durable_lsn);
        if ((frame->header.flags & FRAME_CLOSE) != 0)
            (void)json_object_set_new(object, "closed", json_true());
    } else if (event->record->kind == RECORD_SEGMENT_START &&
               segment_start_decode(frame->metadata, frame->header.metadata_bytes, &start)) {
        if (start.predecessor != 0)
            output_set_number(object, "predecessor", start.predecessor);
        output_set_number(object, "durable_lsn", frame->header.durable_lsn);
    } else if (footer_read(frame->metadata, frame->header.metadata_bytes, &footer)) {
        output_set_number(object, "first_lsn", footer.first_lsn);
    }
}

static bool print_json(const struct event *event) {
    const struct walk_frame *frame = event->frame;
    const struct record *record = event->record;
    json_t *object = json_object();
    bool is_made = object != NULL;
    output_set_number(object, "lsn", frame->header.lsn);
    output_set_number(object, "segment", frame->ordinal);
    output_set_number(object, "time_ms", frame->header.time_us / 1000);
    output_set_text(object, "event", event->name);
    if (event->is_of_log) {
        json_log_event(object, event);
    } else {
        output_set_number(object, "index", event->index);
        output_set_number(object, "kind", record->kind);
        if ((record->flags & RECORD_SKIPPABLE) != 0)
            (void)json_object_set_new(object, "skippable", json_true());
        output_set_number(object, "bytes", record->bytes);
        is_made = output_set_hex(object, "hex", record->body, record->bytes) && is_made;
    }
    if (event->has_payload) {
        output_set_number(object, "payload_bytes", frame->header.payload_bytes);
        if (frame->payload != NULL)
            is_made =
                output_set_bytes(object, "payload", frame->payload, frame->header.payload_bytes) &&
                is_made;
    }
    if (!is_made) {
        json_decref(object);
        object = NULL;
    }
    return output_json(object);
}

/* ---- Text ---- */

static void print_time(uint64_t time_us) {
    const time_t seconds = (time_t)(time_us / 1000000);
    struct tm tm;
    char text[40];
    if (seconds < 0 || gmtime_r(&seconds, &tm) == NULL ||
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm) == 0)
        (void)printf("%24" PRIu64, time_us / 1000);
    else
        (void)printf("%s.%03uZ", text, (unsigned)(time_us / 1000 % 1000));
}

static void print_log_event(const struct event *event) {
    const struct walk_frame *frame = event->frame;
    struct segment_start start;
    struct footer footer;
    if (event->record == NULL)
        (void)printf(" durable=%" PRIu64 "%s", frame->header.durable_lsn,
                     (frame->header.flags & FRAME_CLOSE) != 0 ? " closed" : "");
    else if (event->record->kind == RECORD_SEGMENT_START &&
             segment_start_decode(frame->metadata, frame->header.metadata_bytes, &start))
        (void)printf(" predecessor=%" PRIu64 " durable=%" PRIu64, start.predecessor,
                     frame->header.durable_lsn);
    else if (footer_read(frame->metadata, frame->header.metadata_bytes, &footer))
        (void)printf(" first=%" PRIu64, footer.first_lsn);
}

static void print_text(const struct event *event) {
    const struct walk_frame *frame = event->frame;
    const struct record *record = event->record;
    (void)printf("%12" PRIu64 " %6" PRIu64 " ", frame->header.lsn, frame->ordinal);
    print_time(frame->header.time_us);
    (void)printf(" %-13s", event->name);
    if (event->is_of_log) {
        print_log_event(event);
    } else {
        (void)printf(" kind=%u bytes=%" PRIu32, record->kind, record->bytes);
        if (record->bytes > 0)
            (void)fputs(" hex=", stdout);
        output_print_hex(record->body, record->bytes);
    }
    if (event->has_payload) {
        (void)printf(" payload_bytes=%" PRIu32, frame->header.payload_bytes);
        if (frame->payload != NULL) {
            (void)fputs(" payload=", stdout);
            output_print_bytes(frame->payload, frame->header.payload_bytes);
        }
    }
    (void)putchar('\n');
}

/* ---- The log ---- */

static pawl_status show(const struct dump *dump, const struct event *event, pawl_error *error) {
    if (!dump->is_json)
        print_text(event);
    else if (!print_json(event))
        return error_set(error, PAWL_NO_MEMORY, "no memory for a line of JSON");
    return ferror(stdout) == 0 ? PAWL_OK
                               : error_set(error, PAWL_INTERRUPTED, "cannot write the results");
}

static pawl_status visit_frame(void *context, const struct walk_frame *frame, pawl_error *error) {
    const struct dump *dump = context;
    struct reader reader = reader_over(frame->metadata, frame->header.metadata_bytes);
    struct record record;
    struct event event = {.frame = frame};
    const bool has_payload = dump->shows_payload && frame->header.payload_bytes > 0;
    while (record_next(&reader, &record) == PAWL_OK) {
        event.record = &record;
        event.name = event_name(frame, &record);
        event.is_of_log = event_is_of_log(frame, &record);
        event.has_payload = has_payload && event.index == 0;
        TRY(show(dump, &event, error));
        event.index++;
    }
    if (event.index > 0)
        return is_interrupted ? PAWL_INTERRUPTED : PAWL_OK;
    event.name = event_name(frame, NULL);
    event.is_of_log = true;
    event.has_payload = has_payload;
    return show(dump, &event, error);
}

static void print_finding(const struct walk_finding *finding, const char *name) {
    (void)printf("%12" PRIu64 " %6" PRIu64 " %-24s %-13s ", finding->lsn, finding->ordinal, "",
                 name);
    output_print_text(finding->file);
    (void)printf(" offset=%" PRIu64 ": ", finding->offset);
    output_print_text(finding->what);
    (void)putchar('\n');
}

/* Damage stands among the records where it was met, and so does what can't be read. What else is
 * odd is verify's to tell, but for what is met while following: there it concerns what has been
 * shown. */
static pawl_status visit_finding(void *context, const struct walk_finding *finding,
                                 pawl_error *error) {
    static const char *const names[WALK_KIND_COUNT] = {"note", "unread", "damage"};
    struct dump *dump = context;
    if (finding->kind == WALK_NOTE && !dump->is_following)
        return PAWL_OK;
    findings_add(&dump->findings, finding);
    if (!dump->is_json) {
        print_finding(finding, names[finding->kind]);
        return PAWL_OK;
    }
    json_t *object = json_object();
    if (finding->lsn != 0)
        output_set_number(object, "lsn", finding->lsn);
    if (finding->ordinal != 0)
        output_set_number(object, "segment", finding->ordinal);
    output_set_text(object, "event", names[finding->kind]);
    finding_set(object, finding);
    return output_json(object) ? PAWL_OK : error_set(error, PAWL_NO_MEMORY, "no memory");
}

/* Waits a little, and notices when nobody reads any more. */
static void pause_or_end(void) {
    struct pollfd out = {.fd = STDOUT_FILENO, .events = 0};
    if (poll(&out, 1, PAUSE_MS) > 0 && (out.revents & (POLLERR | POLLHUP)) != 0)
        (void)raise(SIGPIPE);
}

static pawl_status follow(struct verify *verify, pawl_error *error) {
    while (!is_interrupted) {
        if (fflush(stdout) != 0)
            return error_set(error, PAWL_INTERRUPTED, "cannot write the results");
        pause_or_end();
        TRY(verify_follow(verify, error));
    }
    return PAWL_OK;
}

static int dump_store(struct os *os, const struct invocation *invocation) {
    struct verify *verify;
    struct verify_report report;
    pawl_error error = {0};
    struct dump dump = {
        .is_json = invocation->options[OPTION_JSON].is_set,
        .shows_payload = invocation->options[OPTION_PAYLOAD].is_set,
    };
    const struct verify_options how = {
        .from_lsn = invocation->options[OPTION_FROM].number,
        .is_full = dump.shows_payload,
    };
    const struct walk_visitor visitor = {&dump, visit_frame, visit_finding};
    pawl_status status = verify_open(os, invocation->store, &verify, &error);
    if (status != PAWL_OK)
        return output_status(invocation->command->name, status, &error);
    status = verify_run(verify, &how, &visitor, &report, &error);
    dump.is_following = true;
    if (status == PAWL_OK && invocation->options[OPTION_FOLLOW].is_set)
        status = follow(verify, &error);
    verify_close(verify);
    const bool is_failed = status != PAWL_OK && !is_interrupted && ferror(stdout) == 0;
    const int exit_code = is_failed ? output_status(invocation->command->name, status, &error) : 0;
    if (is_failed && dump.findings.count[WALK_DAMAGE] == 0)
        return exit_code;
    return findings_conclude(invocation, &dump.findings, "; `pawl verify` tells more");
}

static int run(const struct invocation *invocation) {
    if (invocation->options[OPTION_FOLLOW].is_set) {
        struct sigaction action = {.sa_handler = interrupt};
        (void)sigemptyset(&action.sa_mask);
        (void)sigaction(SIGINT, &action, NULL);
        (void)sigaction(SIGTERM, &action, NULL);
    }
    return finding_run(invocation, dump_store);
}

const struct command command_dump = {
    .name = "dump",
    .arguments = "",
    .help = "every record of the log, in order\n\n"
            "Writes nothing, and works on a store in use, read-only or damaged: damage is told\n"
            "where it stands, and what is whole behind it is shown too. Exits 4 then, and 1 when\n"
            "something could not be read and nothing else is wrong.\n"
            "A frame's payload is shown with its first record.",
    .options = options,
    .option_count = OPTION_COUNT,
    .run = run,
};

#include "reader.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum {
    SEGMENTS_MAX = 256,
    FRAMES_AT = 4096,
    HEADER = 64,
    SECTOR = 512,
    FLAG_START = 2,
    FLAG_FOOTER = 4,
    FLAGS_ALL = 31,
    KIND_START = 1,
    RECORDS_MAX = 65536,
    FRAME_MAX = 75497472,
};

/* A file of log/, and what its bytes say. */
struct segment {
    uint64_t ordinal; /* by its name */
    uint8_t *bytes;
    size_t size;
    bool has_header;
    bool has_begun; /* its first frame is a whole start */
    uint64_t predecessor, first_lsn;
    size_t end;      /* offset behind the last whole frame in unbroken succession */
    uint64_t frames; /* so many of them */
    uint16_t last_flags;
    uint64_t proof; /* the greatest position that it states to have been durable */
};

struct store {
    uint8_t uuid[16];
    uint64_t secret;
    struct segment segments[SEGMENTS_MAX];
    size_t count;
    size_t line[SEGMENTS_MAX]; /* oldest first */
    size_t line_count;
    struct reader_result result;
};

static uint64_t number(const uint8_t *at, int bytes) {
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; i--)
        value = value << 8 | at[i];
    return value;
}

static bool is_blank(const uint8_t *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] != 0)
            return false;
    }
    return true;
}

static uint64_t mix(uint64_t seed, uint64_t n) {
    n += 0x9e3779b97f4a7c15U;
    n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9U;
    n = (n ^ (n >> 27)) * 0x94d049bb133111ebU;
    return seed ^ n ^ (n >> 31);
}

static bool conclude(struct store *store, enum reader_verdict verdict, const char *why) {
    store->result.verdict = verdict;
    (void)snprintf(store->result.why, sizeof store->result.why, "%s", why);
    return false;
}

/* ---- Files ---- */

static uint8_t *load(int dir, const char *name, size_t *ret_size) {
    struct stat stat;
    const int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return NULL;
    uint8_t *bytes = NULL;
    size_t got = 0;
    if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode)) {
        const size_t size = (size_t)stat.st_size;
        bytes = malloc(size + 1);
        while (bytes != NULL && got < size) {
            const ssize_t n = read(fd, bytes + got, size - got);
            if (n <= 0)
                break;
            got += (size_t)n;
        }
    }
    (void)close(fd); /* only read */
    *ret_size = got;
    return bytes;
}

static bool is_identity(const uint8_t *copy) {
    return memcmp(copy, "PAWL-IDN", 8) == 0 &&
           number(copy + 48, 8) == XXH3_64bits_withSeed(copy, 48, 0);
}

static bool read_identity(struct store *store, int dir) {
    size_t size = 0;
    uint8_t *bytes = load(dir, "identity", &size);
    const uint8_t *copy = NULL;
    for (size_t at = 0; bytes != NULL && copy == NULL && at + SECTOR <= size && at <= SECTOR;
         at += SECTOR) {
        if (is_identity(bytes + at))
            copy = bytes + at;
    }
    const bool is_newer = copy != NULL && number(copy + 8, 4) != 0;
    const bool differs = copy != NULL && copy == bytes && size >= 2 * SECTOR &&
                         is_identity(bytes + SECTOR) && memcmp(copy, bytes + SECTOR, 48) != 0;
    if (copy != NULL) {
        memcpy(store->uuid, copy + 16, 16);
        store->secret = number(copy + 32, 8);
    }
    free(bytes);
    if (differs)
        return conclude(store, READER_DAMAGED, "two identities that differ");
    if (is_newer)
        return conclude(store, READER_FAILED, "a newer format");
    return copy != NULL || conclude(store, READER_NO_STORE, "no whole identity");
}

/* The ordinal that a segment's name says; 0: it is no such name. */
static uint64_t named(const char *name) {
    uint64_t ordinal = 0;
    if (strlen(name) != 14 || strcmp(name + 10, ".seg") != 0)
        return 0;
    for (int i = 0; i < 10; i++) {
        if (name[i] < '0' || name[i] > '9')
            return 0;
        ordinal = ordinal * 10 + (uint64_t)(name[i] - '0');
    }
    return ordinal;
}

static int by_ordinal(const void *a, const void *b) {
    const struct segment *left = a, *right = b;
    return (left->ordinal > right->ordinal) - (left->ordinal < right->ordinal);
}

static bool read_log(struct store *store, int dir) {
    const int log = openat(dir, "log", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = log < 0 ? NULL : fdopendir(log);
    if (listing == NULL) {
        if (log >= 0)
            (void)close(log);
        return conclude(store, READER_DAMAGED, "log/ is missing");
    }
    const struct dirent *entry;
    bool is_read = true;
    while (is_read && (entry = readdir(listing)) != NULL) {
        const uint64_t ordinal = named(entry->d_name);
        if (ordinal == 0)
            continue;
        struct segment *segment = &store->segments[store->count];
        is_read = store->count < SEGMENTS_MAX - 1 &&
                  (segment->bytes = load(log, entry->d_name, &segment->size)) != NULL;
        segment->ordinal = ordinal;
        store->count += is_read;
    }
    (void)closedir(listing); /* only read */
    qsort(store->segments, store->count, sizeof store->segments[0], by_ordinal);
    return is_read || conclude(store, READER_FAILED, "a segment can't be read");
}

/* ---- Frames ---- */

/* The size of a frame, from its header alone; 0: too large. */
static size_t frame_size(const uint8_t *header) {
    const uint64_t bare = HEADER + number(header + 24, 4) + number(header + 28, 4);
    const uint64_t size = bare - bare % 8 + 8;
    return size > FRAME_MAX ? 0 : (size_t)size;
}

static bool header_checks(const struct store *store, const struct segment *segment, size_t at) {
    const uint8_t *header = segment->bytes + at;
    if (at + HEADER > segment->size || memcmp(header + 60, "PawL", 4) != 0)
        return false;
    const uint64_t seed = mix(mix(store->secret, segment->ordinal) * 3, number(header, 8));
    return number(header + 56, 4) == (uint32_t)XXH3_64bits_withSeed(header, 56, seed);
}

/* Its checksum holds: can it be so? */
static bool header_can_be(const uint8_t *header) {
    const uint64_t lsn = number(header, 8);
    return frame_size(header) != 0 && number(header + 32, 4) <= RECORDS_MAX &&
           (number(header + 36, 2) & ~(uint64_t)FLAGS_ALL) == 0 && number(header + 38, 2) == 0 &&
           number(header + 8, 8) <= lsn && lsn % 8 == 0;
}

static bool frame_is_whole(const struct store *store, const struct segment *segment, size_t at,
                           uint64_t lsn) {
    if (!header_checks(store, segment, at))
        return false;
    const uint8_t *frame = segment->bytes + at;
    if (!header_can_be(frame) || number(frame, 8) != lsn)
        return false;
    const size_t size = frame_size(frame);
    const size_t metadata = number(frame + 24, 4), payload = number(frame + 28, 4);
    if (size > segment->size - at)
        return false;
    const uint8_t *body = frame + HEADER;
    if (XXH3_64bits_withSeed(body, metadata, store->secret) != number(frame + 40, 8) ||
        XXH3_64bits_withSeed(body + metadata, payload, store->secret) != number(frame + 48, 8))
        return false;
    for (size_t i = HEADER + metadata + payload; i < size; i++) {
        if (frame[i] != 0xa5)
            return false;
    }
    return true;
}

/* The start's record stands right behind the frame's header: kind, flags, length, two positions. */
static bool read_start(const struct store *store, struct segment *segment) {
    const uint8_t *frame = segment->bytes + FRAMES_AT;
    if (segment->size < FRAMES_AT + HEADER)
        return false;
    const uint64_t lsn = number(frame, 8);
    if (!frame_is_whole(store, segment, FRAMES_AT, lsn) || frame_size(frame) > SECTOR ||
        (number(frame + 36, 2) & FLAG_START) == 0 || number(frame + 24, 4) < 19)
        return false;
    const uint8_t *record = frame + HEADER;
    if (record[0] != KIND_START || record[1] > 1 || record[2] < 16 || record[2] > 127 ||
        number(record + 11, 8) != lsn)
        return false;
    segment->predecessor = number(record + 3, 8);
    segment->first_lsn = lsn;
    return true;
}

static void prove(struct segment *segment, const uint8_t *at) {
    const uint64_t durable = number(at, 8);
    if (durable > segment->proof)
        segment->proof = durable;
}

static void read_segment(const struct store *store, struct segment *segment) {
    const uint8_t *bytes = segment->bytes;
    if (segment->has_header)
        prove(segment, bytes + 24);
    segment->has_begun = segment->has_header && read_start(store, segment);
    segment->end = FRAMES_AT;
    uint64_t lsn = segment->first_lsn;
    while (segment->has_begun && frame_is_whole(store, segment, segment->end, lsn)) {
        const size_t size = frame_size(bytes + segment->end);
        segment->last_flags = (uint16_t)number(bytes + segment->end + 36, 2);
        segment->frames++;
        segment->end += size;
        lsn += size;
    }
    for (size_t at = FRAMES_AT; at + HEADER <= segment->size; at += 8) {
        if (header_checks(store, segment, at) && header_can_be(bytes + at))
            prove(segment, bytes + at + 8);
    }
}

/* ---- The log ---- */

/* False: a file can't be what it must be. */
static bool judge_file(struct store *store, struct segment *segment, bool is_followed) {
    const uint8_t *bytes = segment->bytes;
    const bool is_marked = segment->size >= HEADER && memcmp(bytes, "PAWL-SEG", 8) == 0;
    const bool is_ours = is_marked && memcmp(bytes + 40, store->uuid, 16) == 0;
    const bool holds =
        is_marked && number(bytes + 56, 8) == XXH3_64bits_withSeed(bytes, 56, store->secret);
    segment->has_header = is_marked && holds;
    if (segment->has_header && number(bytes + 8, 4) != 0)
        return conclude(store, READER_FAILED, "a newer format");
    if (segment->has_header && number(bytes + 16, 8) != segment->ordinal)
        return conclude(store, READER_DAMAGED, "a segment under another's name");
    if (is_marked && !is_ours && !holds)
        return conclude(store, READER_DAMAGED, "another store's segment");
    const bool has_content =
        segment->size > FRAMES_AT && !is_blank(bytes + FRAMES_AT, segment->size - FRAMES_AT);
    if (!segment->has_header && (has_content || is_followed))
        return conclude(store, READER_DAMAGED, "the header of a segment in use");
    return true;
}

static const struct segment *find(const struct store *store, uint64_t ordinal) {
    for (size_t i = 0; i < store->count; i++) {
        if (store->segments[i].ordinal == ordinal)
            return &store->segments[i];
    }
    return NULL;
}

static bool line_from(struct store *store, size_t head) {
    size_t back[SEGMENTS_MAX];
    const struct segment *at = &store->segments[head];
    for (store->line_count = 0;; at = find(store, at->predecessor)) {
        if (at == NULL || !at->has_begun)
            return false;
        if (store->line_count > 0) {
            const struct segment *after = &store->segments[back[store->line_count - 1]];
            if (at->ordinal >= after->ordinal || at->first_lsn >= after->first_lsn)
                return false;
        }
        back[store->line_count++] = (size_t)(at - store->segments);
        if (at->predecessor == 0)
            break;
    }
    for (size_t i = 0; i < store->line_count; i++)
        store->line[i] = back[store->line_count - 1 - i];
    return true;
}

static uint64_t end_lsn_of(const struct segment *segment) {
    return segment->first_lsn + (segment->end - FRAMES_AT);
}

/* Nothing whole stands at the segment's end: can an interrupted write have left what does? */
static bool is_explained(const struct store *store, const struct segment *segment) {
    const uint8_t *at = segment->bytes + segment->end;
    const size_t left = segment->size - segment->end;
    size_t size = HEADER;
    if (is_blank(at, left))
        return true;
    if (header_checks(store, segment, segment->end)) {
        if (!header_can_be(at) || number(at, 8) != end_lsn_of(segment))
            return false;
        size = frame_size(at);
    }
    /* The header ends with the magic and a frame with padding: neither byte is ever zero. */
    if (left < size || at[size - 1] == 0)
        return true;
    for (size_t from = 0; from < size;) {
        size_t part = SECTOR - (segment->end + from) % SECTOR;
        part = part < size - from ? part : size - from;
        if (is_blank(at + from, part))
            return true;
        from += part;
    }
    return false;
}

/* Position in the line of the first segment from `from` on that does not reach the next one. */
static size_t first_break(const struct store *store, size_t from) {
    for (size_t i = from; i + 1 < store->line_count; i++) {
        if (end_lsn_of(&store->segments[store->line[i]]) <
            store->segments[store->line[i + 1]].first_lsn)
            return i;
    }
    return store->line_count - 1;
}

static bool judge_end(struct store *store, const struct segment *segment, uint64_t proof) {
    const bool has_next = find(store, segment->ordinal + 1) != NULL;
    if (proof > end_lsn_of(segment))
        return conclude(store, READER_DAMAGED, "what had been durable is not whole");
    if (!has_next && store->segments[store->count - 1].ordinal > segment->ordinal)
        return conclude(store, READER_DAMAGED, "a segment is missing");
    if (!has_next && (segment->last_flags & FLAG_FOOTER) != 0)
        return conclude(store, READER_DAMAGED, "the segment behind a footer is missing");
    if (!is_explained(store, segment))
        return conclude(store, READER_DAMAGED, "no interrupted write leaves this");
    return true;
}

static bool judge_log(struct store *store) {
    uint64_t proof = 0;
    bool has_line = false;
    for (size_t i = 0; i < store->count; i++)
        proof = store->segments[i].proof > proof ? store->segments[i].proof : proof;
    for (size_t head = store->count; head > 0 && !has_line; head--)
        has_line = line_from(store, head - 1);
    if (!has_line)
        return conclude(store, READER_DAMAGED, "no segment begins the log");
    /* An opening takes what lies before the newest segment that is proved for granted. */
    size_t from = store->line_count - 1;
    while (from > 0 && store->segments[store->line[from]].first_lsn > proof)
        from--;
    const size_t last = first_break(store, from);
    const struct segment *segment = &store->segments[store->line[last]];
    if (!judge_end(store, segment, proof))
        return false;
    store->result.end_lsn = end_lsn_of(segment);
    for (size_t i = 0; i <= last; i++)
        store->result.frames += store->segments[store->line[i]].frames;
    if (first_break(store, 0) < from)
        return conclude(store, READER_DAMAGED_INSIDE, "a frame before the newest proof");
    return !conclude(store, READER_OK, "whole");
}

static void judge(struct store *store) {
    bool is_followed = false;
    for (size_t i = store->count; i > 0; i--) {
        struct segment *segment = &store->segments[i - 1];
        if (!judge_file(store, segment, is_followed))
            return;
        read_segment(store, segment);
        is_followed = is_followed || segment->has_begun;
    }
    if (store->count == 0)
        (void)conclude(store, READER_DAMAGED, "no segment");
    else
        (void)judge_log(store);
}

struct reader_result reader_read_store(const char *directory) {
    struct reader_result result = {.verdict = READER_FAILED};
    struct store *store = calloc(1, sizeof *store);
    const int dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (store == NULL || dir < 0) {
        result.verdict = store == NULL ? READER_FAILED : READER_NO_STORE;
    } else {
        if (read_identity(store, dir) && read_log(store, dir))
            judge(store);
        result = store->result;
    }
    for (size_t i = 0; store != NULL && i < store->count; i++)
        free(store->segments[i].bytes);
    free(store);
    if (dir >= 0)
        (void)close(dir); /* only read */
    return result;
}

const char *reader_verdict_name(enum reader_verdict verdict) {
    static const char *const names[] = {"ok", "damaged-inside", "damaged", "no-store", "failed"};
    return names[verdict];
}

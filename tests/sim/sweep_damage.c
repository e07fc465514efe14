#include "sweep.h"

#include "bytes.h"
#include "hash.h"
#include "recovery.h"
#include "scan.h"
#include "segment.h"
#include "stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A store in a few segments, to be damaged in copies. */
struct base {
    struct stage stage;
    struct disk young; /* the same store earlier */
    struct disk other; /* another store */
    unsigned last;     /* the ordinal of the segment in use */
    struct identity identity;
    uint64_t tail;
};

struct tally {
    struct sweep_report *report;
    uint64_t rows[RECOVERY_ROW_COUNT];
    uint64_t file_rows[RECOVERY_FILE_ROW_COUNT];
};

/* One damage to one copy. */
struct trial {
    struct base *base;
    struct tally *tally;
    char what[96];
    bool never_shorter; /* no flipped bit is taken for an unfinished write */
};

/* ---- The stores ---- */

static void make_store(struct stage *stage, void *context) {
    const bool is_closed = *(const bool *)context;
    if (stage_open(stage) != PAWL_OK) {
        oracle_complain(&stage->oracle, "making: %s", stage->error.sentence);
        return;
    }
    stage_fill(stage, 3);
    for (uint32_t i = 0; i < 3; i++)
        (void)stage_append(stage, 400 + i, true, LOG_ORDINARY);
    if (!is_closed)
        stage_cut_power(stage);
    (void)stage_close(stage);
}

static void add_more(struct stage *stage, void *context) {
    (void)context;
    if (stage_open(stage) != PAWL_OK || stage_append(stage, 500, true, LOG_ORDINARY) != PAWL_OK ||
        stage_append(stage, 100, true, LOG_ORDINARY) != PAWL_OK || stage_close(stage) != PAWL_OK)
        oracle_complain(&stage->oracle, "adding: %s", stage->error.sentence);
}

static int file_of(const struct disk *disk, const char *dir, const char *name) {
    const int store = disk_lookup(disk, 0, "store");
    return disk_lookup(disk, dir == NULL ? store : disk_lookup(disk, store, dir), name);
}

static void read_identity(struct stage *stage, void *context) {
    struct base *base = context;
    struct os_dir *dir = NULL;
    struct os_file *file = NULL;
    struct identity_copies copies;
    if (os_dir_open(stage->os, "store", OS_OPEN_READ, &dir) != 0 ||
        os_file_open(stage->os, dir, IDENTITY_NAME, OS_OPEN_READ, &file) != 0 ||
        identity_read_copies(stage->os, file, &copies, NULL) != PAWL_OK ||
        identity_take(&copies, &base->identity, NULL) != PAWL_OK)
        oracle_complain(&stage->oracle, "identity can't be read");
    if (file != NULL)
        (void)os_file_close(stage->os, file);
    os_dir_close(stage->os, dir);
    if (stage_open(stage) == PAWL_OK)
        base->tail = log_tail(stage->log);
    (void)stage_close(stage);
}

static void base_init(struct base *base, bool is_closed) {
    struct stage other;
    memset(base, 0, sizeof *base);
    stage_init(&base->stage, 1);
    stage_init(&other, 2);
    stage_run(&base->stage, make_store, &is_closed);
    stage_run(&other, make_store, &is_closed);
    disk_copy(&base->young, world_disk(base->stage.world));
    disk_copy(&base->other, world_disk(other.world));
    if (is_closed)
        stage_run(&base->stage, add_more, NULL);
    stage_deinit(&other);
    while (stage_segment(&base->stage, base->last + 2) >= 0)
        base->last++; /* the one behind it is the herald */
    struct disk before = {0};
    disk_copy(&before, world_disk(base->stage.world));
    stage_run(&base->stage, read_identity, base);
    disk_copy(world_disk(base->stage.world), &before);
    disk_deinit(&before);
}

static void base_deinit(struct base *base) {
    stage_deinit(&base->stage);
    disk_deinit(&base->young);
    disk_deinit(&base->other);
}

/* ---- What is left to prove anything ---- */

/* The greatest durable position that any whole header on the disk states: the naive way. */
static uint64_t proof_on(const struct disk *disk, const struct identity *identity) {
    uint64_t proof = 0;
    for (size_t i = 0; i < disk->live_count; i++) {
        uint64_t ordinal;
        if (!segment_parse_name(disk->live[i].name, &ordinal))
            continue;
        const struct disk_inode *inode = &disk->inodes[disk->live[i].inode];
        const struct frame_key key = {identity->secret, ordinal};
        struct segment_header segment;
        if (inode->seen_bytes >= SEGMENT_DATA_AT &&
            segment_read_header(inode->seen, inode->seen_bytes, identity->uuid, identity->secret,
                                &segment) == SEGMENT_OURS &&
            segment.ordinal == ordinal && segment.durable_lsn > proof)
            proof = segment.durable_lsn;
        for (size_t at = SEGMENT_DATA_AT; at + FRAME_HEADER_BYTES <= inode->seen_bytes; at += 8) {
            struct frame_header header;
            if (frame_read_header(inode->seen + at, &key, &header) == FRAME_WHOLE &&
                header.durable_lsn > proof)
                proof = header.durable_lsn;
        }
    }
    return proof;
}

/* ---- One trial ---- */

/* Which rows of the tables the damage meets, by a look that changes nothing. */
static void count_rows(struct stage *stage, struct trial *trial) {
    struct os_dir *store = NULL, *dir = NULL;
    struct scan scan;
    if (os_dir_open(stage->os, "store", OS_OPEN_READ, &store) != 0)
        return;
    if (os_dir_open_at(stage->os, store, "log", OS_OPEN_READ, &dir) == 0) {
        scan_init(&scan, stage->os, dir, &trial->base->identity);
        scan.must_not_write = true;
        if (scan_run(&scan, NULL) == PAWL_OK)
            trial->tally->rows[scan.row]++;
        for (size_t i = 0; i < scan.count; i++)
            trial->tally->file_rows[scan.files[i].row]++;
        scan_deinit(&scan);
        os_dir_close(stage->os, dir);
    }
    os_dir_close(stage->os, store);
}

static bool is_told(pawl_status status) {
    return status == PAWL_DAMAGED || status == PAWL_VERSION;
}

/* Opened, and the log is shorter than it was: is that excusable? */
static void check_shorter(struct stage *stage, struct trial *trial, uint64_t proof) {
    const uint64_t end = stage->opening.recovered_lsn;
    if (end < proof)
        oracle_complain(&stage->oracle, "the log ends at %llu, and %llu is proved",
                        (unsigned long long)end, (unsigned long long)proof);
    const uint64_t newest = stage->oracle.frames[stage->oracle.borrowed - 1].end_lsn;
    if (trial->never_shorter && end < newest)
        oracle_complain(&stage->oracle, "the log ends at %llu, and nothing was unfinished",
                        (unsigned long long)end);
    stage->oracle.may_lose = true;
    stage->oracle.confirmed_lsn = 0;
    oracle_recovered(&stage->oracle, end);
}

static void try_it(struct stage *stage, void *context) {
    struct trial *trial = context;
    const uint64_t proof = proof_on(world_disk(stage->world), &trial->base->identity);
    count_rows(stage, trial);
    pawl_status status = stage_open(stage);
    if (is_told(status) && stage->error.file[0] == '\0')
        oracle_complain(&stage->oracle, "told without a place: %s", stage->error.sentence);
    if (status != PAWL_OK) {
        if (!is_told(status))
            oracle_complain(&stage->oracle, "%s: %s", status_name(status), stage->error.sentence);
        return;
    }
    check_shorter(stage, trial, proof);
    status = stage_read_all(stage);
    if (status == PAWL_OK) {
        if (stage_append(stage, 50, true, LOG_ORDINARY) != PAWL_OK ||
            stage_read_all(stage) != PAWL_OK)
            oracle_complain(&stage->oracle, "afterwards: %s", stage->error.sentence);
    } else if (!is_told(status)) {
        oracle_complain(&stage->oracle, "reading: %s", stage->error.sentence);
    }
    (void)stage_close(stage);
}

static struct stage *trial_begin(struct trial *trial, struct base *base) {
    static struct stage stage;
    stage_init(&stage, 3);
    disk_copy(world_disk(stage.world), world_disk(base->stage.world));
    oracle_borrow(&stage.oracle, &base->stage.oracle);
    trial->base = base;
    trial->never_shorter = false;
    return &stage;
}

static void trial_end(struct trial *trial, struct stage *stage) {
    stage_run(stage, try_it, trial);
    struct sweep_report *report = trial->tally->report;
    report->tried++;
    if (!oracle_is_content(&stage->oracle) && report->failed++ < 8)
        printf("%s: %s\n", trial->what, stage->oracle.complaint);
    stage_deinit(stage);
}

/* Is this one of the many that are left out? */
static bool is_left_out(struct sweep_report *report) {
    return report->alike++ % report->every != 0;
}

/* ---- Bits ---- */

static void flip(struct tally *tally, struct base *base, unsigned ordinal, uint64_t offset,
                 unsigned bit) {
    if (is_left_out(tally->report))
        return;
    struct trial trial = {.tally = tally};
    struct stage *stage = trial_begin(&trial, base);
    trial.never_shorter = true;
    (void)snprintf(trial.what, sizeof trial.what, "segment %u, byte %llu, bit %u flipped", ordinal,
                   (unsigned long long)offset, bit);
    disk_flip(world_disk(stage->world), stage_segment(stage, ordinal), offset, bit);
    trial_end(&trial, stage);
}

/* Every bit of the segment's header and of its frames' headers; one in 64 of the rest. */
static void flip_segment(struct tally *tally, struct base *base, unsigned ordinal) {
    const struct disk_inode *inode =
        &world_disk(base->stage.world)->inodes[stage_segment(&base->stage, ordinal)];
    const struct frame_key key = {base->identity.secret, ordinal};
    uint64_t header_end = 64;
    for (uint64_t at = 0; at < inode->seen_bytes; at++) {
        struct frame_header header;
        if (at >= SEGMENT_DATA_AT && at % 8 == 0 && at + FRAME_HEADER_BYTES <= inode->seen_bytes &&
            frame_read_header(inode->seen + at, &key, &header) == FRAME_WHOLE)
            header_end = at + FRAME_HEADER_BYTES;
        for (unsigned bit = 0; bit < 8; bit++) {
            if (at < header_end || (at % 8 == 0 && bit == at / 8 % 8))
                flip(tally, base, ordinal, at, bit);
        }
    }
}

/* ---- Lengths and sectors ---- */

static void cut(struct tally *tally, struct base *base, unsigned ordinal, size_t bytes) {
    if (is_left_out(tally->report))
        return;
    struct trial trial = {.tally = tally};
    struct stage *stage = trial_begin(&trial, base);
    struct disk *disk = world_disk(stage->world);
    (void)snprintf(trial.what, sizeof trial.what, "segment %u cut to %zu bytes", ordinal, bytes);
    disk_truncate(disk, stage_segment(stage, ordinal), bytes);
    disk_sync(disk, stage_segment(stage, ordinal));
    trial_end(&trial, stage);
}

enum spoil { SPOIL_ZERO, SPOIL_ONES, SPOIL_SWAP, SPOIL_COUNT };

static void spoil(struct tally *tally, struct base *base, unsigned ordinal, size_t sector,
                  enum spoil how) {
    static const char *const names[] = {"zero", "all ones", "swapped with the next"};
    struct trial trial = {.tally = tally};
    struct stage *stage = trial_begin(&trial, base);
    struct disk *disk = world_disk(stage->world);
    struct disk_inode *inode = &disk->inodes[stage_segment(stage, ordinal)];
    (void)snprintf(trial.what, sizeof trial.what, "segment %u, sector %zu %s", ordinal, sector,
                   names[how]);
    uint8_t *at = inode->seen + sector * DISK_SECTOR, copy[DISK_SECTOR];
    if (how == SPOIL_SWAP && (sector + 2) * DISK_SECTOR <= inode->seen_bytes) {
        memcpy(copy, at, DISK_SECTOR);
        memcpy(at, at + DISK_SECTOR, DISK_SECTOR);
        memcpy(at + DISK_SECTOR, copy, DISK_SECTOR);
    } else {
        memset(at, how == SPOIL_ONES ? 0xff : 0, DISK_SECTOR);
    }
    memcpy(inode->kept, inode->seen, inode->capacity);
    trial_end(&trial, stage);
}

/* ---- Files ---- */

/* Puts the bytes of a file of `from` in the place of one of the stage, which is made if need be. */
static void put_file(struct stage *stage, const struct disk *from, const char *dir,
                     const char *from_name, const char *name) {
    struct disk *disk = world_disk(stage->world);
    const int source = file_of(from, dir, from_name);
    if (source < 0)
        return;
    const int store = disk_lookup(disk, 0, "store");
    const int parent = dir == NULL ? store : disk_lookup(disk, store, dir);
    const size_t count = from->inodes[source].seen_bytes;
    uint8_t *bytes = malloc(count + 1);
    if (bytes == NULL)
        abort();
    memcpy(bytes, from->inodes[source].seen, count);
    int inode = disk_lookup(disk, parent, name);
    if (inode < 0)
        inode = disk_create(disk, parent, name, false);
    disk_truncate(disk, inode, 0);
    (void)disk_write(disk, inode, bytes, count, 0);
    disk_sync(disk, inode);
    disk_sync_dir(disk, parent);
    free(bytes);
}

static void remove_file(struct stage *stage, const char *dir, const char *name) {
    struct disk *disk = world_disk(stage->world);
    const int store = disk_lookup(disk, 0, "store");
    const int parent = dir == NULL ? store : disk_lookup(disk, store, dir);
    if (disk_lookup(disk, parent, name) >= 0)
        disk_unlink(disk, parent, name);
    disk_sync_dir(disk, parent);
}

enum file_damage {
    FILE_DELETED,
    FILE_DOUBLED, /* under the name behind the last */
    FILE_RENAMED,
    FILE_SWAPPED, /* with the next */
    FILE_YOUNGER,
    FILE_FOREIGN,
    FILE_BLANKED, /* all zeros, of the same size */
    FILE_BOTH_DELETED,
    FILE_DAMAGE_COUNT,
};

static void damage_file(struct tally *tally, struct base *base, unsigned ordinal,
                        enum file_damage how) {
    static const char *const names[] = {"deleted",
                                        "doubled",
                                        "renamed",
                                        "swapped",
                                        "its younger self",
                                        "another store's",
                                        "overwritten by zeros",
                                        "deleted with the next"};
    struct trial trial = {.tally = tally};
    struct stage *stage = trial_begin(&trial, base);
    struct disk *disk = world_disk(stage->world);
    char name[SEGMENT_NAME_BYTES], next[SEGMENT_NAME_BYTES], free_name[SEGMENT_NAME_BYTES];
    segment_name(ordinal, name);
    segment_name(ordinal + 1, next);
    segment_name(base->last + 2, free_name);
    const struct disk *original = world_disk(base->stage.world);
    (void)snprintf(trial.what, sizeof trial.what, "segment %u %s", ordinal, names[how]);
    switch (how) {
    case FILE_DELETED: remove_file(stage, "log", name); break;
    case FILE_BOTH_DELETED:
        remove_file(stage, "log", name);
        remove_file(stage, "log", next);
        break;
    case FILE_DOUBLED: put_file(stage, original, "log", name, free_name); break;
    case FILE_RENAMED:
        put_file(stage, original, "log", name, free_name);
        remove_file(stage, "log", name);
        break;
    case FILE_SWAPPED:
        put_file(stage, original, "log", name, next);
        put_file(stage, original, "log", next, name);
        break;
    case FILE_YOUNGER: put_file(stage, &base->young, "log", name, name); break;
    case FILE_FOREIGN: put_file(stage, &base->other, "log", name, name); break;
    case FILE_BLANKED: {
        struct disk_inode *inode = &disk->inodes[stage_segment(stage, ordinal)];
        memset(inode->seen, 0, inode->capacity);
        memset(inode->kept, 0, inode->capacity);
        break;
    }
    case FILE_DAMAGE_COUNT: break;
    }
    trial_end(&trial, stage);
}

/* Files that are no segments: nothing of theirs may matter, but identity's. */
static void damage_others(struct tally *tally, struct base *base) {
    static const struct {
        const char *dir, *name;
    } files[] = {{NULL, "shared"}, {"log", "reserve-1"}, {"log", "reserve-2"}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        for (int how = 0; how < 3; how++) {
            struct trial trial = {.tally = tally};
            struct stage *stage = trial_begin(&trial, base);
            trial.never_shorter = true;
            struct disk *disk = world_disk(stage->world);
            const int inode = file_of(disk, files[i].dir, files[i].name);
            (void)snprintf(trial.what, sizeof trial.what, "%s, damage %d", files[i].name, how);
            if (how == 0)
                remove_file(stage, files[i].dir, files[i].name);
            else if (inode < 0)
                oracle_complain(&stage->oracle, "it was not made");
            else if (how == 1)
                disk_truncate(disk, inode, 100);
            else
                disk_flip(disk, inode, 3, 1);
            trial_end(&trial, stage);
        }
    }
    for (uint64_t at = 0; at < 64; at++) {
        struct trial trial = {.tally = tally};
        struct stage *stage = trial_begin(&trial, base);
        trial.never_shorter = true;
        (void)snprintf(trial.what, sizeof trial.what, "identity, byte %llu",
                       (unsigned long long)at);
        disk_flip(world_disk(stage->world), file_of(world_disk(stage->world), NULL, "identity"), at,
                  (unsigned)(at % 8));
        trial_end(&trial, stage);
    }
}

/* ---- What only a bug or an attack makes ---- */

/* A frame at the end of the log whose checksum holds and whose content cannot be. */
static void craft_absurd(struct tally *tally, struct base *base) {
    struct trial trial = {.tally = tally};
    struct stage *stage = trial_begin(&trial, base);
    struct disk *disk = world_disk(stage->world);
    const int inode = stage_segment(stage, base->last);
    const struct frame_key key = {base->identity.secret, base->last};
    struct frame_header header;
    uint64_t at = SEGMENT_DATA_AT;
    while (frame_read_header(disk->inodes[inode].seen + at, &key, &header) == FRAME_WHOLE)
        at += frame_header_frame_bytes(&header);
    uint8_t frame[FRAME_HEADER_BYTES + FRAME_ALIGNMENT];
    struct frame_header absurd = {.lsn = base->tail, .durable_lsn = base->tail + 800};
    frame_build(&absurd, NULL, NULL, key.secret, frame);
    frame_place(&absurd, &key, frame);
    (void)disk_write(disk, inode, frame, sizeof frame, at);
    disk_sync(disk, inode);
    (void)snprintf(trial.what, sizeof trial.what, "an absurd frame at the end");
    trial_end(&trial, stage);
}

/* A segment of a format that is newer than this library. */
static void craft_newer(struct tally *tally, struct base *base) {
    struct trial trial = {.tally = tally};
    struct stage *stage = trial_begin(&trial, base);
    struct disk *disk = world_disk(stage->world);
    const int inode = stage_segment(stage, base->last);
    uint8_t header[64];
    memcpy(header, disk->inodes[inode].seen, sizeof header);
    bytes_store_u32(header + 8, SEGMENT_FORMAT_VERSION + 1);
    bytes_store_u64(header + 56, hash_bytes(header, 56, base->identity.secret));
    (void)disk_write(disk, inode, header, sizeof header, 0);
    disk_sync(disk, inode);
    (void)snprintf(trial.what, sizeof trial.what, "a segment of a newer format");
    trial_end(&trial, stage);
}

/* ---- The whole ---- */

static void sweep_base(struct tally *tally, struct base *base) {
    for (unsigned ordinal = 1; ordinal <= base->last + 1; ordinal++) {
        const struct disk_inode *inode =
            &world_disk(base->stage.world)->inodes[stage_segment(&base->stage, ordinal)];
        const size_t bytes = inode->seen_bytes;
        flip_segment(tally, base, ordinal);
        for (size_t i = 0; i <= bytes; i += ordinal == base->last ? 1 : DISK_SECTOR)
            cut(tally, base, ordinal, i);
        for (size_t i = 0; i < bytes / DISK_SECTOR; i++) {
            for (int how = 0; how < SPOIL_COUNT; how++)
                spoil(tally, base, ordinal, i, (enum spoil)how);
        }
        for (int how = 0; how < FILE_DAMAGE_COUNT; how++)
            damage_file(tally, base, ordinal, (enum file_damage)how);
    }
    damage_others(tally, base);
    craft_absurd(tally, base);
    craft_newer(tally, base);
}

void sweep_damage(struct sweep_report *report) {
    struct tally tally = {.report = report};
    for (int is_closed = 0; is_closed < 2; is_closed++) {
        struct base base;
        base_init(&base, is_closed != 0);
        if (oracle_is_content(&base.stage.oracle)) {
            sweep_base(&tally, &base);
        } else {
            report->failed++;
            printf("the store to be damaged: %s\n", base.stage.oracle.complaint);
        }
        base_deinit(&base);
    }
    for (int i = 0; i < RECOVERY_ROW_COUNT; i++) {
        printf("  row %-16s %llu\n", recovery_row_name((enum recovery_row)i),
               (unsigned long long)tally.rows[i]);
        report->failed += tally.rows[i] == 0 && report->every == 1;
    }
    for (int i = 0; i < RECOVERY_FILE_ROW_COUNT; i++) {
        printf("  file row %-11s %llu\n", recovery_file_row_name((enum recovery_file_row)i),
               (unsigned long long)tally.file_rows[i]);
        report->failed += tally.file_rows[i] == 0 && report->every == 1;
    }
}

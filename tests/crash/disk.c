/* A disk that is full: on a file system of its own where mounting is allowed, and by a limit on the
 * size of files everywhere. */
#define _GNU_SOURCE /* unshare() */
#include "crash.h"

#include "actor.h"
#include "story.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    FRAMES_MAX = 5000,
    FINISHING_MIN = 5,
    USUAL = 3000,
    SMALL = 100,
    BALLAST_BYTES = 512 * 1024,
    FILE_BYTES_MAX = 100 * 1024, /* more than a store has at first, less than a segment */
};

struct disk {
    struct player actor;
    struct account account;
    struct actor_role role;
    const char *ballast; /* a file whose removal makes room; NULL: the next process has no limit */
    uint64_t finished;   /* frames that came out of the reserve */
};

/* Appends until it is refused, which must be for want of space and leave the log as it was. */
static bool disk_fill(struct disk *disk, enum log_class class, uint32_t filler,
                      uint64_t *ret_appended) {
    const struct order order = {.call = ACTOR_APPEND, .class = class, .filler_bytes = filler};
    struct report report, read;
    for (uint64_t i = 0; i < FRAMES_MAX; i++) {
        if (!actor_do(&disk->actor, &order, &report))
            return false;
        if (report.status != PAWL_OK) {
            *ret_appended = i;
            return report_must_be(&report, PAWL_DISK_FULL, "appending on a full disk") &&
                   actor_must(&disk->actor, ACTOR_READ, &read) &&
                   (read.value == disk->account.reported ||
                    wrong("%" PRIu64 " frames after a refusal, not %" PRIu64, read.value,
                          disk->account.reported));
        }
        if (!account_append(&disk->account, &report))
            return false;
    }
    return wrong("the disk does not get full");
}

static bool disk_reopen(struct disk *disk) {
    struct report report;
    return actor_must(&disk->actor, ACTOR_CLOSE, &report) &&
           actor_must(&disk->actor, ACTOR_OPEN, &report) &&
           actor_must(&disk->actor, ACTOR_READ, &report) &&
           (report.value == disk->account.reported ||
            wrong("%" PRIu64 " frames after reopening, not %" PRIu64, report.value,
                  disk->account.reported));
}

/* With space again ordinary work goes on. */
static bool disk_relieve(struct disk *disk) {
    struct report report;
    if (disk->ballast != NULL) {
        if (unlink(disk->ballast) != 0)
            return wrong("the ballast is gone");
    } else {
        if (!actor_must(&disk->actor, ACTOR_CLOSE, &report) || !player_dismiss(&disk->actor))
            return false;
        disk->role.file_bytes_max = 0;
        player_start(&disk->actor, "actor", 2, actor_part, &disk->role);
        if (!actor_must(&disk->actor, ACTOR_OPEN, &report))
            return false;
    }
    return actor_must(&disk->actor, ACTOR_APPEND, &report) &&
           account_append(&disk->account, &report) &&
           actor_must(&disk->actor, ACTOR_WAIT, &report) &&
           actor_must(&disk->actor, ACTOR_CLOSE, &report) && player_dismiss(&disk->actor) &&
           account_check_store(&disk->account, disk->role.path, &disk->role.options);
}

static bool disk_play(struct disk *disk) {
    struct report report;
    uint64_t ordinary = 0, more = 0;
    player_start(&disk->actor, "actor", 1, actor_part, &disk->role);
    if (!actor_must(&disk->actor, ACTOR_OPEN, &report) ||
        !disk_fill(disk, LOG_ORDINARY, USUAL, &ordinary) ||
        !disk_fill(disk, LOG_ORDINARY, SMALL, &more) ||
        !actor_must(&disk->actor, ACTOR_WAIT, &report))
        return false;
    if (!disk_fill(disk, LOG_FINISHING, SMALL, &disk->finished) ||
        !actor_must(&disk->actor, ACTOR_WAIT, &report))
        return false;
    if (ordinary == 0 || disk->finished < FINISHING_MIN)
        return wrong("%" PRIu64 " ordinary frames, then %" PRIu64 " from the reserve", ordinary,
                     disk->finished);
    return disk_reopen(disk) && disk_fill(disk, LOG_ORDINARY, USUAL, &more) && disk_relieve(disk);
}

static bool disk_end(struct disk *disk, bool is_right, const char *variant) {
    players_kill_all();
    if (is_right)
        printf("disk: full by %s: %" PRIu64 " frames, %" PRIu64
               " of them from the reserve, closed and opened again, and used again with room\n",
               variant, disk->account.reported, disk->finished);
    account_release(&disk->account);
    (void)fflush(stdout);
    return is_right;
}

static struct actor_role disk_role(const char *path) {
    return (struct actor_role){
        .path = path,
        .options =
            {
                .segment_bytes = 256 * 1024,
                .reserve_bytes = 16 * 1024,
                .busy_ns = 60000000000U,
                .create = true,
            },
    };
}

static bool disk_by_limit(const struct crash_options *options) {
    static struct disk disk;
    char path[SCENE_PATH_BYTES];
    scene_make(path);
    disk.role = disk_role(path);
    disk.role.file_bytes_max = FILE_BYTES_MAX;
    wrong_set_name("disk, by a limit on files");
    const bool is_right = disk_end(&disk, disk_play(&disk), "a limit on the size of files");
    scene_leave(path, !is_right && options->keeps);
    return is_right;
}

/* ---- On a file system of its own ---- */

enum { DIRECTOR_CAN_MOUNT, DIRECTOR_PASSED };

static bool disk_put_ballast(const char *path) {
    static const uint8_t bytes[BALLAST_BYTES] = {1};
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    const bool is_put = fd >= 0 && write(fd, bytes, sizeof bytes) == (ssize_t)sizeof bytes;
    if (fd >= 0)
        (void)close(fd); /* what was written is known */
    return is_put;
}

/* Runs in a mount name space of its own, so that nothing is left mounted however it ends. */
static void director_part(const struct player_side *side, const void *context) {
    static struct disk disk;
    const char *path = context;
    char store[SCENE_PATH_BYTES + 16], ballast[SCENE_PATH_BYTES + 16];
    (void)snprintf(store, sizeof store, "%s/store", path);
    (void)snprintf(ballast, sizeof ballast, "%s/ballast", path);
    struct report report = {.kind = DIRECTOR_CAN_MOUNT};
    const bool can_mount = unshare(CLONE_NEWNS) == 0 &&
                           mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
                           mount("none", path, "tmpfs", 0, "size=1m,mode=0700") == 0;
    report.value = can_mount && disk_put_ballast(ballast) && mkdir(store, 0700) == 0;
    side_report(side, &report);
    if (report.value == 0)
        return;
    disk.role = disk_role(store);
    disk.ballast = ballast;
    report.kind = DIRECTOR_PASSED;
    report.value = disk_end(&disk, disk_play(&disk), "a small file system");
    side_report(side, &report);
}

static bool disk_by_mount(bool *ret_skipped) {
    struct player director;
    struct report report;
    char path[SCENE_PATH_BYTES];
    scene_make(path);
    wrong_set_name("disk, on a small file system");
    player_start(&director, "director", 0, director_part, path);
    bool is_right = player_hear(&director, &report);
    *ret_skipped = is_right && report.value == 0;
    if (*ret_skipped)
        printf("disk: SKIPPED on a small file system, for mounting is not allowed here\n");
    else
        is_right = is_right && player_hear(&director, &report) && report.value != 0;
    players_kill_all();
    scene_leave(path, false);
    return is_right;
}

enum crash_result crash_disk(const struct crash_options *options) {
    bool is_skipped = false;
    const bool is_right = disk_by_limit(options);
    return disk_by_mount(&is_skipped) && is_right ? CRASH_PASSED : CRASH_FAILED;
}

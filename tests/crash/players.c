#include "players.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    PLAYERS_MAX = 16,
    PATIENCE_MS = 120 * 1000, /* far beyond every deadline that a player itself keeps */
    STOP_LOOKS_MAX = PATIENCE_MS,
};

static struct player *players_alive[PLAYERS_MAX];
static char wrong_name[64];

/* ---- Chance ---- */

uint64_t dice_throw(struct dice *dice) {
    dice->state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t x = dice->state;
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

uint64_t dice_below(struct dice *dice, uint64_t n) {
    return dice_throw(dice) % n;
}

bool dice_once_in(struct dice *dice, uint64_t n) {
    return dice_below(dice, n) == 0;
}

/* ---- What goes wrong in a test ---- */

void wrong_set_name(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(wrong_name, sizeof wrong_name, format, arguments);
    va_end(arguments);
}

bool wrong(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    printf("%s: ", wrong_name);
    (void)vprintf(format, arguments);
    printf("\n");
    (void)fflush(stdout);
    va_end(arguments);
    return false;
}

static void die(const char *what) {
    perror(what);
    players_kill_all();
    exit(1);
}

/* ---- Directories ---- */

void scene_make(char ret_path[SCENE_PATH_BYTES]) {
    const char *base = getenv("TMPDIR");
    if (base == NULL || base[0] == '\0')
        base = "/tmp";
    if (snprintf(ret_path, SCENE_PATH_BYTES, "%s/pawl-crash.XXXXXX", base) >= SCENE_PATH_BYTES)
        die("TMPDIR is too long");
    if (mkdtemp(ret_path) == NULL)
        die(ret_path);
}

static void scene_empty(int at, const char *name) {
    const int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    if (stream == NULL)
        return;
    for (const struct dirent *entry; (entry = readdir(stream)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (unlinkat(fd, entry->d_name, 0) == 0)
            continue;
        scene_empty(fd, entry->d_name);
        (void)unlinkat(fd, entry->d_name, AT_REMOVEDIR); /* what is left is seen below */
    }
    (void)closedir(stream);
}

void scene_clear(const char *path) {
    scene_empty(AT_FDCWD, path);
}

void scene_leave(const char *path, bool is_kept) {
    if (is_kept) {
        printf("kept: %s\n", path);
        return;
    }
    scene_clear(path);
    if (rmdir(path) != 0)
        perror(path);
}

/* ---- Processes ---- */

static void players_enter(struct player *player) {
    for (size_t i = 0; i < PLAYERS_MAX; i++) {
        if (players_alive[i] == NULL) {
            players_alive[i] = player;
            return;
        }
    }
    errno = EAGAIN;
    die("too many players");
}

static void players_leave(const struct player *player) {
    for (size_t i = 0; i < PLAYERS_MAX; i++) {
        if (players_alive[i] == player)
            players_alive[i] = NULL;
    }
}

/* In the new process: the other players' pipes are none of its business, and would stay open. */
static void players_close_others(void) {
    for (size_t i = 0; i < PLAYERS_MAX; i++) {
        if (players_alive[i] == NULL)
            continue;
        (void)close(players_alive[i]->orders);
        (void)close(players_alive[i]->reports);
        players_alive[i] = NULL;
    }
}

static void player_perform(const struct player_side *side, pid_t driver, player_part *part,
                           const void *context) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != driver)
        _exit(1);
    players_close_others();
    part(side, context);
    (void)fflush(stdout);
    _exit(0);
}

void player_start(struct player *player, const char *role, uint32_t process, player_part *part,
                  const void *context) {
    int orders[2], reports[2];
    if (pipe(orders) != 0 || pipe(reports) != 0)
        die("pipe");
    (void)fflush(stdout); /* or the child prints it again */
    const pid_t driver = getpid();
    const pid_t pid = fork();
    if (pid < 0)
        die("fork");
    if (pid == 0) {
        (void)close(orders[1]);
        (void)close(reports[0]);
        const struct player_side side = {process, orders[0], reports[1]};
        player_perform(&side, driver, part, context);
    }
    (void)close(orders[0]);
    (void)close(reports[1]);
    *player = (struct player){pid, process, role, orders[1], reports[0]};
    players_enter(player);
}

bool player_tell(const struct player *player, const void *order, size_t bytes) {
    if (player->pid != 0 && write(player->orders, order, bytes) == (ssize_t)bytes)
        return true;
    return wrong("%s %u takes no orders any more", player->role, player->process);
}

/* ---- Who hangs ---- */

static void print_proc(pid_t pid, const char *name) {
    char path[64], text[1024];
    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return;
    const size_t count = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    text[count] = '\0';
    for (char *rest = text, *line; (line = strtok_r(rest, "\n", &rest)) != NULL;)
        printf("    %s: %s\n", name, line);
}

static void players_print(void) {
    for (size_t i = 0; i < PLAYERS_MAX; i++) {
        const struct player *player = players_alive[i];
        if (player == NULL)
            continue;
        printf("  %s %u, pid %d\n", player->role, player->process, (int)player->pid);
        print_proc(player->pid, "stat");
        print_proc(player->pid, "wchan");
        print_proc(player->pid, "syscall");
        print_proc(player->pid, "stack");
    }
    (void)fflush(stdout);
}

/* ---- Hearing ---- */

enum player_heard players_hear(const struct player *players, size_t count, size_t *ret_index,
                               struct report *ret_report) {
    static size_t turn; /* so that a talkative one does not drown the others */
    struct pollfd polled[PLAYERS_MAX];
    for (size_t i = 0; i < count; i++)
        polled[i] =
            (struct pollfd){.fd = players[i].pid != 0 ? players[i].reports : -1, .events = POLLIN};
    int ready;
    do
        ready = poll(polled, (nfds_t)count, PATIENCE_MS);
    while (ready < 0 && errno == EINTR);
    if (ready <= 0) {
        (void)wrong("nobody says anything for %d s", PATIENCE_MS / 1000);
        players_print();
        return PLAYER_HUNG;
    }
    turn++;
    for (size_t i = 0; i < count; i++) {
        const size_t at = (turn + i) % count;
        if (polled[at].fd < 0 || polled[at].revents == 0)
            continue;
        *ret_index = at;
        const ssize_t got = read(polled[at].fd, ret_report, sizeof *ret_report);
        return got == (ssize_t)sizeof *ret_report ? PLAYER_HEARD : PLAYER_GONE;
    }
    return PLAYER_HUNG;
}

bool player_hear(const struct player *player, struct report *ret_report) {
    size_t index;
    const enum player_heard heard = players_hear(player, 1, &index, ret_report);
    if (heard == PLAYER_GONE)
        return wrong("%s %u is gone", player->role, player->process);
    return heard == PLAYER_HEARD;
}

bool player_await_stop(const struct player *player) {
    for (int look = 0; look < STOP_LOOKS_MAX; look++) {
        int status;
        const pid_t changed = waitpid(player->pid, &status, WUNTRACED | WNOHANG);
        if (changed == player->pid)
            return WIFSTOPPED(status) ||
                   wrong("%s %u ended where it was to stop", player->role, player->process);
        (void)poll(NULL, 0, 1); /* looks again soon; how soon does not matter */
    }
    players_print();
    return wrong("%s %u never stopped", player->role, player->process);
}

void player_signal(const struct player *player, int signal_number) {
    if (player->pid != 0)
        (void)kill(player->pid, signal_number); /* it may have died already */
}

bool player_bury(struct player *player, int *ret_status) {
    size_t index;
    struct report report;
    enum player_heard heard;
    do
        heard = players_hear(player, 1, &index, &report);
    while (heard == PLAYER_HEARD);
    if (heard == PLAYER_HUNG)
        (void)kill(player->pid, SIGKILL);
    int status = 0;
    while (waitpid(player->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (player->orders >= 0)
        (void)close(player->orders);
    (void)close(player->reports);
    players_leave(player);
    player->pid = 0;
    *ret_status = status;
    return heard == PLAYER_GONE;
}

bool player_dismiss(struct player *player) {
    int status;
    if (player->pid == 0)
        return true;
    (void)close(player->orders);
    player->orders = -1;
    return player_bury(player, &status) &&
           ((WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
            wrong("%s %u ended with status %#x", player->role, player->process, (unsigned)status));
}

void player_kill(struct player *player) {
    int status;
    if (player->pid == 0)
        return;
    (void)kill(player->pid, SIGKILL);
    (void)player_bury(player, &status);
}

void players_kill_all(void) {
    for (size_t i = 0; i < PLAYERS_MAX; i++) {
        if (players_alive[i] != NULL)
            player_kill(players_alive[i]);
    }
}

/* ---- In the player ---- */

void side_report(const struct player_side *side, const struct report *report) {
    struct report filled = *report;
    filled.process = side->process;
    ssize_t put;
    do
        put = write(side->reports, &filled, sizeof filled);
    while (put < 0 && errno == EINTR);
    if (put != (ssize_t)sizeof filled)
        _exit(1); /* nobody listens any more */
}

bool side_order(const struct player_side *side, void *ret_order, size_t bytes) {
    ssize_t got;
    do
        got = read(side->orders, ret_order, bytes);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)bytes;
}

bool side_order_now(const struct player_side *side, void *ret_order, size_t bytes) {
    struct pollfd polled = {.fd = side->orders, .events = POLLIN};
    if (poll(&polled, 1, 0) <= 0)
        return false;
    if (!side_order(side, ret_order, bytes))
        _exit(1);
    return true;
}

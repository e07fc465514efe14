/* A consumer inside an event loop.
 *
 *     event_loop DIRECTORY QUEUE
 *
 * One thread waits with poll() for three things at once: messages of the queue, lines on standard
 * input, which it enqueues without waiting for the disk, and SIGTERM, which ends it cleanly.
 */
#include "pawl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct loop {
    pawl_store *store;
    const char *queue;
    size_t line_bytes;
    char line[4096];
};

static int wake_fd = -1;

static void on_signal(int number) {
    (void)number;
    const int saved = errno;
    /* A full pipe wakes as well as one byte more would. */
    const ssize_t written = write(wake_fd, "x", 1);
    (void)written;
    errno = saved;
}

static pawl_status take_messages(struct loop *loop, pawl_error *error) {
    pawl_claim_options want;
    pawl_claim_options_init(&want, sizeof want);
    want.count = 16;

    const pawl_delivery *got;
    pawl_status status;
    while ((status = pawl_claim(loop->store, loop->queue, &want, &got, error)) == PAWL_OK) {
        for (const pawl_delivery *one = got; one != NULL; one = one->next) {
            printf("%s: %.*s\n", one->id, (int)one->payload.size, (const char *)one->payload.data);
            status = pawl_ack(loop->store, one->receipt, NULL, NULL, error);
            if (status != PAWL_OK && status != PAWL_STALE)
                break;
        }
        pawl_delivery_free(got);
        if (status != PAWL_OK && status != PAWL_STALE)
            return status;
    }
    return status == PAWL_EMPTY ? PAWL_OK : status;
}

static pawl_status take_outcomes(struct loop *loop, pawl_error *error) {
    pawl_confirmed confirmed;
    pawl_status status;
    while ((status = pawl_ticket_next(loop->store, 0, &confirmed, error)) == PAWL_OK)
        if (confirmed.status != PAWL_OK)
            fprintf(stderr, "a line was not enqueued: %s\n", confirmed.error.sentence);
    return status == PAWL_EMPTY ? PAWL_OK : status;
}

static pawl_status enqueue_line(struct loop *loop, const char *line, size_t size,
                                pawl_error *error) {
    pawl_message message;
    pawl_message_init(&message, sizeof message);
    message.payload.data = line;
    message.payload.size = size;
    return pawl_enqueue_async(loop->store, loop->queue, &message, NULL, NULL, NULL, NULL, error);
}

/* Sets *ret_open to 0 at the end of the input. */
static pawl_status take_lines(struct loop *loop, int *ret_open, pawl_error *error) {
    const ssize_t got =
        read(STDIN_FILENO, loop->line + loop->line_bytes, sizeof loop->line - loop->line_bytes);
    if (got <= 0) {
        *ret_open = got < 0 && errno == EINTR;
        return PAWL_OK;
    }
    loop->line_bytes += (size_t)got;

    const char *start = loop->line;
    const char *end;
    size_t left = loop->line_bytes;
    while ((end = memchr(start, '\n', left)) != NULL || left == sizeof loop->line) {
        const size_t size = end == NULL ? left : (size_t)(end - start);
        const pawl_status status = enqueue_line(loop, start, size, error);
        if (status != PAWL_OK)
            return status;
        const size_t used = end == NULL ? size : size + 1;
        start += used;
        left -= used;
    }
    memmove(loop->line, start, left);
    loop->line_bytes = left;
    return PAWL_OK;
}

static pawl_status run(struct loop *loop, int signal_fd, pawl_error *error) {
    int ready_fd;
    pawl_status status = pawl_ready_fd(loop->store, &ready_fd, error);
    if (status != PAWL_OK)
        return status;
    int is_open = 1;

    for (;;) {
        /* Asking until the answer is "empty" is what makes the descriptor tell of the next one. */
        status = take_messages(loop, error);
        if (status == PAWL_OK)
            status = take_outcomes(loop, error);
        if (status != PAWL_OK)
            return status;
        fflush(stdout);

        struct pollfd fds[] = {{.fd = ready_fd, .events = POLLIN},
                               {.fd = signal_fd, .events = POLLIN},
                               {.fd = is_open ? STDIN_FILENO : -1, .events = POLLIN}};
        if (poll(fds, 3, -1) < 0) {
            if (errno == EINTR)
                continue; /* the pipe tells why */
            perror("poll");
            return PAWL_OK;
        }
        if (fds[1].revents != 0)
            return PAWL_OK;
        if (fds[2].revents != 0)
            status = take_lines(loop, &is_open, error);
        if (status != PAWL_OK)
            return status;
    }
}

static int catch_signals(int *ret_signal_fd) {
    int ends[2];
    if (pipe(ends) != 0 || fcntl(ends[1], F_SETFL, O_NONBLOCK) != 0)
        return -1;
    *ret_signal_fd = ends[0];
    wake_fd = ends[1];
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    return sigaction(SIGTERM, &action, NULL) != 0 || sigaction(SIGINT, &action, NULL) != 0 ? -1 : 0;
}

int main(int argc, char **argv) {
    int signal_fd;
    if (argc != 3) {
        fputs("usage: event_loop DIRECTORY QUEUE\n", stderr);
        return 2;
    }
    if (catch_signals(&signal_fd) != 0) {
        perror("event_loop");
        return 1;
    }

    static struct loop loop;
    pawl_error error;
    loop.queue = argv[2];
    pawl_status status = pawl_open(argv[1], NULL, &loop.store, &error);
    if (status == PAWL_OK) {
        status = run(&loop, signal_fd, &error);
        /* Brings the outcomes of the lines that are still on their way. */
        if (status == PAWL_OK)
            status = pawl_sync(loop.store, PAWL_WAIT_DEFAULT, &error);
        if (status == PAWL_OK)
            status = take_outcomes(&loop, &error);
        const pawl_status closed = pawl_close(loop.store, status == PAWL_OK ? &error : NULL);
        if (status == PAWL_OK)
            status = closed;
    }
    if (status != PAWL_OK)
        fprintf(stderr, "%s: %s\n", argv[1], error.sentence);
    return pawl_status_exit_code(status);
}

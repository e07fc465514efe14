#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64

#include "os_posix_machine.h"

#include "os_posix_descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NANOSECONDS_PER_SECOND UINT64_C(1000000000)

/* posix_futex_wait() reads the boot clock again after this long, because the kernel's own timeout
 * stands still while the machine is suspended and the boot clock does not. */
#define FUTEX_SLICE_NS NANOSECONDS_PER_SECOND

_Static_assert(sizeof(struct timespec) == 2 * sizeof(long), "what the futex call takes");

static struct timespec timespec_of(uint64_t nanoseconds) {
    return (struct timespec){.tv_sec = (time_t)(nanoseconds / NANOSECONDS_PER_SECOND),
                             .tv_nsec = (long)(nanoseconds % NANOSECONDS_PER_SECOND)};
}

static uint64_t clock_read(clockid_t clock, uint64_t units_per_second) {
    struct timespec now;
    (void)clock_gettime(clock, &now); /* Linux has had both clocks for longer than OFD locks */
    return (uint64_t)now.tv_sec * units_per_second +
           (uint64_t)now.tv_nsec / (NANOSECONDS_PER_SECOND / units_per_second);
}

uint64_t posix_clock_boot(struct os *os) {
    (void)os;
    return clock_read(CLOCK_BOOTTIME, NANOSECONDS_PER_SECOND);
}

uint64_t posix_clock_wall(struct os *os) {
    (void)os;
    return clock_read(CLOCK_REALTIME, 1000000);
}

void posix_pause(struct os *os, uint64_t nanoseconds) {
    (void)os;
    if (nanoseconds == 0) {
        (void)sched_yield(); /* can't fail on Linux */
        return;
    }
    struct timespec left = timespec_of(nanoseconds);
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR)
        continue;
}

/* The shared flavour, which finds its waiters by the page and so serves private memory too. */
int posix_futex_wait(struct os *os, _Atomic uint32_t *word, uint32_t expected, uint64_t deadline) {
    for (;;) {
        struct timespec slice;
        if (deadline != OS_NO_DEADLINE) {
            const uint64_t now = posix_clock_boot(os);
            const uint64_t left = deadline > now ? deadline - now : 0;
            slice = timespec_of(left < FUTEX_SLICE_NS ? left : FUTEX_SLICE_NS);
        }
        if (syscall(SYS_futex, word, FUTEX_WAIT, expected,
                    deadline == OS_NO_DEADLINE ? NULL : &slice, NULL, 0) == 0)
            return 0;
        if (errno != ETIMEDOUT)
            return 0; /* EAGAIN: the word differed; EINTR: a signal, for the caller no reason */
        if (posix_clock_boot(os) >= deadline)
            return ETIMEDOUT;
    }
}

void posix_futex_wake(struct os *os, _Atomic uint32_t *word, uint32_t waiters_max) {
    (void)os;
    const int waiters = waiters_max > INT_MAX ? INT_MAX : (int)waiters_max;
    /* How many there were tells nothing; a bad address would have crashed the caller before. */
    (void)syscall(SYS_futex, word, FUTEX_WAKE, waiters, NULL, NULL, 0);
}

int posix_entropy(struct os *os, void *buffer, size_t bytes) {
    (void)os;
    size_t done = 0;
    while (done < bytes) {
        const ssize_t got = getrandom((uint8_t *)buffer + done, bytes - done, 0);
        if (got >= 0)
            done += (size_t)got;
        else if (errno != EINTR)
            return errno;
    }
    return 0;
}

/* The beginning of a small file of /proc, as a string. */
static int proc_read(const char *path, char *ret_text, size_t size) {
    const int number = descriptor_open_bare(AT_FDCWD, path, O_RDONLY);
    if (number < 0)
        return errno;
    ssize_t got;
    do
        got = read(number, ret_text, size - 1);
    while (got < 0 && errno == EINTR);
    const int error = got < 0 ? errno : 0;
    (void)close(number); /* only read */
    if (error == 0)
        ret_text[got] = '\0';
    return error;
}

/* Sixteen bytes from the usual text of a UUID: 32 hexadecimal digits, with dashes between some. */
static int boot_id_parse(const char *text, uint8_t ret_id[OS_BOOT_ID_BYTES]) {
    static const char digits[] = "0123456789abcdef";
    size_t count = 0;
    for (; *text != '\0' && *text != '\n'; text++) {
        if (*text == '-')
            continue;
        const char *digit = strchr(digits, *text);
        if (digit == NULL || count == 2 * (size_t)OS_BOOT_ID_BYTES)
            return EIO;
        const uint8_t value = (uint8_t)(digit - digits);
        ret_id[count / 2] = (uint8_t)(count % 2 == 0 ? value << 4 : ret_id[count / 2] | value);
        count++;
    }
    return count == 2 * (size_t)OS_BOOT_ID_BYTES ? 0 : EIO;
}

int posix_read_boot_id(uint8_t ret_id[OS_BOOT_ID_BYTES]) {
    char text[64] = "";
    const int error = proc_read("/proc/sys/kernel/random/boot_id", text, sizeof text);
    return error == 0 ? boot_id_parse(text, ret_id) : error;
}

/* Both texts are shown to people, who may have made them up: one line, nothing for a terminal to
 * obey, cut to fit. */
static void text_copy(char *ret_text, size_t size, const char *text) {
    size_t used = 0;
    for (; *text != '\0' && *text != '\n' && used + 1 < size; text++) {
        const bool is_control = (unsigned char)*text < 0x20 || *text == 0x7f;
        ret_text[used] = *text;
        if (is_control)
            ret_text[used] = '?';
        used++;
    }
    ret_text[used] = '\0';
}

/* The command's name alone: its arguments may hold secrets, and this is written into the store. */
void posix_name_process(struct os_process *ret_process) {
    char text[HOST_NAME_MAX + 1] = "";
    ret_process->pid = (uint32_t)getpid();
    const bool named = gethostname(text, sizeof text) == 0 && text[0] != '\0';
    text_copy(ret_process->host, sizeof ret_process->host, named ? text : "?");
    const bool read = proc_read("/proc/self/comm", text, sizeof text) == 0;
    text_copy(ret_process->command, sizeof ret_process->command, read ? text : "?");
}

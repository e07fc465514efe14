#include <criterion/criterion.h>

#include <errno.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

static struct plain_test *tests;
static bool expectation_failed;

void plain_register(struct plain_test *test) {
    test->next = tests;
    tests = test;
}

void plain_fail(const char *file, int line, bool fatal, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)fprintf(stderr, "%s:%d: ", file, line);
    (void)vfprintf(stderr, format, arguments);
    (void)fputc('\n', stderr);
    va_end(arguments);
    if (fatal)
        _exit(1);
    expectation_failed = true;
}

/* The child's part: the test, and an exit that flushes what a sanitizer wants to say. */
static void plain_run(const struct plain_test *test) {
    const struct plain_options *options = &test->options;
    (void)alarm(options->timeout > 0 ? (unsigned)options->timeout + 1 : 60);
    if (options->init != NULL)
        options->init();
    test->run();
    if (options->fini != NULL)
        options->fini();
    exit(expectation_failed ? 1 : 0);
}

static bool plain_passes(const struct plain_test *test) {
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child < 0)
        return false;
    if (child == 0)
        plain_run(test);
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    if (WIFSIGNALED(status))
        return test->options.signal == WTERMSIG(status);
    return test->options.signal == 0 && WEXITSTATUS(status) == test->options.exit_code;
}

int main(void) {
    int passed = 0, failed = 0;
    for (const struct plain_test *test = tests; test != NULL; test = test->next) {
        if (test->options.disabled)
            continue;
        if (plain_passes(test)) {
            passed++;
        } else {
            (void)fprintf(stderr, "FAILED: %s/%s\n", test->suite, test->name);
            failed++;
        }
    }
    (void)printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 && passed > 0 ? 0 : 1;
}

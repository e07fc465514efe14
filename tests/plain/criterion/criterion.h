/* A stand-in for Criterion where Criterion can't run (ThreadSanitizer): as much of its face as our
 * unit tests use. Each test runs in a child process of its own; plain.c has the runner.
 */
#ifndef PAWL_TESTS_PLAIN_CRITERION_H
#define PAWL_TESTS_PLAIN_CRITERION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct plain_options {
    void (*init)(void);
    void (*fini)(void);
    int signal;     /* the test must end by it */
    int exit_code;  /* or with this */
    double timeout; /* seconds; 0: a minute */
    bool disabled;
    const char *description;
};

struct plain_test {
    const char *suite, *name;
    void (*run)(void);
    struct plain_options options;
    struct plain_test *next;
};

void plain_register(struct plain_test *test);

/* Says what failed. An assertion (`fatal`) ends the test at once, an expectation at its end. */
void plain_fail(const char *file, int line, bool fatal, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#define Test(Suite, Name, ...)                                                                     \
    static void Suite##_##Name##_run(void);                                                        \
    __attribute__((constructor)) static void Suite##_##Name##_register(void) {                     \
        static struct plain_test test = {.suite = #Suite, .name = #Name};                          \
        test.run = Suite##_##Name##_run;                                                           \
        test.options = (struct plain_options){.exit_code = 0, __VA_ARGS__};                        \
        plain_register(&test);                                                                     \
    }                                                                                              \
    static void Suite##_##Name##_run(void)

/* The message that may follow a condition is optional, so its format is pasted behind ours. */
#define PLAIN_CHECK(fatal, text, holds, ...)                                                       \
    ((holds) ? (void)0 : plain_fail(__FILE__, __LINE__, fatal, text ": " __VA_ARGS__))

#define cr_assert(holds, ...)      PLAIN_CHECK(true, #holds, holds, "" __VA_ARGS__)
#define cr_assert_not(holds, ...)  cr_assert(!(holds), __VA_ARGS__)
#define cr_assert_eq(a, b, ...)    PLAIN_CHECK(true, #a " == " #b, (a) == (b), "" __VA_ARGS__)
#define cr_assert_neq(a, b, ...)   PLAIN_CHECK(true, #a " != " #b, (a) != (b), "" __VA_ARGS__)
#define cr_assert_lt(a, b, ...)    PLAIN_CHECK(true, #a " < " #b, (a) < (b), "" __VA_ARGS__)
#define cr_assert_leq(a, b, ...)   PLAIN_CHECK(true, #a " <= " #b, (a) <= (b), "" __VA_ARGS__)
#define cr_assert_gt(a, b, ...)    PLAIN_CHECK(true, #a " > " #b, (a) > (b), "" __VA_ARGS__)
#define cr_assert_geq(a, b, ...)   PLAIN_CHECK(true, #a " >= " #b, (a) >= (b), "" __VA_ARGS__)
#define cr_assert_null(a, ...)     PLAIN_CHECK(true, #a " is NULL", (a) == NULL, "" __VA_ARGS__)
#define cr_assert_not_null(a, ...) PLAIN_CHECK(true, #a " not NULL", (a) != NULL, "" __VA_ARGS__)
#define cr_assert_str_eq(a, b, ...)                                                                \
    PLAIN_CHECK(true, #a " == " #b, strcmp(a, b) == 0, "" __VA_ARGS__)
#define cr_assert_str_neq(a, b, ...)                                                               \
    PLAIN_CHECK(true, #a " != " #b, strcmp(a, b) != 0, "" __VA_ARGS__)
#define cr_assert_arr_eq(a, b, bytes, ...)                                                         \
    PLAIN_CHECK(true, #a " == " #b, memcmp(a, b, bytes) == 0, "" __VA_ARGS__)
#define cr_assert_arr_neq(a, b, bytes, ...)                                                        \
    PLAIN_CHECK(true, #a " != " #b, memcmp(a, b, bytes) != 0, "" __VA_ARGS__)
#define cr_assert_fail(...)      PLAIN_CHECK(true, "fail", false, "" __VA_ARGS__)
#define cr_expect(holds, ...)    PLAIN_CHECK(false, #holds, holds, "" __VA_ARGS__)
#define cr_expect_eq(a, b, ...)  PLAIN_CHECK(false, #a " == " #b, (a) == (b), "" __VA_ARGS__)
#define cr_expect_neq(a, b, ...) PLAIN_CHECK(false, #a " != " #b, (a) != (b), "" __VA_ARGS__)
#define cr_expect_str_eq(a, b, ...)                                                                \
    PLAIN_CHECK(false, #a " == " #b, strcmp(a, b) == 0, "" __VA_ARGS__)
#define cr_skip_test(...) exit(0)
#define cr_log_info(...)  ((void)0)

#endif

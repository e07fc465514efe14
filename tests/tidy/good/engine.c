#include "middle.h"

#include <errno.h>
#include <string.h>

#include "low.h"

/* A room that keeps every rule, and looks in places as if it did not. */
struct middle_ops {
    int (*open)(const char *name);
    void (*free)(void *memory);
};

static const char *const words[] = {
    "malloc(10)",
    "it's /* not a comment",
    "TODOS",
};

#define MIDDLE_EACH(X)                                                                             \
    X(first)                                                                                       \
    X(second)

static int middle_first(const struct middle_ops *ops, const char *name) {
    ops->free(NULL);
    return ops->open(name) == 0 ? 'a' : '"';
}

int middle_run(const struct middle_ops *ops, const char *name, int at, int more) {
    /* lines: 67 */
    return at + more + middle_first(ops, name) + (int)strlen(words[0]);
}
/* path: engine/middle.c */

#include <stdlib.h>

static int below(int limit) {
    usleep(1);             /* WANT */
    return rand() % limit; /* WANT */
}
/* path: tests/unit/test_low.c */

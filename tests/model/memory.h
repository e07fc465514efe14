/* memory: the part of a seam that a state needs: an allocator that fails when it is told to, and
 * knows what it has given out. */
#ifndef PAWL_TESTS_MODEL_MEMORY_H
#define PAWL_TESTS_MODEL_MEMORY_H

#include "os.h"

#include <stdint.h>

#define MEMORY_UNLIMITED UINT64_MAX

struct memory {
    struct os os;
    uint64_t left;  /* so many calls succeed from now on */
    uint64_t bytes; /* given out */
    uint64_t limit; /* more than that are not given out */
};

void memory_init(struct memory *ret_memory);

#endif

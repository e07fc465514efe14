#include "memory.h"

#include <stdlib.h>

static struct memory *memory_of(struct os *os) {
    return (struct memory *)os;
}

static void *memory_allocate(struct os *os, size_t bytes) {
    struct memory *memory = memory_of(os);
    if (memory->left == 0 || bytes > memory->limit - memory->bytes)
        return NULL;
    if (memory->left != MEMORY_UNLIMITED)
        memory->left--;
    memory->bytes += bytes;
    return calloc(1, bytes);
}

static void memory_release(struct os *os, void *block, size_t bytes) {
    if (block != NULL)
        memory_of(os)->bytes -= bytes;
    free(block);
}

static const struct os_ops ops = {.allocate = memory_allocate, .release = memory_release};

void memory_init(struct memory *ret_memory) {
    *ret_memory =
        (struct memory){.os = {.ops = &ops}, .left = MEMORY_UNLIMITED, .limit = UINT64_C(1) << 28};
}

#include <stdio.h>
#include <stdlib.h>

#include "low.h"
#include "pawl.h"

int main(void) {
    void *memory = malloc(10);
    printf("%p\n", memory);
    free(memory);
    return 0;
}
/* path: tools/tool.c */

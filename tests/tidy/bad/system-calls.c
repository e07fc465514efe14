#include <string.h>
#include <unistd.h> /* WANT */

#include <sys/stat.h> /* WANT */

int middle_run(struct os *os, char *text) {
    void *memory = malloc(10); /* WANT */
    free (memory);             /* WANT */
    (void)os->ops->rename(os, NULL, "malloc(", "b");
    if (open("a", 0) < 0) /* WANT */
        abort();          /* WANT */
    /* close( is only a word here, and so is
       write( there */
    printf("%d\n", 1); /* WANT */
    return (int)time(NULL) + (int)strlen(strcpy(text, "'")); /* WANT */
}
/* path: engine/middle.c */

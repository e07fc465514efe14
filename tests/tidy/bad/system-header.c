#include <sys/types.h> /* WANT */
#include <stddef.h>
#include <stdbool.h> /* WANT */
/* path: include/pawl.h */

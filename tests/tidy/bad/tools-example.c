#include "low.h" /* WANT */
#include "pawl.h"
/* path: docs/examples/first.c */

#include "high.h" /* WANT */
#include "low.h"
#include "pawl.h"
/* path: tools/tool.c */

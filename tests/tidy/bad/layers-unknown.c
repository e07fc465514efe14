/* WANT: a room without a floor */
#include "low.h"
/* path: engine/attic.c */

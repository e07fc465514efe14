#include "low.h"
#include "middle.h" /* WANT */
/* path: engine/face.h */

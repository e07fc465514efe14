#include "middle.h"
#include "high.h" /* WANT */
#include "low.h"
#include "face.h"
#include "other.h" /* WANT */
#include "pawl.h"
#include "../tools/tool.h" /* WANT */
#include <string.h>
/* path: engine/middle.c */

#include "face.h"

#include "high.h"
#include "middle.h"

int face_add(int a, int b) {
    return a + b;
}
/* path: engine/face.c */

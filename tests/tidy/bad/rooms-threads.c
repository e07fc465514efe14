/* middle: says what it is and not who may call it. WANT */
#ifndef MIDDLE_H
#define MIDDLE_H
/* A later comment about threads is not the introduction. */
#endif
/* path: engine/middle.h */

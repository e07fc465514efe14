/* This header has no room's name. WANT. Threads: any. */
#ifndef MIDDLE_H
#define MIDDLE_H
#endif
/* path: engine/middle.h */

/* WANT: no list names this file */
/* path: engine/other.c */

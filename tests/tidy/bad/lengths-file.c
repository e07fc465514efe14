/* lines: 800 */
/* WANT */
/* path: engine/middle.c */

static int middle_add(int a, int b) {
    return a+b; /* WANT */
}
/* path: engine/middle.c */

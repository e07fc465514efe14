static int short_one(int at) {
    /* lines: 67 */
    return at;
}

static int long_one(int first, /* WANT */
                    int at) {
    /* lines: 68 */
    return at;
}

static const int table[] = {
    1, /* a table may be long */
    2,
};
/* path: engine/middle.c */

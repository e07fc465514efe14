/* dump: a whole state as text: sorted, nothing volatile, so that equal states give equal bytes. And
 * its audit: what must hold of any state, whoever wrote the log. */
#ifndef PAWL_TESTS_MODEL_DUMP_H
#define PAWL_TESTS_MODEL_DUMP_H

#include "state.h"

struct dump {
    char *text;
    size_t bytes, capacity;
};

/* Writes over what is there. */
void dump_state(struct dump *dump, const struct state *state);
bool dump_is_same(const struct dump *one, const struct dump *other);
void dump_free(struct dump *dump);

enum { COMPLAINT_BYTES = 256 };

/* G1 to G3 and S2, and the orders of the entries. False: `ret_complaint` says what is wrong. */
bool audit_state(const struct state *state, char *ret_complaint);

#endif

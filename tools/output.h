/* output: how the command speaks. Results go to standard output, failures to standard error, each
 * of them one line.
 */
#ifndef PAWL_TOOLS_OUTPUT_H
#define PAWL_TOOLS_OUTPUT_H

#include "pawl.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "pawl: WHAT: WHY" on standard error; what would not print in one line is escaped. */
void output_failure(const char *what, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same for a status; gives its exit code. */
int output_status(const char *what, pawl_status status, const pawl_error *error);

/* Flushes standard output. False: it could not be written, and that has been told. */
bool output_flush(void);

/* Prints one JSON value as one line and lets go of it. False: no memory (NULL too); told. */
bool output_json(json_t *value);

/* Objects: each takes NULL as an object that could not be made and then does nothing. */
void output_set_number(json_t *object, const char *name, uint64_t number);
/* Bytes that are no UTF-8 are escaped as \xNN. */
void output_set_text(json_t *object, const char *name, const char *text);
/* False: no memory. */
bool output_set_hex(json_t *object, const char *name, const uint8_t *bytes, size_t count);
/* NAME as text when the bytes are UTF-8, else NAME_base64. False: no memory. */
bool output_set_bytes(json_t *object, const char *name, const uint8_t *bytes, size_t count);

/* For a terminal: what is not printable ASCII is escaped as \xNN. */
void output_print_bytes(const uint8_t *bytes, size_t count);
void output_print_text(const char *text);
void output_print_hex(const uint8_t *bytes, size_t count);

#endif

#include "output.h"

#include "status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char digits[] = "0123456789abcdef";

/* Escapes what is not printable ASCII, and the backslash; UTF-8 stays where `keeps_high`. Writes at
 * most `size` bytes with the end, and cuts. */
static void escape(const char *text, bool keeps_high, char *line, size_t size) {
    size_t at = 0;
    for (; *text != '\0' && at + 5 < size; text++) {
        const unsigned char byte = (unsigned char)*text;
        if (byte == '\\')
            line[at++] = '\\';
        if ((byte >= ' ' && byte < 0x7f) || (byte >= 0x80 && keeps_high)) {
            line[at++] = (char)byte;
            continue;
        }
        line[at++] = '\\';
        line[at++] = 'x';
        line[at++] = digits[byte >> 4];
        line[at++] = digits[byte & 15];
    }
    line[at] = '\0';
}

void output_failure(const char *what, const char *format, ...) {
    char why[1024], line[2048], name[256];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(why, sizeof why, format, values);
    va_end(values);
    escape(what, true, name, sizeof name);
    escape(why, true, line, sizeof line);
    (void)fflush(stdout); /* results that stand come before why there are no more */
    (void)fprintf(stderr, "pawl: %s: %s\n", name, line);
}

int output_status(const char *what, pawl_status status, const pawl_error *error) {
    const bool has_sentence = error != NULL && error->sentence[0] != '\0';
    output_failure(what, "%s", has_sentence ? error->sentence : status_sentence(status));
    return status_exit_code(status);
}

bool output_flush(void) {
    if (fflush(stdout) == 0 && ferror(stdout) == 0)
        return true;
    output_failure("output", "cannot write the results: %s", strerror(errno));
    return false;
}

bool output_json(json_t *value) {
    char *line = value == NULL ? NULL : json_dumps(value, JSON_COMPACT);
    json_decref(value);
    if (line == NULL) {
        output_failure("output", "no memory");
        return false;
    }
    (void)puts(line); /* output_flush() tells */
    free(line);
    return true;
}

void output_set_number(json_t *object, const char *name, uint64_t number) {
    (void)json_object_set_new(object, name, json_integer((json_int_t)number));
}

void output_set_text(json_t *object, const char *name, const char *text) {
    json_t *value = json_string(text);
    if (value == NULL) {
        char escaped[1024];
        escape(text, false, escaped, sizeof escaped);
        value = json_string(escaped);
    }
    (void)json_object_set_new(object, name, value);
}

bool output_set_hex(json_t *object, const char *name, const uint8_t *bytes, size_t count) {
    char *text = malloc(count * 2 + 1);
    if (text == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        text[i * 2] = digits[bytes[i] >> 4];
        text[i * 2 + 1] = digits[bytes[i] & 15];
    }
    const bool is_set =
        json_object_set_new(object, name, json_stringn_nocheck(text, count * 2)) == 0;
    free(text);
    return is_set;
}

static char *base64(const uint8_t *bytes, size_t count, size_t *ret_letters) {
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = malloc((count + 2) / 3 * 4 + 1);
    if (text == NULL)
        return NULL;
    size_t at = 0;
    for (size_t i = 0; i < count; i += 3) {
        const size_t left = count - i;
        const uint32_t group = (uint32_t)bytes[i] << 16 |
                               (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                               (left > 2 ? (uint32_t)bytes[i + 2] : 0);
        text[at++] = alphabet[group >> 18];
        text[at++] = alphabet[group >> 12 & 63];
        text[at++] = alphabet[group >> 6 & 63];
        text[at++] = alphabet[group & 63];
    }
    for (size_t padding = (3 - count % 3) % 3; padding > 0; padding--)
        text[at - padding] = '=';
    *ret_letters = at;
    return text;
}

bool output_set_bytes(json_t *object, const char *name, const uint8_t *bytes, size_t count) {
    json_t *value = json_stringn((const char *)bytes, count);
    if (value != NULL)
        return json_object_set_new(object, name, value) == 0;
    char other_name[64];
    size_t letters;
    char *text = base64(bytes, count, &letters);
    (void)snprintf(other_name, sizeof other_name, "%s_base64", name);
    const bool is_set =
        text != NULL &&
        json_object_set_new(object, other_name, json_stringn_nocheck(text, letters)) == 0;
    free(text);
    return is_set;
}

void output_print_text(const char *text) {
    output_print_bytes((const uint8_t *)text, strlen(text));
}

void output_print_bytes(const uint8_t *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const uint8_t byte = bytes[i];
        if (byte == '\\')
            (void)fputs("\\\\", stdout);
        else if (byte >= ' ' && byte < 0x7f)
            (void)putchar(byte);
        else
            (void)printf("\\x%02x", byte);
    }
}

void output_print_hex(const uint8_t *bytes, size_t count) {
    for (size_t i = 0; i < count; i++)
        (void)printf("%02x", bytes[i]);
}

#include "status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *status_name(pawl_status status) {
    switch (status) {
#define X(name, exit_code, sentence)                                                               \
    case name: return #name;
        STATUS_MAP(X)
#undef X
    }
    return "PAWL_?";
}

const char *status_sentence(pawl_status status) {
    switch (status) {
#define X(name, exit_code, sentence)                                                               \
    case name: return sentence;
        STATUS_MAP(X)
#undef X
    }
    return "unknown status";
}

int status_exit_code(pawl_status status) {
    switch (status) {
#define X(name, exit_code, sentence)                                                               \
    case name: return exit_code;
        STATUS_MAP(X)
#undef X
    }
    return 1;
}

static void error_clear(pawl_error *error, pawl_status status) {
    memset(error, 0, sizeof *error);
    error->status = status;
}

pawl_status error_set(pawl_error *error, pawl_status status, const char *format, ...) {
    if (error == NULL)
        return status;
    error_clear(error, status);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error->sentence, sizeof error->sentence, format, arguments);
    va_end(arguments);
    return status;
}

static pawl_status status_of_errno(int os_errno) {
    switch (os_errno) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return PAWL_DISK_FULL;
    case ENOMEM: return PAWL_NO_MEMORY;
    case EACCES:
    case EPERM:
    case EROFS: return PAWL_PERMISSION;
    default: return PAWL_IO;
    }
}

/* The XSI form of strerror_r() is thread-safe and, unlike strerror(), owns no buffer. What the
 * system says of a file that is too large, or of a link, does not tell why or which. */
static void words_of_errno(int os_errno, char *ret_words, size_t size) {
    if (os_errno == EFBIG)
        (void)snprintf(ret_words, size, "the limit on file sizes is reached (ulimit -f)");
    else if (os_errno == ELOOP)
        (void)snprintf(ret_words, size,
                       "it is a symbolic link, or leads through too many; name the place itself");
    else if (strerror_r(os_errno, ret_words, size) != 0)
        ret_words[0] = '\0';
}

pawl_status error_os(pawl_error *error, int os_errno, const char *file, uint64_t offset,
                     const char *format, ...) {
    const pawl_status status = status_of_errno(os_errno);
    if (error == NULL)
        return status;
    error_clear(error, status);
    error->os_errno = os_errno;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error->sentence, sizeof error->sentence, format, arguments);
    va_end(arguments);
    const size_t used = strlen(error->sentence);
    char words[96] = "";
    words_of_errno(os_errno, words, sizeof words);
    if (words[0] != '\0')
        (void)snprintf(error->sentence + used, sizeof error->sentence - used, ": %s", words);
    return error_at(error, status, file, offset, 0);
}

pawl_status error_as(pawl_error *error, pawl_status status) {
    if (error != NULL)
        error->status = status;
    return status;
}

pawl_status error_at(pawl_error *error, pawl_status status, const char *file, uint64_t offset,
                     uint64_t lsn) {
    if (error == NULL)
        return status;
    (void)snprintf(error->file, sizeof error->file, "%s", file == NULL ? "" : file);
    error->offset = offset;
    error->lsn = lsn;
    return status;
}

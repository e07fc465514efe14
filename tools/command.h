/* command: what the `pawl` command can do, as one table. Parsing, help and messages come from it.
 *
 * Each command is one file, which gives a struct command with the table of its options; command.c
 * lists them. A command's function finds an option's value by its place in that table, which the
 * file names in an enum.
 */
#ifndef PAWL_TOOLS_COMMAND_H
#define PAWL_TOOLS_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of several outcomes the first in the order 4, 7, 1, 6, 5, 3 is the exit code. */
enum {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_DAMAGED = 4,
    EXIT_UNDETERMINED = 7,
};

enum { COMMAND_OPTIONS_MAX = 24 };

enum option_kind {
    OPTION_FLAG,
    OPTION_TEXT,
    OPTION_NUMBER, /* digits alone, at most 64 bits */
};

struct option {
    const char *name; /* without the dashes */
    enum option_kind kind;
    const char *value; /* what help calls its value; NULL for a flag */
    const char *help;
};

struct option_value {
    bool is_set;
    const char *text;
    uint64_t number;
};

/* A command line that has been understood. */
struct invocation {
    const struct command *command; /* NULL: none was named, and help or the version is wanted */
    const char *store;             /* -s, else $PAWL_STORE; set when a command is to run */
    struct option_value options[COMMAND_OPTIONS_MAX]; /* as the command's table has them */
    char **arguments;
    size_t argument_count;
    bool wants_help, wants_version;
};

struct command {
    const char *name;
    const char *arguments; /* for help, "" when it takes none */
    size_t arguments_max;
    const char *help;
    const struct option *options;
    size_t option_count;
    int (*run)(const struct invocation *invocation); /* gives the exit code */
};

extern const struct command command_dump;
extern const struct command command_verify;

/* All of them, in the order of help. */
extern const struct command *const commands[];
extern const size_t command_count;

/* NULL when there is none of that name. */
const struct command *command_find(const char *name);

/* Writes the help of one command, or of all when it is NULL, to standard output. */
void command_help(const struct command *command);

/* Reads the command line (options.c). False: it is wrong, and that has been told. */
bool options_parse(int argc, char **argv, struct invocation *ret_invocation);

#endif

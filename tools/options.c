#include "command.h"

#include "output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAME_LETTERS = 32, /* longer names are near to nothing */
    NEAR = 2,          /* so many letters may differ for a guess */
};

/* How many letters must be added, removed or changed to make one of the other. */
static size_t distance(const char *a, const char *b) {
    size_t row[NAME_LETTERS + 1];
    const size_t a_letters = strlen(a), b_letters = strlen(b);
    if (a_letters > NAME_LETTERS || b_letters > NAME_LETTERS)
        return NAME_LETTERS;
    for (size_t j = 0; j <= b_letters; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_letters; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_letters; j++) {
            const size_t above = row[j];
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            if (above + 1 < best)
                best = above + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
            diagonal = above;
        }
    }
    return row[b_letters];
}

static bool is_nearer(const char *name, const char *candidate, size_t *best) {
    const size_t letters = distance(name, candidate);
    if (letters >= *best || letters >= strlen(candidate))
        return false;
    *best = letters;
    return true;
}

static bool unknown_command(const char *name) {
    const char *nearest = NULL;
    size_t best = NEAR + 1;
    for (size_t i = 0; i < command_count; i++) {
        if (is_nearer(name, commands[i]->name, &best))
            nearest = commands[i]->name;
    }
    if (nearest != NULL)
        output_failure(name, "no such command; did you mean `pawl %s`?", nearest);
    else
        output_failure(name, "no such command; `pawl --help` lists them");
    return false;
}

static bool unknown_option(const struct command *command, const char *option) {
    const char *nearest = NULL;
    size_t best = NEAR + 1;
    const size_t letters = strcspn(option, "=");
    for (size_t i = 0; command != NULL && i < command->option_count; i++) {
        char name[NAME_LETTERS + 1] = {0};
        if (letters >= 2 && letters - 2 < sizeof name) {
            memcpy(name, option + 2, letters - 2);
            if (is_nearer(name, command->options[i].name, &best))
                nearest = command->options[i].name;
        }
    }
    const char *what = command == NULL ? "usage" : command->name;
    if (nearest != NULL)
        output_failure(what, "unknown option %s; did you mean --%s?", option, nearest);
    else
        output_failure(what, "unknown option %s; `pawl %s%s--help` lists them", option,
                       command == NULL ? "" : command->name, command == NULL ? "" : " ");
    return false;
}

/* What is left of a command line while it is read. */
struct cursor {
    int argc;
    char **argv;
    int next;
    struct invocation *invocation;
};

static const char *what_of(const struct cursor *cursor) {
    const struct command *command = cursor->invocation->command;
    return command == NULL ? "usage" : command->name;
}

/* An option's value: behind its "=", or the next word. */
static bool take_value(struct cursor *cursor, const char *name, const char *attached,
                       const char **ret_value) {
    if (attached != NULL) {
        *ret_value = attached;
        return true;
    }
    if (cursor->next == cursor->argc) {
        output_failure(what_of(cursor), "option %s needs a value", name);
        return false;
    }
    *ret_value = cursor->argv[cursor->next++];
    return true;
}

static bool read_number(struct cursor *cursor, const struct option *option, const char *text,
                        uint64_t *ret_number) {
    char *end = NULL;
    errno = 0;
    const unsigned long long number = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0) {
        output_failure(what_of(cursor), "--%s %s: not a number from 0 to 18446744073709551615",
                       option->name, text);
        return false;
    }
    *ret_number = number;
    return true;
}

static bool take_store(struct cursor *cursor, const char *attached) {
    if (!take_value(cursor, "-s", attached, &cursor->invocation->store))
        return false;
    if (cursor->invocation->store[0] != '\0')
        return true;
    output_failure(what_of(cursor), "option -s needs a directory");
    return false;
}

static bool take_command_option(struct cursor *cursor, const char *word) {
    const struct command *command = cursor->invocation->command;
    const char *name = word + 2;
    const size_t letters = strcspn(name, "=");
    const char *attached = name[letters] == '=' ? name + letters + 1 : NULL;
    for (size_t i = 0; command != NULL && i < command->option_count; i++) {
        const struct option *option = &command->options[i];
        struct option_value *value = &cursor->invocation->options[i];
        if (strlen(option->name) != letters || memcmp(option->name, name, letters) != 0)
            continue;
        value->is_set = true;
        if (option->kind == OPTION_FLAG) {
            if (attached == NULL)
                return true;
            output_failure(what_of(cursor), "option --%s takes no value", option->name);
            return false;
        }
        return take_value(cursor, word, attached, &value->text) &&
               (option->kind != OPTION_NUMBER ||
                read_number(cursor, option, value->text, &value->number));
    }
    return unknown_option(command, word);
}

static bool take_option(struct cursor *cursor, const char *word) {
    struct invocation *invocation = cursor->invocation;
    if (word[1] == 's')
        return take_store(cursor, word[2] == '\0' ? NULL : word + 2);
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        invocation->wants_help = true;
        return true;
    }
    if (strcmp(word, "--version") == 0 && invocation->command == NULL) {
        invocation->wants_version = true;
        return true;
    }
    if (word[1] != '-')
        return unknown_option(invocation->command, word);
    return take_command_option(cursor, word);
}

static bool take_word(struct cursor *cursor, char *word) {
    struct invocation *invocation = cursor->invocation;
    if (invocation->command == NULL) {
        invocation->command = command_find(word);
        return invocation->command != NULL || unknown_command(word);
    }
    if (invocation->argument_count == invocation->command->arguments_max) {
        output_failure(what_of(cursor), "unexpected argument %s", word);
        return false;
    }
    invocation->arguments[invocation->argument_count++] = word;
    return true;
}

bool options_parse(int argc, char **argv, struct invocation *ret_invocation) {
    struct invocation invocation = {.arguments = argv};
    struct cursor cursor = {.argc = argc, .argv = argv, .next = 1, .invocation = &invocation};
    bool has_ended = false; /* by "--" */
    while (cursor.next < argc) {
        char *word = argv[cursor.next++];
        if (!has_ended && strcmp(word, "--") == 0)
            has_ended = true;
        else if (!has_ended && word[0] == '-' && word[1] != '\0' ? !take_option(&cursor, word)
                                                                 : !take_word(&cursor, word))
            return false;
    }
    const bool runs = !invocation.wants_help && !invocation.wants_version;
    if (runs && invocation.command == NULL) {
        output_failure("usage", "no command; `pawl --help` lists them");
        return false;
    }
    if (runs && invocation.store == NULL)
        invocation.store = getenv("PAWL_STORE");
    if (runs && (invocation.store == NULL || invocation.store[0] == '\0')) {
        output_failure(invocation.command->name, "no store; name one by -s DIR or $PAWL_STORE");
        return false;
    }
    *ret_invocation = invocation;
    return true;
}

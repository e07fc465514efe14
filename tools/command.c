#include "command.h"

#include <stdio.h>
#include <string.h>

const struct command *const commands[] = {&command_dump, &command_verify};
const size_t command_count = sizeof commands / sizeof commands[0];

const struct command *command_find(const char *name) {
    for (size_t i = 0; i < command_count; i++) {
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    }
    return NULL;
}

static void help_line(const char *left, const char *right) {
    (void)printf("  %-16s %s\n", left, right);
}

static void help_options(const struct command *command) {
    (void)puts("\noptions:");
    for (size_t i = 0; i < command->option_count; i++) {
        const struct option *option = &command->options[i];
        char left[64];
        (void)snprintf(left, sizeof left, "--%s%s%s", option->name,
                       option->value == NULL ? "" : " ",
                       option->value == NULL ? "" : option->value);
        help_line(left, option->help);
    }
    help_line("-s DIR", "the store's directory; $PAWL_STORE when it is not given");
    help_line("--help", "this text");
}

void command_help(const struct command *command) {
    if (command != NULL) {
        (void)printf("usage: pawl [-s DIR] %s%s%s [options]\n\n%s\n", command->name,
                     command->arguments[0] == '\0' ? "" : " ", command->arguments, command->help);
        help_options(command);
        return;
    }
    (void)puts("usage: pawl [-s DIR] COMMAND [options]\n\ncommands:");
    for (size_t i = 0; i < command_count; i++) {
        const char *help = commands[i]->help;
        (void)printf("  %-16s %.*s\n", commands[i]->name, (int)strcspn(help, "\n"), help);
    }
    (void)puts("\noptions:");
    help_line("-s DIR", "the store's directory; $PAWL_STORE when it is not given");
    help_line("--help", "this text, or a command's");
    help_line("--version", "the version");
    (void)puts("\nexit codes: 0 done, 1 failed, 2 usage, 3 nothing there, 4 the store is damaged,\n"
               "5 refused, 6 no such store, queue or group, 7 undetermined");
}

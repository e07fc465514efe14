/* The `pawl` command: reads the command line and runs what it asks for. */

#include "command.h"
#include "output.h"

#include <signal.h>
#include <stdio.h>

static const char version[] = "0.0.0";

/* Results that could not be written are a failure, unless something worse was found. */
static int worse_of_failed(int code) {
    return code == EXIT_DAMAGED || code == EXIT_UNDETERMINED ? code : EXIT_FAILED;
}

int main(int argc, char **argv) {
    struct invocation invocation;
    /* Whoever started us may have ignored it; a closed pipe is to end us quietly. */
    (void)signal(SIGPIPE, SIG_DFL);
    if (!options_parse(argc, argv, &invocation))
        return EXIT_USAGE;
    int code = EXIT_DONE;
    if (invocation.wants_help)
        command_help(invocation.command);
    else if (invocation.wants_version)
        (void)printf("pawl %s\n", version);
    else
        code = invocation.command->run(&invocation);
    return output_flush() ? code : worse_of_failed(code);
}

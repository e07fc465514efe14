/* oracle DIRECTORY...: what the second reader thinks of each, a line for each: verdict, end of the
 * log, frames, reason.
 */
#include "reader.h"

#include <inttypes.h>
#include <stdio.h>

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const struct reader_result result = reader_read_store(argv[i]);
        (void)printf("%s %" PRIu64 " %" PRIu64 " %s\n", reader_verdict_name(result.verdict),
                     result.end_lsn, result.frames, result.why);
    }
    return argc > 1 ? 0 : 2;
}

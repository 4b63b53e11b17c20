#include "cli/run/nested_streams.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *streams_outer_task(void)
{
    static char text[160];
    const char *task = getenv("ANABRANCH_TASK"), *run = getenv("ANABRANCH_RUN");
    const char *subprocess = getenv("CAST_SUBPROCESS");
    if (task && *task) {
        (void)snprintf(text, sizeof(text), "task '%.64s' of run %.64s", task, run ? run : "?");
        return text;
    }
    return subprocess && strcmp(subprocess, "1") == 0 ? "an agent's session (CAST_SUBPROCESS=1)"
                                                      : NULL;
}

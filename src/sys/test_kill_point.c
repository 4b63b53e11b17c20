#include "sys/test_kill_point.h"

#if ANABRANCH_KILL_POINTS

#include <signal.h>
#include <stdlib.h>
#include <string.h>

void kill_point(bool written)
{
    static long count;
    const char *at = getenv("ANABRANCH_KILL_AT");
    count += !written;
    if (!at || strtol(at, NULL, 10) != count || (strchr(at, '+') != NULL) != written)
        return;
    (void)raise(SIGKILL);
}

#endif

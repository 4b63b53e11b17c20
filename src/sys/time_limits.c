#include "sys/time_limits.h"

#include "base/text/text.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static int64_t limit_from_env(const char *name, int64_t usual)
{
    const char *wanted = getenv(name);
    int64_t ms = wanted ? text_parse_duration(wanted, strlen(wanted)) : -1;
    return ms <= 0 ? usual : ms < INT_MAX ? ms : INT_MAX; /* poll() takes an int */
}

int64_t time_limit(int64_t usual)
{
    return limit_from_env("ANABRANCH_PATIENCE", usual);
}

int64_t time_limit_with_commands(int64_t usual)
{
    return limit_from_env("ANABRANCH_COMMAND_TIME", usual);
}

#include "sys/patience.h"

#include "base/text.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

int64_t patience(int64_t usual)
{
    const char *wanted = getenv("ANABRANCH_PATIENCE");
    int64_t ms = wanted ? text_parse_duration(wanted, strlen(wanted)) : -1;
    return ms <= 0 ? usual : ms < INT_MAX ? ms : INT_MAX; /* poll() takes no more */
}

/*
 * Messages of agents about a limit: for any text, the time is a possible one or none, it is the
 * same on a second call, and our own time zone does not change.
 */
#include "fuzz.h"

#include "agent/reset_time.h"
#include "base/buf.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t now = 1717149600000, day = 86400000; /* 2024-05-31T10:00:00Z */
    autobuf struct buf text = BUF_INIT;
    buf_add(&text, (const char *)data, size);
    fuzz_check(setenv("TZ", "America/New_York", 1) == 0);
    tzset();
    int64_t t = reset_time(text.s, now);
    fuzz_check(t == 0 || (t > now - day && t < now + 366 * day));
    fuzz_check(reset_time(text.s, now) == t);
    fuzz_check(strcmp(getenv("TZ"), "America/New_York") == 0);
    return 0;
}

#include "sys/throttle.h"

#include <time.h>

enum { SHARE = 50 };

static int64_t now_ns(void)
{
    struct timespec t = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &t); /* this clock always exists */
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

void throttle_begin(struct throttle *p)
{
    p->began = now_ns();
}

void throttle_end(struct throttle *p)
{
    p->ended = now_ns();
}

bool throttle_is_due(const struct throttle *p)
{
    return now_ns() - p->ended >= (p->ended - p->began) * SHARE;
}

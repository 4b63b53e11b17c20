#include "sys/clock.h"

static int64_t clock_now(clockid_t id)
{
    struct timespec ts = {0};
    (void)clock_gettime(id, &ts); /* fails only for clocks that do not exist */
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int64_t clock_mono(void)
{
    return clock_now(CLOCK_MONOTONIC);
}

int64_t clock_wall(void)
{
    return clock_now(CLOCK_REALTIME);
}

bool clock_same(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

bool clock_is_later(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

#include "plan/engine/attempt/retry.h"

enum { DELAY_MAX = 5 * 60 * 1000 };
enum { REVERT_RETRIES = 1 }; /* for work that would undo that of others */
enum { REPAIRS = 2 };        /* of a conflict, if the plan asks for repairs without a number */

/* Defaults: retry failures that go away by themselves, and no others. */
static const struct {
    int times;
    int64_t delay; /* ms before the first retry; doubles each time */
} defaults[FAILURE_COUNT_] = {
    [FAILURE_LIMIT] = {5, 30000},
    [FAILURE_OVERLOADED] = {5, 5000},
    [FAILURE_TRANSIENT] = {2, 1000},
    [FAILURE_VERIFY] = {1, 0},
};

int retry_default_times(enum failure failure)
{
    return defaults[failure].times;
}

int retry_times(const struct retries *r, enum failure failure)
{
    int times = r->plan->times[failure];
    if (times >= 0)
        return times;
    if (failure == FAILURE_LIMIT && r->no_wait)
        return 0;
    if (times == RETRY_REPAIR)
        return REPAIRS;
    if (failure == FAILURE_SCOPE && times == PLAN_UNSET && r->reverts)
        return REVERT_RETRIES;
    return times == PLAN_UNSET || times == RETRY_PARK ? defaults[failure].times : 0;
}

bool retry_is_left(const struct retries *r, enum failure failure)
{
    return !r->budget_spent && r->used[failure] < retry_times(r, failure);
}

bool retry_parks(const struct retries *r)
{
    int times = r->plan->times[FAILURE_LIMIT];
    return !r->no_wait && (times == PLAN_UNSET || times == RETRY_PARK);
}

int64_t retry_backoff(enum failure failure, int times, uint32_t random)
{
    int64_t delay = defaults[failure].delay ? defaults[failure].delay : 1000;
    delay = times < 20 && delay << times < DELAY_MAX ? delay << times : DELAY_MAX;
    return retry_spread(delay, random);
}

int64_t retry_spread(int64_t ms, uint32_t random)
{
    return ms - ms / 4 + (int64_t)((random * (uint64_t)(ms / 2 + 1)) >> 32);
}

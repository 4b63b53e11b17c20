#include "run/run_private.h"

#include "run/limits/budget.h"

#include <sys/random.h>

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

/* Adds or subtracts up to a quarter, so that tasks that failed together do not retry together. */
int64_t retry_jitter(int64_t ms)
{
    uint32_t random = 0;
    if (getentropy(&random, sizeof(random)) < 0)
        return ms;
    return ms - ms / 4 + (int64_t)(random % (uint64_t)(ms / 2 + 1));
}

int run_default_retries(enum failure failure)
{
    return defaults[failure].times;
}

int retry_times(const struct run *run, uint32_t task, enum failure failure)
{
    int times = run->pf->plan.tasks[task].retry.times[failure];
    if (times >= 0)
        return times;
    if (failure == FAILURE_LIMIT && run->opts.no_wait)
        return 0;
    if (times == RETRY_REPAIR)
        return REPAIRS;
    if (failure == FAILURE_SCOPE && times == PLAN_UNSET && run->tasks[task].reverts)
        return REVERT_RETRIES;
    return times == PLAN_UNSET || times == RETRY_PARK ? defaults[failure].times : 0;
}

bool retry_parks(const struct run *run, uint32_t task)
{
    int times = run->pf->plan.tasks[task].retry.times[FAILURE_LIMIT];
    return !run->opts.no_wait && (times == PLAN_UNSET || times == RETRY_PARK);
}

int64_t retry_pause(enum failure failure, int times)
{
    int64_t delay = defaults[failure].delay ? defaults[failure].delay : 1000;
    delay = times < 20 && delay << times < DELAY_MAX ? delay << times : DELAY_MAX;
    return retry_jitter(delay);
}

bool retry_is_left(const struct run *run, uint32_t task, enum failure failure)
{
    return !budget_is_spent(run, task) &&
           run->tasks[task].retries_used[failure] < retry_times(run, task, failure);
}

int64_t retry_delay(struct run *run, uint32_t task, enum failure failure)
{
    struct task_run *tr = &run->tasks[task];
    if (!retry_is_left(run, task, failure))
        return -1;
    return retry_pause(failure, tr->retries_used[failure]++);
}

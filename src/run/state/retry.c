#include "run/run_private.h"

#include "run/limits/budget.h"

#include <string.h>
#include <sys/random.h>

uint32_t retry_random(void)
{
    uint32_t random = 0;
    return getentropy(&random, sizeof(random)) < 0 ? RETRY_MIDDLE : random;
}

struct retries retries_of(const struct run *run, uint32_t task)
{
    const struct task_run *tr = &run->tasks[task];
    struct retries r = {
        .plan = &run->pf->plan.tasks[task].retry,
        .no_wait = run->opts.no_wait,
        .reverts = tr->reverts,
        .budget_spent = budget_is_spent(run, task),
    };
    memcpy(r.used, tr->retries_used, sizeof(r.used));
    return r;
}

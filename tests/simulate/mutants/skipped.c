/* Fault: a dependant of a failed task starts all the same. */
#include "plan/schedule/sched.h"

void __real_sched_fail(struct sched *s, uint32_t task, struct sched_list *ret_skipped);
void __wrap_sched_fail(struct sched *s, uint32_t task, struct sched_list *ret_skipped);

void __wrap_sched_fail(struct sched *s, uint32_t task, struct sched_list *ret_skipped)
{
    size_t first = ret_skipped->tasks.n;
    __real_sched_fail(s, task, ret_skipped);
    if (ret_skipped->tasks.n == first)
        return;
    uint32_t skipped = ret_skipped->tasks.v[first];
    s->state[skipped] = SCHED_ASIDE;
    s->open[skipped] = 0;
    s->left++;
    sched_ready(s, skipped);
}

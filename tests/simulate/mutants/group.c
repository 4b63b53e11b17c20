/* Fault: a skipped task keeps the place in its group that it was to try (found by this simulator).
 */
#include "plan/schedule/sched.h"

void __real_sched_fail(struct sched *s, uint32_t task, struct sched_list *ret_skipped);
void __wrap_sched_fail(struct sched *s, uint32_t task, struct sched_list *ret_skipped);

void __wrap_sched_fail(struct sched *s, uint32_t task, struct sched_list *ret_skipped)
{
    int32_t group = s->group[task];
    if (s->state[task] != SCHED_RUNNING)
        s->group[task] = -1;
    __real_sched_fail(s, task, ret_skipped);
    s->group[task] = group;
}

/* Fault: a worker is counted twice: a task that frees it gives it back a second time. */
#include "plan/schedule/sched.h"

void __real_sched_set_aside(struct sched *s, uint32_t task);
void __wrap_sched_set_aside(struct sched *s, uint32_t task);

void __wrap_sched_set_aside(struct sched *s, uint32_t task)
{
    bool runs = s->state[task] == SCHED_RUNNING;
    __real_sched_set_aside(s, task);
    if (runs && s->running)
        s->running--;
}

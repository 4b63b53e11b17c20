/* Fault: a task that only lands tries a lane (found by this simulator). */
#include "plan/engine/limits/lanes.h"

void __real_lanes_enter(struct lanes *l, uint32_t task);
void __wrap_lanes_enter(struct lanes *l, uint32_t task);

void __wrap_lanes_enter(struct lanes *l, uint32_t task)
{
    struct lane *lane = &l->list[l->used[task]];
    __real_lanes_enter(l, task);
    if (l->sched->via[task] < 0 && lane->state == LANE_TRIED && lane->probe < 0)
        lane->probe = task;
}

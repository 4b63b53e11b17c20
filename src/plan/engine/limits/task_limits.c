#include "plan/engine/limits/task_limits.h"

enum { FILES_MAX = 100000 };

static const int64_t output_max = (int64_t)1 << 30, bytes_max = (int64_t)2 << 30;

static int64_t choose_limit(int64_t own, int64_t plan, int64_t fallback)
{
    return own >= 0 ? own : plan >= 0 ? plan : fallback;
}

struct change_limits change_limits_of(void)
{
    return (struct change_limits){.files = FILES_MAX, .bytes = bytes_max};
}

struct task_limits task_limits_of(const struct plan *plan, uint32_t task)
{
    const struct task_limits *own = &plan->tasks[task].limits, *all = &plan->task_limits;
    return (struct task_limits){
        .memory = choose_limit(own->memory, all->memory, 0),
        .processes = choose_limit(own->processes, all->processes, 0),
        .cpu = choose_limit(own->cpu, all->cpu, 0),
        .output = choose_limit(own->output, all->output, output_max),
        .change = {choose_limit(own->change.files, all->change.files, FILES_MAX),
                   choose_limit(own->change.bytes, all->change.bytes, bytes_max)},
    };
}

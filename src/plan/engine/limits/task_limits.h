/*
 * The limits of tasks: from the task, the plan or the defaults; 0 means no limit.
 */
#ifndef PLAN_ENGINE_TASK_LIMITS_H
#define PLAN_ENGINE_TASK_LIMITS_H

#include "plan/plan.h"

#include <stdint.h>

struct task_limits task_limits_of(const struct plan *plan, uint32_t task);

/* The default limits of a change, for callers without a plan. */
struct change_limits change_limits_of(void);

#endif

#include "plan/engine/task_state.h"

#include <string.h>

const char *task_state_name(enum task_state state)
{
    static const char *const names[TASK_STATE_COUNT_] = {
        [TASK_WAITING] = "waiting",
        [TASK_READY] = "ready",
        [TASK_PREPARING] = "preparing",
        [TASK_RUNNING] = "running",
        [TASK_COMMITTING] = "committing",
        [TASK_VERIFYING] = "verifying",
        [TASK_LANDING] = "landing",
        [TASK_LANDED] = "landed",
        [TASK_DONE] = "done",
        [TASK_FAILED] = "failed",
        [TASK_CONFLICTED] = "conflicted",
        [TASK_SKIPPED] = "skipped",
    };
    return names[state];
}

enum task_state task_state_find(const char *name, enum task_state otherwise)
{
    for (int s = 0; s < TASK_STATE_COUNT_; s++) {
        if (strcmp(task_state_name((enum task_state)s), name) == 0)
            return (enum task_state)s;
    }
    return otherwise;
}

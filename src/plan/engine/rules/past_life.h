/*
 * struct past_life: how far the engine of a run that is gone had come with a task, beyond what the
 * rows of the store and git show. A replay of its journal tells it. For runs of earlier versions,
 * which have no such journal, the events of the task tell it (task_evidence.h).
 */
#ifndef PLAN_ENGINE_RULES_PAST_LIFE_H
#define PLAN_ENGINE_RULES_PAST_LIFE_H

#include "plan/engine/engine.h"
#include "plan/engine/rules/task_evidence.h"

struct past_life {
    int retries_used[FAILURE_COUNT_]; /* since its last end */
    bool start_at_tip;                /* it has landed before, or conflicted */
    bool in_conflict;                 /* its agent has yet to resolve a conflict */
    bool has_message;                 /* a person's message waits for its agent */
    bool follows_landing;             /* it has landed, and a person resumed its agent */
};

struct past_life past_life_of_engine(const struct engine_task *t);
struct past_life past_life_of_events(const struct task_evidence *t);

#endif

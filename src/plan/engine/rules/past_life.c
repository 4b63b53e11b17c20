#include "plan/engine/rules/past_life.h"

#include <string.h>

/* A task that has ended starts with fresh retries, and without its conflict, if it lives again. */
struct past_life past_life_of_engine(const struct engine_task *t)
{
    bool ended = task_has_ended(t->state);
    struct past_life life = {
        .start_at_tip = t->start_at_tip || t->state == TASK_LANDED || t->state == TASK_CONFLICTED,
        .in_conflict = t->in_conflict && !ended,
        .has_message = t->has_message && !ended,
        .follows_landing = t->follows_landing,
    };
    if (!ended)
        memcpy(life.retries_used, t->retries_used, sizeof(life.retries_used));
    return life;
}

struct past_life past_life_of_events(const struct task_evidence *t)
{
    struct past_life life = {
        .start_at_tip = t->has_landed || t->on_tip,
        .in_conflict = t->in_conflict,
        .has_message = t->has_message,
        .follows_landing = t->follows_landing && t->landed,
    };
    memcpy(life.retries_used, t->retries_used, sizeof(life.retries_used));
    return life;
}

#include "plan/engine/run_phase.h"

static bool is_over(const struct run_facts *f)
{
    return !f->attempts && (f->draining || f->stopping || f->failed || !f->tasks_left);
}

/* The last publication comes only once: if a user adds work meanwhile, the caller goes back to
 * RUN_WORKING. */
static enum run_step find_last_step(const struct run_facts *f)
{
    if (f->pool_filled)
        return RUN_EMPTY_POOL;
    if (f->publication_busy)
        return RUN_WAIT;
    return f->has_base && f->phase == RUN_WORKING ? RUN_PUBLISH : RUN_FINISH;
}

enum run_step run_phase_next(const struct run_facts *f)
{
    if (f->phase == RUN_FINISHING)
        return f->observers_busy ? RUN_WAIT : RUN_CLOSE;
    if (f->phase > RUN_PUBLISHING)
        return RUN_WAIT;
    if (is_over(f))
        return find_last_step(f);
    return f->paused || f->draining || f->stopping || f->failed ? RUN_WAIT : RUN_START_TASKS;
}

enum run_interrupt run_phase_interrupt(enum run_phase phase, bool stopping)
{
    if (phase >= RUN_FINISHING)
        return RUN_GIVE_UP;
    return stopping ? RUN_KILL_AGENTS : RUN_STOP_AGENTS;
}

#include "run/resume/replay.h"

#include "plan/engine/engine_journal.h"

struct reading {
    struct engine_replay replay;
    bool failed;
};

static bool replay_lines(void *ctx, const char *lines)
{
    struct reading *r = ctx;
    r->failed = engine_replay_text(&r->replay, lines, NULL);
    return !r->failed;
}

/* The last engine had the task, or a resume told it about the task. */
static bool has_task(const struct engine *e, size_t task)
{
    return e->sched.state[task] != SCHED_DONE || e->tasks[task].state != TASK_WAITING;
}

static void set_lives(struct evidence *past, const struct engine *e)
{
    for (size_t t = 0; t < e->plan->task_count; t++) {
        struct evidence_task *task = evidence_find(past, e->plan->tasks[t].id);
        if (task && has_task(e, t))
            task->life = past_life_of_engine(&e->tasks[t]);
    }
}

int replay_journal(struct evidence *past, struct store *store, const char *run,
                   struct plan_file *was, struct err *err)
{
    own_cleanup(engine_done) struct engine e = {0};
    struct reading r = {
        .replay = {.plan = &was->plan, .graph = &was->graph, .claims = &was->claims, .engine = &e}};
    int rc = store_each_engine_events(store, run, replay_lines, &r, err);
    if (rc == 0 && !r.failed && r.replay.sections && !r.replay.refused)
        set_lives(past, &e);
    engine_replay_done(&r.replay);
    return rc;
}

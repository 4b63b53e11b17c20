#include "run/rework/follow_up.h"

#include "base/node/node_build.h"
#include "run/resume/resume_private.h"

void follow_up_begin(struct run *run, uint32_t task)
{
    struct task_run *tr = &run->tasks[task];
    if (tr->landed)
        resume_set(&tr->landed_before, NULL, tr->landed);
    if (tr->commit)
        resume_set(&tr->committed_before, NULL, tr->commit);
    task_report_if(run, task, ENGINE_FOLLOW_UP_BEGAN, tr->landed_before);
}

void follow_up_restore(struct run *run, uint32_t task)
{
    struct task_run *tr = &run->tasks[task];
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    resume_set(&tr->landed, &tr->status.landed, tr->landed_before);
    resume_set(&tr->commit, &tr->status.commit, tr->committed_before);
    node_put_string(&a, data, "commit", tr->landed);
    node_put_string(&a, data, "base", run->base);
    node_put_bool(&a, data, "unchanged", true);
    task_report(run, task, ENGINE_LANDING_STANDS);
    record_step(run, EV_TASK_LANDED, task, data);
    arena_done(&a);
}

/* The row changes only together with both events: if we died between them, a resume would start
 * the landed task again. */
void follow_up_fail(struct run *run, uint32_t task, struct arena *a, struct node *data)
{
    struct task_run *tr = &run->tasks[task];
    if (!tr->life->follows_landing) {
        task_report_and_record(run, task, ENGINE_FAILED);
        record(run, EV_TASK_FAILED, task, data);
        return;
    }
    bool outer = store_in_group(run->store);
    if (!outer)
        record_together(run);
    node_put_string(a, data, "landed", tr->landed_before);
    task_report(run, task, ENGINE_FOLLOW_UP_FAILED);
    record(run, EV_TASK_FAILED, task, data);
    follow_up_restore(run, task);
    if (!outer)
        record_end_of_group(run);
}

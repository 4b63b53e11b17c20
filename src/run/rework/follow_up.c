#include "run/rework/follow_up.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "run/attempt/attempt.h"
#include "run/report.h"
#include "run/resume/resume_private.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "run/state/task.h"

void follow_up_begin(struct run *run, uint32_t task)
{
    struct task_run *tr = &run->tasks[task];
    if (tr->landed)
        task_set(&tr->landed_before, NULL, tr->landed);
    if (tr->commit)
        task_set(&tr->committed_before, NULL, tr->commit);
    if (tr->start)
        task_set(&tr->start_before, NULL, tr->start);
    task_report_if(run, task, ENGINE_FOLLOW_UP_BEGAN, tr->landed_before);
}

/* The start and the commit of a landed task show its changes. If the engine was killed during the
 * further work, the record has only the start of that, but the landing shows the earlier one. */
static void restore_start(struct run *run, struct task_run *tr)
{
    struct git_place at = run_place(run);
    autobuf struct buf start = BUF_INIT;
    if (!tr->start_before && tr->committed_before) {
        autofree char *onto = mem_printf("%s^1", tr->landed_before);
        if (git_call(&at, &start, NULL, "merge-base", tr->committed_before, onto, NULL) == 0)
            task_set(&tr->start_before, NULL, start.s);
    }
    if (tr->start_before)
        task_set(&tr->start, NULL, tr->start_before);
}

void follow_up_restore(struct run *run, uint32_t task)
{
    struct task_run *tr = &run->tasks[task];
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    task_set(&tr->landed, &tr->status.landed, tr->landed_before);
    task_set(&tr->commit, &tr->status.commit, tr->committed_before);
    restore_start(run, tr);
    node_put_string(&a, data, "commit", tr->landed);
    node_put_string(&a, data, "base", run->base.name);
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
        task_report(run, task, ENGINE_FAILED);
        record_task_event(run, EV_TASK_FAILED, task, data);
        return;
    }
    bool outer = store_in_group(run->journal.store);
    if (!outer)
        record_together(run);
    node_put_string(a, data, "landed", tr->landed_before);
    task_report(run, task, ENGINE_FOLLOW_UP_FAILED);
    record(run, EV_TASK_FAILED, task, data);
    follow_up_restore(run, task);
    if (!outer)
        record_end_of_group(run);
}

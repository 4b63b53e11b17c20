/*
 * Changes the state of tasks, and of the tasks that depend on them.
 */
#include "run/run_private.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "run/rework/follow_up.h"
#include "sys/clock.h"

void task_advance(struct run *run, uint32_t task, enum life_event event)
{
    enum task_state state = run->engine.tasks[task].state;
    struct err err = {0};
    if (engine_advance(&run->engine, task, event))
        return;
    (void)err_set(&err, ERR_ENV, "task '%s' cannot go on from the state '%s' by event %d",
                  run->pf->plan.tasks[task].id, task_state_name(state), (int)event);
    run_fail(run, &err);
}

void task_advance_and_record(struct run *run, uint32_t task, enum life_event event)
{
    task_advance(run, task, event);
    record_task(run, task);
}

/* The engine has skipped it. */
static void record_skipped(struct run *run, uint32_t task, char *reason)
{
    struct task_run *tr = &run->tasks[task];
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    free(tr->reason);
    tr->reason = reason;
    tr->status.reason = tr->reason;
    tr->status.finished = clock_wall();
    node_put_string(&a, data, "reason", tr->reason);
    if (!tr->life->follows_landing)
        record_task(run, task);
    record(run, EV_TASK_SKIPPED, task, data);
    if (tr->life->follows_landing)
        follow_up_restore(run, task);
    arena_done(&a);
}

void task_ended(struct run *run, uint32_t task)
{
    struct sched_list skipped = {0};
    engine_end(&run->engine, task, &skipped);
    for (size_t i = 0; i < skipped.tasks.n; i++)
        record_skipped(run, skipped.tasks.v[i],
                       mem_printf("needs '%s'", run->pf->plan.tasks[task].id));
    vec_done(&skipped.tasks);
    run_wake(run);
}

static void record_unskipped(struct run *run, uint32_t task)
{
    struct task_run *tr = &run->tasks[task];
    free(tr->reason);
    tr->reason = NULL;
    tr->status.reason = NULL;
    tr->status.finished = 0;
    record_step(run, EV_TASK_UNSKIPPED, task, NULL);
}

size_t task_take_back(struct run *run, uint32_t task)
{
    struct sched_list freed = {0};
    engine_take_back(&run->engine, task, &freed);
    for (size_t i = 0; i < freed.tasks.n; i++)
        record_unskipped(run, freed.tasks.v[i]);
    size_t n = freed.tasks.n;
    vec_done(&freed.tasks);
    return n;
}

void task_skip(struct run *run, uint32_t task, const char *reason)
{
    struct task_run *tr = &run->tasks[task];
    watch_free(tr->retry_timer);
    tr->retry_timer = NULL;
    engine_skip(&run->engine, task);
    record_skipped(run, task, mem_str(reason));
    task_ended(run, task);
}

void task_end(struct run *run, uint32_t task)
{
    run->tasks[task].status.finished = clock_wall();
    run->tasks[task].status.action = NULL;
    record_task(run, task);
    task_ended(run, task);
}

static void on_retry_timer(void *ctx)
{
    struct task_run *tr = ctx;
    struct run *run = tr->run;
    uint32_t task = (uint32_t)(tr - run->tasks);
    watch_free(tr->retry_timer);
    tr->retry_timer = NULL;
    engine_retry_due(&run->engine, task);
    record_task(run, task);
    run_wake(run);
}

void task_retry_later(struct run *run, uint32_t task, int64_t delay)
{
    struct task_run *tr = &run->tasks[task];
    tr->run = run;
    engine_wait(&run->engine, task);
    record_task(run, task);
    tr->retry_timer = loop_timer(run->loop, delay, on_retry_timer, tr);
}

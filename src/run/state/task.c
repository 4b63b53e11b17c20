/*
 * Changes the state of tasks, and of the tasks that depend on them.
 */
#include "run/run_private.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "run/rework/follow_up.h"
#include "sys/clock.h"

void task_set_state(struct run *run, uint32_t task, enum task_state state)
{
    run->tasks[task].status.state = state;
    record_task(run, task);
}

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
    if (!tr->follows_landing)
        task_set_state(run, task, TASK_SKIPPED);
    record(run, EV_TASK_SKIPPED, task, data);
    if (tr->follows_landing)
        follow_up_restore(run, task);
    arena_done(&a);
}

void task_ended(struct run *run, uint32_t task)
{
    enum task_state state = run->tasks[task].status.state;
    struct sched_list skipped = {0};
    if (state == TASK_LANDED || state == TASK_DONE)
        sched_finish(&run->sched, task);
    else
        sched_fail(&run->sched, task, &skipped);
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
    tr->status.state = TASK_WAITING;
    landing_unsettle(&run->landing, task);
    record_step(run, EV_TASK_UNSKIPPED, task, NULL);
}

size_t task_take_back(struct run *run, uint32_t task)
{
    struct sched_list freed = {0};
    sched_take_back(&run->sched, task, &freed);
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
    tr->parked = false;
    record_skipped(run, task, mem_str(reason));
    task_ended(run, task);
}

void task_end(struct run *run, uint32_t task, enum task_state state)
{
    run->tasks[task].status.finished = clock_wall();
    run->tasks[task].status.action = NULL;
    task_set_state(run, task, state);
    task_ended(run, task);
}

static void on_retry_timer(void *ctx)
{
    struct task_run *tr = ctx;
    struct run *run = tr->run;
    uint32_t task = (uint32_t)(tr - run->tasks);
    watch_free(tr->retry_timer);
    tr->retry_timer = NULL;
    task_set_state(run, task, TASK_READY);
    sched_ready(&run->sched, task);
    run_wake(run);
}

void task_retry_later(struct run *run, uint32_t task, int64_t delay)
{
    struct task_run *tr = &run->tasks[task];
    tr->run = run;
    sched_set_aside(&run->sched, task);
    task_set_state(run, task, TASK_WAITING);
    tr->retry_timer = loop_timer(run->loop, delay, on_retry_timer, tr);
}

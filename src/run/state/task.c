/*
 * Changes the state of tasks, and of the tasks that depend on them.
 */
#include "run/state/task.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "run/attempt/attempt.h"
#include "run/report.h"
#include "run/rework/follow_up.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "run/state/wake.h"
#include "sys/clock.h"

void task_report_and_record(struct run *run, uint32_t task, enum engine_event_kind kind)
{
    task_report(run, task, kind);
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
    if (tr->life->follows_landing) {
        record(run, EV_TASK_SKIPPED, task, data);
        follow_up_restore(run, task);
    } else {
        record_task_event(run, EV_TASK_SKIPPED, task, data);
    }
    arena_done(&a);
}

void do_skip(struct run *run, const struct action *a, const struct engine_event *ev)
{
    record_skipped(run, (uint32_t)a->task,
                   mem_printf("needs '%s'", run->pf->plan.tasks[ev->task].id));
}

void task_ended(struct run *run, uint32_t task)
{
    task_report(run, task, ENGINE_ENDED);
    run_wake(run);
}

void do_unskip(struct run *run, const struct action *a, const struct engine_event *ev)
{
    uint32_t task = (uint32_t)a->task;
    (void)ev;
    struct task_run *tr = &run->tasks[task];
    free(tr->reason);
    tr->reason = NULL;
    tr->status.reason = NULL;
    tr->status.finished = 0;
    record_step(run, EV_TASK_UNSKIPPED, task, NULL);
}

size_t task_take_back(struct run *run, uint32_t task)
{
    const struct engine_event ev = {.kind = ENGINE_TAKEN_BACK, .task = task};
    return run_report(run, &ev);
}

void task_skip(struct run *run, uint32_t task, const char *reason)
{
    struct task_run *tr = &run->tasks[task];
    watch_free(tr->retry_timer);
    tr->retry_timer = NULL;
    task_report(run, task, ENGINE_SKIPPED);
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
    task_report(run, task, ENGINE_DUE);
    record_task(run, task);
    run_wake(run);
}

void task_retry_later(struct run *run, uint32_t task, int64_t delay)
{
    struct task_run *tr = &run->tasks[task];
    tr->run = run;
    task_report(run, task, ENGINE_WAITS_FOR_TIME);
    record_task(run, task);
    tr->retry_timer = loop_timer(run->loop, delay, on_retry_timer, tr);
}

void task_set(char **slot, const char **shown, const char *value)
{
    free(*slot);
    *slot = value ? mem_str(value) : NULL;
    if (shown)
        *shown = *slot;
}

#include "run/run_private.h"

#include "base/build.h"
#include "base/clock.h"
#include "core/plan_words.h"
#include "data/doc.h"
#include "sys/procs.h"

#include <unistd.h>

void record(struct run *run, enum event_kind kind, int64_t task, const struct node *data)
{
    autobuf struct buf json = BUF_INIT;
    if (data)
        doc_write_line(&json, data);
    struct event ev = {.time = clock_wall(), .kind = kind, .run = run->id, .data = data};
    if (task >= 0) {
        ev.task = run->pf->plan.tasks[task].id;
        ev.attempt = run->tasks[task].status.attempts;
    }
    struct store_event row = {
        .time = ev.time,
        .name = event_name(kind),
        .run = run->id,
        .task = ev.task,
        .attempt = ev.attempt,
        .data = data ? json.s : NULL,
    };
    struct err err = {0};
    if (store_add_event(run->store, &row, &err))
        run_fail(run, &err);
    ev.seq = row.seq;
    for (size_t i = 0; i < run->observers.n; i++)
        run->observers.v[i].fn(run->observers.v[i].ctx, &ev);
}

void record_error(struct run *run, int64_t task, const struct err *err)
{
    struct arena a = {0};
    struct node *data = build_map(&a);
    build_put_string(&a, data, "error", err->msg);
    record(run, EV_GIT_STATE_CHANGED, task, data);
    arena_done(&a);
}

void record_task(struct run *run, uint32_t task)
{
    const struct task *t = &run->pf->plan.tasks[task];
    const struct task_run *tr = &run->tasks[task];
    const struct task_status *s = &tr->status;
    bool bad = s->state == TASK_FAILED || s->state == TASK_CONFLICTED || s->state == TASK_SKIPPED;
    struct store_task row = {
        .run = run->id,
        .id = t->id,
        .title = t->title,
        .engine = engine_words[run_engine(run, task)],
        .state = task_state_name(s->state),
        .failure = bad && s->state != TASK_SKIPPED ? failure_names[s->failure] : NULL,
        .reason = s->reason,
        .branch = s->branch,
        .workspace = s->workspace,
        .start_commit = tr->start,
        .commit = s->commit,
        .landed = s->landed,
        .place = (int)task,
        .attempts = s->attempts,
        .exit_code = s->exit_code,
        .started = s->started,
        .finished = s->finished,
        .tokens_in = s->tokens_in,
        .tokens_out = s->tokens_out,
        .usd = s->usd,
    };
    struct err err = {0};
    if (store_put_task(run->store, &row, &err))
        run_fail(run, &err);
}

int record_run(struct run *run, const char *state, int exit_code, struct err *err)
{
    struct store_run row = {
        .id = run->id,
        .plan = run->plan_path,
        .name = run->pf->plan.name,
        .base = run->base,
        .base_commit = run->base_commit,
        .tip = run->tip,
        .state = state,
        .started = run->started,
        .finished = run->finished,
        .pid = getpid(),
        .pid_start = procs_start(getpid()),
        .exit_code = exit_code,
    };
    return store_put_run(run->store, &row, err);
}

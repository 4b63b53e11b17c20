/*
 * Reports to the engine what happened, and carries out its answer. Nothing else changes the engine.
 */
#include "run/report.h"

#include "base/mem.h"
#include "plan/engine/attempt/retry.h"
#include "plan/engine/engine.h"
#include "plan/engine/engine_journal.h"
#include "plan/engine/engine_line.h"
#include "plan/engine/task_state.h"
#include "run/agent/run_agent.h"
#include "run/attempt/end.h"
#include "run/commit/commit.h"
#include "run/land/land.h"
#include "run/limits/budget.h"
#include "run/limits/lane.h"
#include "run/prepare/pool.h"
#include "run/state/run_state.h"
#include "run/state/task.h"
#include "run/state/wake.h"
#include "run/turn.h"
#include "sys/proc/loop.h"

#include <stdlib.h>
#include <sys/random.h>

static struct engine *changeable_engine(const struct run *run)
{
    return (struct engine *)run->engine;
}

void run_engine_new(struct run *run)
{
    struct engine *e = mem_alloc(sizeof(*e));
    engine_init(e, &run->pf->plan, run->opts.no_wait);
    run->engine = e;
    run->journal.lines = (struct buf)BUF_INIT;
    for (size_t i = 0; i < run->pf->plan.task_count; i++)
        run->tasks[i].life = &e->tasks[i];
}

void run_engine_schedule(struct run *run, size_t workers)
{
    struct plan_file *pf = run->pf;
    engine_schedule(changeable_engine(run), &pf->graph, &pf->claims, workers, run->opts.wanted);
}

void run_engine_set_lanes(struct run *run, const struct task_lanes *lanes, size_t count)
{
    engine_make_lanes(changeable_engine(run), count);
    for (uint32_t t = 0; t < run->pf->plan.task_count; t++)
        engine_set_lanes(changeable_engine(run), t, lanes[t].own, lanes[t].fallback);
    engine_journal_begin(&run->journal.lines, run->engine, run->opts.wanted);
}

void run_engine_free(struct run *run)
{
    buf_done(&run->journal.lines);
    engine_done(changeable_engine(run));
    free(changeable_engine(run));
}

static void refuse_event(struct run *run, const struct engine_event *ev)
{
    struct err err = {0};
    (void)err_set(&err, ERR_ENV, "task '%s' cannot go on from the state '%s' by the event '%s'",
                  run->pf->plan.tasks[ev->task].id,
                  task_state_name(run->engine->tasks[ev->task].state), engine_event_name(ev->kind));
    run_fail(run, &err);
}

static void do_refuse(struct run *run, const struct action *a, const struct engine_event *ev)
{
    (void)a;
    refuse_event(run, ev);
}

static void do_stop_loop(struct run *run, const struct action *a, const struct engine_event *ev)
{
    (void)a, (void)ev;
    loop_stop(run->loop);
}

static void do_wake(struct run *run, const struct action *a, const struct engine_event *ev)
{
    (void)a, (void)ev;
    run_wake(run);
}

typedef void action_fn(struct run *run, const struct action *a, const struct engine_event *ev);

/* Carries out each action. Actions without a row answer run_ask(). */
static action_fn *const table[ACTION_COUNT_] = {
    [DO_PUBLISH] = do_publish,
    [DO_PUBLISH_LATER] = do_publish_later,
    [DO_PUBLISH_LAST] = do_publish_last,
    [DO_EMPTY_POOL] = do_empty_pool,
    [DO_FINISH] = do_stop_loop,
    [DO_CLOSE] = do_stop_loop,
    [DO_WAKE] = do_wake,
    [DO_STOP_AGENTS] = do_stop_agents,
    [DO_KILL_AGENTS] = do_kill_agents,
    [DO_GIVE_UP] = do_give_up,
    [DO_REPORT_CLOSED] = do_lane,
    [DO_REPORT_OPEN] = do_lane,
    [DO_WAKE_LANE] = do_lane,
    [DO_RECORD_USAGE] = do_budget,
    [DO_WARN_BUDGET] = do_budget,
    [DO_REPORT_BUDGET] = do_budget,
    [DO_NOTE_OVERRUN] = do_budget,
    [DO_STOP_AGENT] = do_budget,
    [DO_STOP_FOR_RUN] = do_budget,
    [DO_RUN_AGENT] = do_run_agent,
    [DO_COMMIT] = do_commit,
    [DO_END_UNLANDED] = do_end_unlanded,
    [DO_FAIL_CONFLICT] = do_fail_conflict,
    [DO_LEAVE_CONFLICT] = do_leave_conflict,
    [DO_SAVE] = do_save,
    [DO_SKIP] = do_skip,
    [DO_UNSKIP] = do_unskip,
    [DO_REFUSE] = do_refuse,
};

static void carry_out(struct run *run, const struct action *a, const struct engine_event *ev)
{
    if (table[a->kind])
        table[a->kind](run, a, ev);
}

void run_answer(struct run *run, const struct engine_event *ev, struct actions *ret)
{
    if (engine_hear(changeable_engine(run), ev, ret))
        engine_line_write(&run->journal.lines, ev);
}

size_t run_report(struct run *run, const struct engine_event *ev)
{
    struct actions actions = {0};
    run_answer(run, ev, &actions);
    for (size_t i = 0; i < actions.list.n; i++)
        carry_out(run, &actions.list.v[i], ev);
    size_t n = actions.list.n;
    vec_done(&actions.list);
    return n;
}

void run_report_kind(struct run *run, enum engine_event_kind kind)
{
    const struct engine_event ev = {.kind = kind, .task = -1};
    (void)run_report(run, &ev);
}

void task_report(struct run *run, uint32_t task, enum engine_event_kind kind)
{
    const struct engine_event ev = {.kind = kind, .task = task};
    (void)run_report(run, &ev);
}

void task_report_if(struct run *run, uint32_t task, enum engine_event_kind kind, bool yes)
{
    const struct engine_event ev = {.kind = kind, .task = task, .yes = yes};
    (void)run_report(run, &ev);
}

bool run_ask(struct run *run, const struct engine_event *ev, struct action *ret)
{
    struct actions actions = {0};
    run_answer(run, ev, &actions);
    bool some = actions.list.n;
    if (some)
        *ret = actions.list.v[0];
    vec_done(&actions.list);
    return some;
}

void run_fail(struct run *run, const struct err *err)
{
    if (run->engine->failed)
        return;
    run->err = *err;
    run_report_kind(run, ENGINE_BROKE);
    run_wake(run);
}

void run_drain(struct run *run)
{
    run_report_kind(run, ENGINE_DRAINED);
    run_wake(run);
}

uint32_t retry_random(void)
{
    uint32_t random = 0;
    return getentropy(&random, sizeof(random)) < 0 ? RETRY_MIDDLE : random;
}

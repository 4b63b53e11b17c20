/*
 * Reports to the engine what happened, and carries out its answer. Nothing else changes the engine.
 */
#include "run/run_private.h"

#include "base/mem.h"
#include "plan/engine/engine_journal.h"
#include "run/limits/budget.h"
#include "run/limits/lane.h"
#include "run/prepare/pool.h"

#include <stdlib.h>

static struct engine *changeable_engine(const struct run *run)
{
    return (struct engine *)run->engine;
}

void run_engine_new(struct run *run)
{
    struct engine *e = mem_alloc(sizeof(*e));
    engine_init(e, &run->pf->plan, run->opts.no_wait);
    run->engine = e;
    run->journal.text = (struct buf)BUF_INIT;
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
    engine_journal_begin(&run->journal.text, run->engine, run->opts.wanted);
}

void run_engine_free(struct run *run)
{
    buf_done(&run->journal.text);
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

static void carry_out(struct run *run, const struct action *a, const struct engine_event *ev)
{
    switch (a->kind) {
    case DO_PUBLISH:
        land_begin_publication(run, a->yes);
        break;
    case DO_PUBLISH_LATER:
        land_publish_later(run, a->ms);
        break;
    case DO_PUBLISH_LAST:
        run_publish_last(run);
        break;
    case DO_EMPTY_POOL:
        pool_empty(run);
        break;
    case DO_FINISH:
    case DO_CLOSE:
        loop_stop(run->loop);
        break;
    case DO_WAKE:
        run_wake(run);
        break;
    case DO_STOP_AGENTS:
        run_stop_agents(run, a->yes);
        break;
    case DO_KILL_AGENTS:
        run_kill_agents(run);
        break;
    case DO_GIVE_UP:
        run_give_up_observer(run);
        break;
    case DO_REPORT_CLOSED:
    case DO_REPORT_OPEN:
    case DO_WAKE_LANE:
        lane_carry_out(run, a, NULL);
        break;
    case DO_RECORD_USAGE:
    case DO_WARN_BUDGET:
    case DO_REPORT_BUDGET:
    case DO_NOTE_OVERRUN:
    case DO_STOP_AGENT:
    case DO_STOP_FOR_RUN:
        budget_carry_out(run, a);
        break;
    case DO_SKIP:
        task_record_skipped(run, (uint32_t)a->task, (uint32_t)ev->task);
        break;
    case DO_UNSKIP:
        task_record_unskipped(run, (uint32_t)a->task);
        break;
    case DO_REFUSE:
        refuse_event(run, ev);
        break;
    case DO_LAND: /* these answer run_ask() */
    case DO_ABANDON:
    case DO_START:
    case DO_END_ATTEMPT:
    case DO_TAKE_BACK:
    case ACTION_COUNT_:
        break;
    }
}

void run_answer(struct run *run, const struct engine_event *ev, struct actions *ret)
{
    engine_journal_event(&run->journal.text, changeable_engine(run), ev, ret);
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

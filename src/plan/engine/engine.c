#include "plan/engine/engine.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void engine_init(struct engine *e, const struct plan *plan, bool no_wait)
{
    *e = (struct engine){.plan = plan,
                         .tasks = mem_array(plan->task_count, sizeof(*e->tasks)),
                         .tip = 1,
                         .no_wait = no_wait};
    budgets_init(&e->budgets, plan);
}

void engine_done(struct engine *e)
{
    lanes_done(&e->lanes);
    budgets_done(&e->budgets);
    sched_done(&e->sched);
    landing_done(&e->landing);
    free(e->tasks);
    *e = (struct engine){0};
}

void engine_schedule(struct engine *e, struct graph *graph, struct claims *claims, size_t workers,
                     const bool *wanted)
{
    sched_init(&e->sched, e->plan, graph, claims, workers, wanted);
    landing_init(&e->landing, e->plan, graph, wanted);
}

bool engine_is_draining(const struct engine *e)
{
    return e->draining || e->budgets.run.exceeded;
}

bool engine_is_ending(const struct engine *e)
{
    return e->stopping || e->failed;
}

bool engine_advance(struct engine *e, uint32_t task, enum life_event event)
{
    return task_life_advance(&e->tasks[task].state, event);
}

static bool may_start(const struct engine *e)
{
    return e->phase <= RUN_PUBLISHING && !e->paused && !engine_is_draining(e) &&
           !engine_is_ending(e);
}

bool engine_next_start(struct engine *e, uint32_t *ret_task)
{
    return may_start(e) && sched_next(&e->sched, ret_task);
}

enum task_start engine_begin(struct engine *e, uint32_t task)
{
    struct engine_task *t = &e->tasks[task];
    enum task_start start = t->start;
    t->start = START_NEW;
    t->parked = false;
    t->merged_tip = 0;
    if (start == START_LANDING) /* it started without a lane */
        sched_set_lanes(&e->sched, task, t->lane, t->fallback_lane);
    lanes_enter(&e->lanes, task);
    if (start == START_NEW || start == START_LANDING)
        (void)engine_advance(e, task, LIFE_BEGAN);
    return start;
}

void engine_move_tip(struct engine *e)
{
    e->tip++;
}

/* Tasks that have ended do not hold up the tasks behind them in the order. */
static void settle_ended(struct engine *e)
{
    uint32_t task;
    while (landing_find_open(&e->landing, &task) && task_has_ended(e->tasks[task].state))
        landing_settle(&e->landing, task);
}

bool engine_next_landing(struct engine *e, uint32_t *ret_task, bool *ret_verified)
{
    settle_ended(e);
    if (!landing_next(&e->landing, e->stopping || engine_is_draining(e), ret_task))
        return false;
    *ret_verified = e->tasks[*ret_task].merged_tip == e->tip;
    return true;
}

bool engine_queue(struct engine *e, uint32_t task)
{
    if (!engine_advance(e, task, LIFE_QUEUED))
        return false;
    landing_queue(&e->landing, task);
    return true;
}

void engine_merge(struct engine *e, uint32_t task)
{
    e->tasks[task].merged_tip = e->tip;
}

void engine_land(struct engine *e, uint32_t task)
{
    engine_move_tip(e);
    landing_land(&e->landing, task);
}

uint32_t engine_unland(struct engine *e)
{
    engine_move_tip(e);
    return landing_undo(&e->landing);
}

void engine_end(struct engine *e, uint32_t task, struct sched_list *ret_skipped)
{
    size_t first = ret_skipped->tasks.n;
    if (task_has_succeeded(e->tasks[task].state))
        sched_finish(&e->sched, task);
    else
        sched_fail(&e->sched, task, ret_skipped);
    for (size_t i = first; i < ret_skipped->tasks.n; i++)
        engine_skip(e, ret_skipped->tasks.v[i]);
}

void engine_skip(struct engine *e, uint32_t task)
{
    struct engine_task *t = &e->tasks[task];
    t->parked = false;
    (void)engine_advance(e, task, t->follows_landing ? LIFE_LANDED : LIFE_SKIPPED);
}

void engine_restart(struct engine *e, uint32_t task)
{
    struct engine_task *t = &e->tasks[task];
    memset(t->retries_used, 0, sizeof(t->retries_used));
    t->start = START_NEW;
    t->start_at_tip = true;
    landing_unsettle(&e->landing, task);
}

void engine_take_back(struct engine *e, uint32_t task, struct sched_list *ret_freed)
{
    size_t first = ret_freed->tasks.n;
    sched_take_back(&e->sched, task, ret_freed);
    for (size_t i = first; i < ret_freed->tasks.n; i++) {
        landing_unsettle(&e->landing, ret_freed->tasks.v[i]);
        (void)engine_advance(e, ret_freed->tasks.v[i], LIFE_WAITS);
    }
}

void engine_wait(struct engine *e, uint32_t task)
{
    sched_set_aside(&e->sched, task);
    (void)engine_advance(e, task, LIFE_WAITS);
}

void engine_retry_due(struct engine *e, uint32_t task)
{
    if (engine_advance(e, task, LIFE_DUE))
        sched_ready(&e->sched, task);
}

void engine_park(struct engine *e, uint32_t task)
{
    e->tasks[task].parked = true;
    engine_wait(e, task);
    sched_ready(&e->sched, task);
}

void engine_keep_session(struct engine *e, uint32_t task, bool restored)
{
    e->tasks[task].start = restored ? START_RESTORED : START_RESUMED;
    lanes_keep(&e->lanes, task);
}

struct retries engine_retries(const struct engine *e, uint32_t task)
{
    const struct engine_task *t = &e->tasks[task];
    struct retries r = {
        .plan = &e->plan->tasks[task].retry,
        .no_wait = e->no_wait,
        .reverts = t->reverts,
        .budget_spent = budgets_are_spent(&e->budgets, task),
    };
    memcpy(r.used, t->retries_used, sizeof(r.used));
    return r;
}

struct engine_limit engine_meet_limit(struct engine *e, uint32_t task, struct limit_facts *facts,
                                      uint32_t random)
{
    struct retries retries = engine_retries(e, task);
    struct engine_limit limit = {0};
    facts->has_fallback = lanes_fall_back(&e->lanes, task, e->tasks[task].fallback_lane);
    limit.outcome = failure_at_limit(facts, &retries);
    if (!limit.outcome.closes_lane)
        return limit;
    limit.closed = lanes_meet_limit(&e->lanes, task, facts->reset, facts->now, random);
    if (limit.outcome.kind == OUTCOME_PARK)
        limit.outcome.delay_ms = e->lanes.list[e->lanes.used[task]].until - facts->now;
    return limit;
}

struct failure_outcome engine_fail(const struct engine *e, uint32_t task,
                                   struct failure_facts *facts, uint32_t random)
{
    struct retries retries = engine_retries(e, task);
    facts->run_ends = engine_is_ending(e);
    facts->in_conflict = e->tasks[task].in_conflict;
    return failure_outcome(facts, &retries, random);
}

void engine_settle_failure(struct engine *e, uint32_t task, enum failure failure,
                           const struct failure_outcome *outcome)
{
    struct engine_task *t = &e->tasks[task];
    t->repair = outcome->repair;
    t->start_at_tip = t->start_at_tip || outcome->at_tip;
    t->retries_used[failure] += outcome->uses_retry;
}

enum run_step engine_next_step(const struct engine *e, const struct engine_facts *facts)
{
    const struct run_facts f = {
        .phase = e->phase,
        .attempts = e->attempts,
        .tasks_left = e->sched.left,
        .draining = engine_is_draining(e),
        .stopping = e->stopping,
        .failed = e->failed,
        .paused = e->paused,
        .has_base = facts->has_base,
        .publication_busy = publication_is_busy(&e->publication),
        .pool_filled = facts->pool_filled,
        .observers_busy = facts->observers_busy,
    };
    return run_phase_next(&f);
}

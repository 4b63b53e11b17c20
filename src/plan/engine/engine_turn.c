/*
 * The turns of a run: what lands, starts and follows next, and when the run ends.
 */
#include "plan/engine/engine_private.h"

static void add_action(struct actions *ret, enum action_kind kind)
{
    vec_push(&ret->list, (struct action){.kind = kind, .task = -1});
}

/* Tasks that have ended do not hold up the tasks behind them in the order. */
static void settle_ended(struct engine *e)
{
    uint32_t task;
    while (landing_find_open(&e->landing, &task) && task_has_ended(e->tasks[task].state))
        landing_settle(&e->landing, task);
}

void engine_land_next(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    uint32_t task;
    (void)ev;
    settle_ended(e);
    if (landing_next(&e->landing, e->stopping || engine_is_draining(e), &task))
        vec_push(&ret->list, (struct action){.kind = DO_LAND,
                                             .task = task,
                                             .yes = e->tasks[task].merged_tip == e->tip});
}

void engine_abandon_next(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    uint32_t task;
    (void)ev;
    if (landing_next(&e->landing, true, &task))
        vec_push(&ret->list, (struct action){.kind = DO_ABANDON, .task = task});
}

static bool may_start(const struct engine *e)
{
    return e->phase <= RUN_PUBLISHING && !e->paused && !engine_is_draining(e) &&
           !engine_is_ending(e);
}

/* The attempt of a task begins. If it only lands, it started without a lane. */
static enum task_start begin_attempt(struct engine *e, uint32_t task)
{
    struct engine_task *t = &e->tasks[task];
    enum task_start start = t->start;
    t->start = START_NEW;
    t->parked = false;
    t->merged_tip = 0;
    if (start == START_LANDING)
        sched_set_lanes(&e->sched, task, t->lane, t->fallback_lane);
    lanes_enter(&e->lanes, task);
    if (start == START_NEW || start == START_LANDING)
        (void)task_life_advance(&t->state, LIFE_BEGAN);
    return start;
}

void engine_start_next(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    uint32_t task;
    (void)ev;
    if (may_start(e) && sched_next(&e->sched, &task))
        vec_push(&ret->list,
                 (struct action){.kind = DO_START, .task = task, .start = begin_attempt(e, task)});
}

/* One publication moves the base for all tasks that landed meanwhile. */
void engine_publish_due(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    struct landing *l = &e->landing;
    if (!engine_can_publish(e))
        return;
    if (landing_needs_estimate(l))
        landing_estimate(l, ev->index_bytes, ev->now);
    int64_t wait = landing_publish_in(l, e->attempts, e->stopping, ev->now);
    if (wait > 0) {
        vec_push(&ret->list, (struct action){.kind = DO_PUBLISH_LATER, .task = -1, .ms = wait});
        return;
    }
    landing_begin_publication(l, ev->now);
    e->publishing = true;
    vec_push(
        &ret->list,
        (struct action){.kind = DO_PUBLISH, .task = -1, .yes = e->plan->land_at != LAND_AT_END});
}

void engine_end_publication(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    (void)ret;
    e->publishing = false;
    landing_end_publication(&e->landing, ev->now);
}

static enum run_step find_step(const struct engine *e, const struct engine_facts *facts)
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
        .publication_busy = e->publishing,
        .pool_filled = facts->pool_filled,
        .observers_busy = facts->observers_busy,
    };
    return run_phase_next(&f);
}

void engine_end_turn(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    switch (find_step(e, &ev->facts)) {
    case RUN_START_TASKS:
    case RUN_WAIT:
        break;
    case RUN_EMPTY_POOL:
        add_action(ret, DO_EMPTY_POOL);
        break;
    case RUN_PUBLISH:
        e->phase = RUN_PUBLISHING;
        e->publishing = true;
        add_action(ret, DO_PUBLISH_LAST);
        break;
    case RUN_FINISH:
        e->phase = RUN_OVER;
        add_action(ret, DO_FINISH);
        break;
    case RUN_CLOSE:
        add_action(ret, DO_CLOSE);
        break;
    }
}

/* A person may have retried a task while we moved the base. */
void engine_end_last_publication(struct engine *e, const struct engine_event *ev,
                                 struct actions *ret)
{
    e->publishing = false;
    if (find_step(e, &ev->facts) == RUN_FINISH) {
        e->phase = RUN_OVER;
        add_action(ret, DO_FINISH);
        return;
    }
    e->phase = RUN_WORKING;
    add_action(ret, DO_WAKE);
}

void engine_record(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    e->phase = ev->kind == ENGINE_RECORDED ? RUN_FINISHING : RUN_CLOSED;
    (void)ret;
}

void engine_interrupt(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    (void)ev;
    switch (run_phase_interrupt(e->phase, e->stopping)) {
    case RUN_STOP_AGENTS:
        e->stopping = true;
        vec_push(&ret->list, (struct action){.kind = DO_STOP_AGENTS, .task = -1, .yes = true});
        break;
    case RUN_KILL_AGENTS:
        add_action(ret, DO_KILL_AGENTS);
        break;
    case RUN_GIVE_UP:
        add_action(ret, DO_GIVE_UP);
        break;
    }
}

void engine_break(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    (void)ev;
    if (!e->failed)
        add_action(ret, DO_STOP_AGENTS);
    e->failed = true;
}

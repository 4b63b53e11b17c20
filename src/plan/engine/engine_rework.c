/*
 * A task over its attempts: it waits, ends, is skipped, and starts again for a person or a resume.
 */
#include "plan/engine/engine_private.h"

#include <string.h>

static void add_action(struct actions *ret, enum action_kind kind, uint32_t task)
{
    vec_push(&ret->list, (struct action){.kind = kind, .task = task});
}

/* Skips a task without an attempt. An earlier landing stays. */
static void skip_task(struct engine *e, uint32_t task)
{
    struct engine_task *t = &e->tasks[task];
    t->parked = false;
    (void)task_life_advance(&t->state, t->follows_landing ? LIFE_LANDED : LIFE_SKIPPED);
}

void engine_skip(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    (void)ret;
    skip_task(e, task_of_event(ev));
}

/* If the task has not succeeded, the tasks that need it are skipped. */
void engine_end(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    struct sched_list skipped = {0};
    if (task_has_succeeded(engine_task(e, ev)->state))
        sched_finish(&e->sched, task_of_event(ev));
    else
        sched_fail(&e->sched, task_of_event(ev), &skipped);
    for (size_t i = 0; i < skipped.tasks.n; i++) {
        skip_task(e, skipped.tasks.v[i]);
        add_action(ret, DO_SKIP, skipped.tasks.v[i]);
    }
    vec_done(&skipped.tasks);
}

void engine_wait(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    (void)ret;
    sched_set_aside(&e->sched, task_of_event(ev));
    (void)task_life_advance(&engine_task(e, ev)->state, LIFE_WAITS);
}

void engine_park(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    engine_task(e, ev)->parked = true;
    engine_wait(e, ev, ret);
    sched_ready(&e->sched, task_of_event(ev));
}

void engine_retry_due(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    (void)ret;
    if (task_life_advance(&engine_task(e, ev)->state, LIFE_DUE))
        sched_ready(&e->sched, task_of_event(ev));
}

void engine_stop_wait(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    struct engine_task *t = engine_task(e, ev);
    (void)ret;
    t->parked = false;
    t->repair = REPAIR_NONE;
    t->start = START_NEW;
}

/* Forgets its retries. */
void engine_restart(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    struct engine_task *t = engine_task(e, ev);
    (void)ret;
    memset(t->retries_used, 0, sizeof(t->retries_used));
    t->start = START_NEW;
    t->start_at_tip = true;
    landing_unsettle(&e->landing, task_of_event(ev));
}

void engine_restart_fresh(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    struct engine_task *t = engine_task(e, ev);
    engine_restart(e, ev, ret);
    t->start_at_tip = ev->yes;
    t->in_conflict = false;
    sched_set_lanes(&e->sched, task_of_event(ev), t->lane, t->fallback_lane);
}

void engine_take_back(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    struct sched_list freed = {0};
    sched_take_back(&e->sched, task_of_event(ev), &freed);
    for (size_t i = 0; i < freed.tasks.n; i++) {
        landing_unsettle(&e->landing, freed.tasks.v[i]);
        (void)task_life_advance(&e->tasks[freed.tasks.v[i]].state, LIFE_WAITS);
        add_action(ret, DO_UNSKIP, freed.tasks.v[i]);
    }
    vec_done(&freed.tasks);
}

/* The agent gets a message with its prompt. If it resolves a conflict, we add the message to the
 * description of the conflict later. */
void engine_begin_repair(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    struct engine_task *t = engine_task(e, ev);
    (void)ret;
    t->has_message = t->has_message && t->repair == REPAIR_CONFLICT;
    t->repair = REPAIR_NONE;
}

void engine_let_landing_stand(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    engine_task(e, ev)->follows_landing = false;
    engine_advance(e, ev, LIFE_LANDED, ret);
}

void engine_resume_session(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    const struct engine_session *next = &ev->next;
    struct engine_task *t = engine_task(e, ev);
    t->start = next->remade ? START_RESTORED : START_RESUMED;
    lanes_keep(&e->lanes, task_of_event(ev));
    t->repair = next->repair;
    t->in_conflict = t->in_conflict || next->repair == REPAIR_CONFLICT;
    t->has_message = next->has_message;
    t->parked = next->parked;
    engine_advance(e, ev, LIFE_WAITS, ret);
}

void engine_find(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    const struct engine_found *found = &ev->found;
    struct engine_task *t = engine_task(e, ev);
    (void)ret;
    t->state = found->state;
    memcpy(t->retries_used, found->retries_used, sizeof(t->retries_used));
    t->start_at_tip = found->start_at_tip;
    t->in_conflict = found->in_conflict;
    t->follows_landing = found->follows_landing;
    t->follow_up_failed = found->follow_up_failed;
    budgets_set(&e->budgets, task_of_event(ev), found->tokens_in, found->tokens_out, found->usd);
}

void engine_forget(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    (void)ret;
    engine_task(e, ev)->state = TASK_WAITING;
    engine_task(e, ev)->follow_up_failed = false;
}

void engine_land_again(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    (void)ret;
    engine_task(e, ev)->state = TASK_LANDING;
    sched_hold(&e->sched, task_of_event(ev));
}

/* This needs a worker, but no agent. */
void engine_need_workspace(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    (void)ret;
    engine_task(e, ev)->state = TASK_WAITING;
    engine_task(e, ev)->start = START_LANDING;
    sched_set_lanes(&e->sched, task_of_event(ev), -1, -1);
}

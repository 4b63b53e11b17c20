/*
 * A turn of the run merges, lands and starts tasks, and lets the base follow.
 */
#include "shell.h"

#include <string.h>

static void land(struct world *w, uint32_t task)
{
    struct job *j = &w->jobs[task];
    promises_check_landing(w, task);
    j->unsaved = false;
    w->tip = ++w->tips;
    tell_task(w, task, ENGINE_LANDED);
    j->stage = STAGE_IN_TIP;
}

static void merge(struct world *w, uint32_t task)
{
    struct job *j = &w->jobs[task];
    if (chance(w, 10)) {
        conflict(w, task);
        return;
    }
    tell_task(w, task, ENGINE_MERGED);
    j->merging_tip = w->tip;
    if (!j->verifies) {
        j->verified_tip = w->tip;
        land(w, task);
        return;
    }
    tell_task(w, task, ENGINE_VERIFYING);
    j->stage = STAGE_VERIFYING;
}

/* The ref of the tip could not move: all landings of this turn are taken back. */
static void take_back_landings(struct world *w, size_t first)
{
    while (w->engine->landing.unpublished.n > first) {
        tell_kind(w, ENGINE_LANDING_FAILED);
        uint32_t task = (uint32_t)take_answer(w, DO_TAKE_BACK).task;
        w->tip = ++w->tips;
        w->jobs[task].landings--;
        w->jobs[task].unsaved = true;
        fail_attempt(w, task, FAILURE_INTERNAL);
    }
}

static void land_turn(struct world *w)
{
    size_t first = w->engine->landing.unpublished.n;
    if (!w->engine->landing.waiting)
        return;
    if (w->engine->failed) {
        for (tell_kind(w, ENGINE_ABANDONS_NEXT); w->actions.list.n;
             tell_kind(w, ENGINE_ABANDONS_NEXT)) {
            w->jobs[w->actions.list.v[0].task].stopped = true;
            fail_attempt(w, (uint32_t)w->actions.list.v[0].task, FAILURE_STOPPED);
        }
        return;
    }
    if (!w->publishing && chance(w, 3)) { /* a person committed to the base */
        w->tip = ++w->tips;
        tell_kind(w, ENGINE_TIP_MOVED);
    }
    for (tell_kind(w, ENGINE_LANDS_NEXT); w->actions.list.n; tell_kind(w, ENGINE_LANDS_NEXT)) {
        struct action a = take_answer(w, DO_LAND);
        (a.yes ? land : merge)(w, (uint32_t)a.task);
    }
    if (chance(w, 1))
        take_back_landings(w, first);
}

static void start_tasks(struct world *w)
{
    for (tell_kind(w, ENGINE_STARTS_NEXT); w->actions.list.n; tell_kind(w, ENGINE_STARTS_NEXT)) {
        struct action a = take_answer(w, DO_START);
        start_task(w, &a);
    }
}

void publish_if_due(struct world *w)
{
    const struct engine_event ev = {.kind = ENGINE_PUBLISH_DUE, .task = -1, .now = w->now};
    if (engine_can_publish(w->engine))
        report(w, &ev);
}

void end_turn(struct world *w, enum engine_event_kind kind)
{
    struct engine_event ev = {.kind = kind, .task = -1};
    ev.facts = (struct engine_facts){.has_base = true, .pool_filled = w->pool};
    tell(w, &ev);
    bool emptied = w->actions.list.n && w->actions.list.v[0].kind == DO_EMPTY_POOL;
    carry_out_all(w);
    if (emptied) {
        w->deletions++;
        report_kind(w, ENGINE_WORK_BEGAN);
    }
}

void do_turn(struct world *w)
{
    w->wakes = false;
    land_turn(w);
    start_tasks(w);
    publish_if_due(w);
    bool wakes = w->wakes;
    end_turn(w, ENGINE_TURN_ENDED);
    w->wakes = wakes;
}

void end_publication(struct world *w)
{
    const struct landing *l = &w->engine->landing;
    uint32_t tasks[TASKS_MAX];
    size_t n = l->publishing.n;
    w->publishing = false;
    memcpy(tasks, l->publishing.v, n * sizeof(tasks[0]));
    for (size_t i = 0; i < n; i++)
        tell_task(w, tasks[i], ENGINE_LANDING_RECORDED);
    for (size_t i = 0; i < n; i++) {
        end_task(w, tasks[i]);
        close_attempt(w, tasks[i]);
    }
    const struct engine_event ev = {.kind = ENGINE_PUBLISHED, .task = -1, .now = w->now};
    report(w, &ev);
    publish_if_due(w);
}

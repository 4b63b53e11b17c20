#include "world.h"

#include "base/mem.h"
#include "plan/engine/engine_journal.h"
#include "plan/failure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned pick(struct world *w, unsigned n)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return (unsigned)(w->random >> 33) % n;
}

bool chance(struct world *w, unsigned percent)
{
    return pick(w, 100) < percent;
}

void broken(struct world *w, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(w->what, sizeof(w->what), fmt, ap);
    va_end(ap);
    longjmp(w->broken, 1);
}

static void make_retries(struct world *w, struct task *t)
{
    static const int words[] = {PLAN_UNSET, PLAN_UNSET, PLAN_UNSET, 0,
                                1,          2,          RETRY_FAIL, RETRY_STOP};
    for (int f = 0; f < FAILURE_COUNT_; f++)
        t->retry.times[f] = words[pick(w, chance(w, 5) ? 8 : 7)];
    t->retry.times[FAILURE_LIMIT] = chance(w, 70) ? PLAN_UNSET : (int)pick(w, 3);
    t->retry.times[FAILURE_CONFLICT] = chance(w, 30) ? RETRY_REPAIR : PLAN_UNSET;
}

static void make_dependencies(struct world *w, uint32_t index)
{
    struct task *t = &w->tasks[index];
    t->deps = w->deps[index];
    for (uint32_t d = 0; d < index; d++) {
        if (chance(w, 20))
            t->deps[t->dep_count++] = d;
    }
}

static void make_task(struct world *w, uint32_t index)
{
    struct task *t = &w->tasks[index];
    (void)snprintf(w->ids[index], sizeof(w->ids[index]), "t%u", (unsigned)index);
    *t = (struct task){
        .index = index,
        .id = w->ids[index],
        .order = chance(w, 25) ? (int64_t)pick(w, 4) : INT64_MIN,
        .estimate = PLAN_UNSET,
        .budget = {.usd = PLAN_UNSET, .tokens = chance(w, 10) ? 50 : PLAN_UNSET},
        .group = chance(w, 20) ? w->groups[pick(w, GROUPS_MAX)].name : NULL,
    };
    make_dependencies(w, index);
    make_retries(w, t);
    w->jobs[index].verifies = chance(w, 50);
    w->lane[index] = (int32_t)pick(w, (unsigned)w->lanes);
    w->fallback[index] =
        w->lanes > 1 && chance(w, 20) ? (w->lane[index] + 1) % (int32_t)w->lanes : -1;
}

static void make_plan(struct world *w)
{
    w->groups[0] = (struct group){.name = "one", .limit = 1};
    w->groups[1] = (struct group){.name = "two", .limit = 2};
    w->lanes = 1 + pick(w, LANES_MAX);
    w->plan = (struct plan){
        .tasks = w->tasks,
        .task_count = 1 + pick(w, TASKS_MAX),
        .groups = w->groups,
        .group_count = GROUPS_MAX,
        .overlap = OVERLAP_ALLOW,
        .land_at = chance(w, 20) ? LAND_AT_END : LAND_AT_EACH,
        .budget = {.usd = PLAN_UNSET, .tokens = chance(w, 15) ? 200 : PLAN_UNSET},
    };
    for (uint32_t t = 0; t < w->plan.task_count; t++)
        make_task(w, t);
}

static void make_engine(struct world *w)
{
    const bool *wanted = w->only_some ? w->wanted : NULL;
    struct engine *e = mem_alloc(sizeof(*e));
    engine_init(e, &w->plan, false);
    engine_schedule(e, &w->graph, &w->claims, w->workers, wanted);
    engine_make_lanes(e, w->lanes);
    for (uint32_t t = 0; t < w->plan.task_count; t++)
        engine_set_lanes(e, t, w->lane[t], w->fallback[t]);
    w->engine = e;
    engine_journal_begin(&w->begin, e, wanted);
}

static void drop_engine(struct engine *e)
{
    if (e)
        engine_done(e);
    free(e);
}

void world_init(struct world *w, uint64_t seed)
{
    w->begin = (struct buf)BUF_INIT;
    w->random = seed * 0x9E3779B97F4A7C15U + 1;
    (void)pick(w, 2);
    make_plan(w);
    w->workers = 1 + pick(w, 4);
    w->now = 1000000;
    w->tip = w->tips = 1;
    for (size_t i = 0; i < LANES_MAX; i++)
        w->lane_due[i] = -1;
    w->publish_due = -1;
    problems_init(&w->problems, "plan");
    if (graph_init(&w->graph, &w->plan, &w->problems))
        broken(w, "the plan has a cycle");
    make_engine(w);
}

void world_done(struct world *w)
{
    drop_engine(w->engine);
    drop_engine(w->replayed);
    graph_done(&w->graph);
    problems_done(&w->problems);
    vec_done(&w->actions.list);
    buf_done(&w->begin);
    vec_done(&w->heard);
}

void world_replace_engine(struct world *w)
{
    drop_engine(w->engine);
    w->engine = w->replayed;
    w->replayed = NULL;
}

static bool seen[ENGINE_EVENT_COUNT_]; /* in all histories */

const char *world_find_unseen(void)
{
    for (int k = 0; k < ENGINE_EVENT_COUNT_; k++) {
        if (!seen[k])
            return engine_event_name((enum engine_event_kind)k);
    }
    return NULL;
}

void tell(struct world *w, const struct engine_event *ev)
{
    seen[ev->kind] = true;
    w->events++;
    w->actions.list.n = 0;
    if (engine_hear(w->engine, ev, &w->actions))
        vec_push(&w->heard, *ev);
    hash_actions(&w->answers, &w->actions);
    for (size_t i = 0; i < w->actions.list.n; i++) {
        if (w->actions.list.v[i].kind == DO_REFUSE)
            broken(w, "t%d cannot have '%s' in the state %s", (int)ev->task,
                   engine_event_name(ev->kind), task_state_name(w->engine->tasks[ev->task].state));
    }
    promises_check(w);
}

void world_forget(struct world *w)
{
    drop_engine(w->engine);
    buf_cut(&w->begin, 0);
    w->heard.n = 0;
    w->answers = 0;
    make_engine(w);
}

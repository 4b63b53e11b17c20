/*
 * The promises: we check them after each event, and at the end of a run.
 */
#include "world.h"

static size_t count_workers(const struct world *w)
{
    size_t n = 0;
    for (size_t t = 0; t < w->plan.task_count; t++)
        n += w->jobs[t].holds_worker;
    return n;
}

void promises_check(struct world *w)
{
    if (w->engine->sched.running > w->plan.task_count)
        broken(w, "a worker is counted twice");
}

/* The tasks that a task needs have succeeded; its workers, group and lane have room. */
void promises_check_start(struct world *w, uint32_t task)
{
    const struct task *t = &w->tasks[task];
    struct job *j = &w->jobs[task];
    const char *name = t->group;
    int64_t in_group = 0;
    if (j->stage != STAGE_IDLE && j->stage != STAGE_TIMER)
        broken(w, "t%u starts twice", (unsigned)task);
    if (w->engine->tasks[task].state == TASK_SKIPPED)
        broken(w, "t%u starts although it is skipped", (unsigned)task);
    for (size_t i = 0; i < t->dep_count; i++) {
        if (!w->only_some && !task_has_succeeded(w->engine->tasks[t->deps[i]].state))
            broken(w, "t%u starts before t%u has succeeded", (unsigned)task, (unsigned)t->deps[i]);
    }
    j->holds_worker = true;
    if (count_workers(w) > w->engine->sched.workers)
        broken(w, "%zu workers of %zu are in use", count_workers(w), w->engine->sched.workers);
    if (count_workers(w) != w->engine->sched.running)
        broken(w, "%zu workers are in use, and %zu are counted", count_workers(w),
               w->engine->sched.running);
    for (size_t i = 0; name && i < w->plan.task_count; i++)
        in_group += w->jobs[i].holds_worker && w->tasks[i].group == name;
    for (size_t g = 0; name && g < GROUPS_MAX; g++) {
        if (w->groups[g].name == name && in_group > w->groups[g].limit)
            broken(w, "group %s is too full", name);
    }
    if (w->engine->stopping || w->engine->failed || w->engine->paused || w->engine->draining)
        broken(w, "t%u starts in a run that starts nothing", (unsigned)task);
    if (w->engine->budgets.run.exceeded)
        broken(w, "t%u starts although the budget is used up", (unsigned)task);
    const struct lane *lane = &w->engine->lanes.list[w->engine->lanes.used[task]];
    if (j->start != START_LANDING && lane->state == LANE_CLOSED)
        broken(w, "t%u starts in a closed lane", (unsigned)task);
    if (j->start != START_LANDING && lane->state == LANE_TRIED && lane->probe != task)
        broken(w, "t%u starts in a lane that t%d tries", (unsigned)task, (int)lane->probe);
}

/* A task lands once, with the very tree that was verified, and in its order. */
void promises_check_landing(struct world *w, uint32_t task)
{
    struct job *j = &w->jobs[task];
    if (!j->committed)
        broken(w, "t%u lands without a commit", (unsigned)task);
    if (++j->landings > 1)
        broken(w, "t%u lands twice", (unsigned)task);
    if (j->verified_tip != w->tip)
        broken(w, "t%u lands on a tip with which it was not verified", (unsigned)task);
    for (uint32_t t = 0; !w->only_some && t < w->plan.task_count; t++) {
        bool open = !task_has_ended(w->engine->tasks[t].state) && !w->jobs[t].landings;
        bool any = w->engine->stopping || engine_is_draining(w->engine);
        if (!any && open && t != task &&
            w->engine->landing.tasks[t].order < w->engine->landing.tasks[task].order &&
            w->engine->landing.tasks[task].order != INT64_MAX)
            broken(w, "t%u lands before t%u, which has a lower order", (unsigned)task, (unsigned)t);
    }
}

void promises_check_end(struct world *w)
{
    bool early = w->engine->stopping || w->engine->failed || engine_is_draining(w->engine);
    for (uint32_t t = 0; t < w->plan.task_count; t++) {
        const struct job *j = &w->jobs[t];
        enum task_state state = w->engine->tasks[t].state;
        if (w->only_some && !w->wanted[t])
            continue;
        if (!early && !task_has_ended(state))
            broken(w, "the run is over, and t%u is %s", (unsigned)t, task_state_name(state));
        if ((state == TASK_LANDED) != (j->landings == 1))
            broken(w, "t%u is %s, and has landed %d times", (unsigned)t, task_state_name(state),
                   j->landings);
        if (j->unsaved && !j->workspace)
            broken(w, "the work of t%u is lost", (unsigned)t);
        if (j->holds_worker)
            broken(w, "t%u still has its worker", (unsigned)t);
    }
}

/*
 * The program dies, and a resume starts with the record of the tasks, as the store and git tell it.
 */
#include "plan/engine/rules/resume_step.h"
#include "shell.h"

#include <string.h>

static bool find_fact(struct world *w, uint32_t task, enum fact fact)
{
    const struct job *j = &w->jobs[task];
    switch ((int)fact) {
    case FACT_SAME_ENGINE:
        return true;
    case FACT_COMMIT_EXISTS:
        return j->committed;
    case FACT_WHOLE:
        return j->workspace;
    case FACT_SESSION:
        return j->session;
    case FACT_REBOOTED:
        return chance(w, 10);
    case FACT_MERGES:
    case FACT_WORKED_IN:
        return chance(w, 50);
    default:
        return false;
    }
}

/* Decides as the program does, by the evidence. A parked task has the row of its last attempt. */
static enum resume_step find_step(struct world *w, uint32_t task)
{
    const struct engine_task *t = &w->engine->tasks[task];
    const struct job *j = &w->jobs[task];
    bool parked = t->parked && j->workspace;
    struct resume_verdict verdict;
    struct facts f = {0};
    enum fact ask;
    facts_set(&f, FACT_WANTED, true);
    facts_set(&f, FACT_LANDED, j->landings);
    facts_set(&f, FACT_STARTED, j->attempts);
    facts_set(&f, FACT_REPAIR, t->repair);
    facts_set(&f, FACT_SESSION_WAITS, parked);
    while (!resume_step_decide(parked ? TASK_RUNNING : t->state, &f, &verdict, &ask))
        facts_set(&f, ask, find_fact(w, task, ask));
    return verdict.step;
}

struct engine_found find_record(const struct world *w, uint32_t task)
{
    const struct engine_task *t = &w->engine->tasks[task];
    const struct budget_use *u = &w->engine->budgets.tasks[task];
    struct engine_found found = {.state = t->state,
                                 .tokens_in = u->tokens_in,
                                 .tokens_out = u->tokens_out,
                                 .usd = u->usd,
                                 .start_at_tip = t->start_at_tip,
                                 .in_conflict = t->in_conflict};
    memcpy(found.retries_used, t->retries_used, sizeof(found.retries_used));
    return found;
}

void forget_process(struct world *w)
{
    for (uint32_t t = 0; t < w->plan.task_count; t++) {
        struct job *j = &w->jobs[t];
        j->holds_worker = j->stopped = false;
        j->verified_tip = j->merging_tip = 0;
    }
    for (size_t l = 0; l < w->lanes; l++)
        w->lane_due[l] = -1;
    w->publish_due = -1;
    w->publishing = w->publishing_last = false;
    w->deletions = 0;
    w->tip = ++w->tips;
    world_forget(w);
}

static void keep_task(struct world *w, uint32_t task, bool in_tip)
{
    if (in_tip)
        tell_task(w, task, ENGINE_LANDING_RECORDED);
    end_task(w, task);
}

static void land_again(struct world *w, uint32_t task)
{
    struct job *j = &w->jobs[task];
    tell_task(w, task, ENGINE_LANDS_AGAIN);
    tell_task(w, task, ENGINE_ATTEMPT_OPENED);
    if (chance(w, 50)) {
        j->workspace = j->prepared = true;
        queue_commit(w, task);
        return;
    }
    tell_task(w, task, ENGINE_NEEDS_WORKSPACE);
    close_attempt(w, task);
    j->stage = STAGE_IDLE;
    report_task(w, task, ENGINE_READY);
}

static void continue_session(struct world *w, uint32_t task, bool parked)
{
    struct engine_event ev = {.kind = ENGINE_SESSION_RESUMED, .task = task};
    ev.next = (struct engine_session){.parked = parked};
    tell_task(w, task, ENGINE_ATTEMPT_OPENED); /* to save what is in its workspace */
    tell_task(w, task, ENGINE_ATTEMPT_CLOSED);
    tell(w, &ev);
    w->jobs[task].stage = STAGE_IDLE;
}

static void run_again(struct world *w, uint32_t task)
{
    struct job *j = &w->jobs[task];
    bool left = j->workspace;
    j->committed = j->workspace = j->prepared = j->unsaved = false;
    if (!left)
        return;
    tell_task(w, task, ENGINE_HELD);
    tell_task(w, task, ENGINE_ATTEMPT_OPENED);
    close_attempt(w, task);
    if (w->engine->tasks[task].state == TASK_SKIPPED) /* it needs a task that stays failed */
        return;
    tell_task(w, task, ENGINE_WAITS);
    report_task(w, task, ENGINE_READY);
}

static void commit_again(struct world *w, uint32_t task)
{
    tell_task(w, task, ENGINE_HELD);
    tell_task(w, task, ENGINE_ATTEMPT_OPENED);
    tell_task(w, task, ENGINE_FINISHED);
    w->jobs[task].stage = STAGE_COMMITTING;
}

static bool is_settled(enum resume_step step)
{
    return step == RESUME_KEEP || step == RESUME_FOUND || step == RESUME_LEAVE;
}

static void resume_task(struct world *w, uint32_t task, enum resume_step step)
{
    switch (step) {
    case RESUME_KEEP:
    case RESUME_FOUND:
        keep_task(w, task, step == RESUME_FOUND);
        break;
    case RESUME_LAND:
        land_again(w, task);
        break;
    case RESUME_COMMIT:
        commit_again(w, task);
        break;
    case RESUME_CONTINUE:
        continue_session(w, task, chance(w, 50));
        break;
    case RESUME_RUN:
        run_again(w, task);
        break;
    case RESUME_LEAVE:
        end_task(w, task);
        break;
    case RESUME_NOT_WANTED:
    case RESUME_STEP_COUNT_:
        break;
    }
}

static void recall_limits(struct world *w)
{
    for (uint32_t t = 0; t < w->plan.task_count; t++) {
        struct engine_event ev = {
            .kind = ENGINE_LIMIT_RECALLED, .task = t, .now = w->now, .random = random_number(w)};
        ev.reset = w->now + pick(w, 3000);
        if (chance(w, 10))
            report(w, &ev);
    }
}

static void load_task(struct world *w, const struct engine_event *found, enum resume_step step)
{
    uint32_t task = (uint32_t)found->task;
    tell(w, found);
    w->jobs[task].stage = STAGE_IDLE;
    if (step == RESUME_RUN)
        tell_task(w, task, ENGINE_FORGOTTEN);
}

/* Tasks that stay as they are come first, dependants before dependencies. */
void die_and_resume(struct world *w)
{
    enum resume_step steps[TASKS_MAX];
    struct engine_event found[TASKS_MAX];
    const struct graph *g = &w->graph;
    for (uint32_t t = 0; t < g->n; t++) {
        steps[t] = find_step(w, t);
        found[t] = (struct engine_event){.kind = ENGINE_FOUND, .task = t};
        found[t].found = find_record(w, t);
    }
    forget_process(w);
    for (uint32_t t = 0; t < g->n; t++)
        load_task(w, &found[t], steps[t]);
    report_kind(w, ENGINE_USAGE_RECALLED);
    recall_limits(w);
    for (size_t i = g->n; i-- > 0;) {
        if (is_settled(steps[g->order[i]]))
            resume_task(w, g->order[i], steps[g->order[i]]);
    }
    for (size_t i = 0; i < g->n; i++) {
        if (!is_settled(steps[g->order[i]]))
            resume_task(w, g->order[i], steps[g->order[i]]);
    }
    w->wakes = true;
}

/*
 * A person stops, skips, retries and sends messages, at random.
 */
#include "shell.h"

static void stop_task(struct world *w, uint32_t task)
{
    struct job *j = &w->jobs[task];
    if (j->stage == STAGE_QUEUED) {
        j->stopped = true;
        tell_task(w, task, ENGINE_UNQUEUED);
        fail_attempt(w, task, FAILURE_STOPPED);
    } else if (j->stage == STAGE_TIMER ||
               (j->stage == STAGE_IDLE && w->engine->tasks[task].parked)) {
        tell_task(w, task, ENGINE_ATTEMPT_OPENED);
        tell_task(w, task, ENGINE_WAIT_STOPPED);
        j->stopped = true;
        fail_attempt(w, task, FAILURE_STOPPED);
    } else if (j->stage != STAGE_IDLE && j->stage != STAGE_ENDED && j->stage != STAGE_IN_TIP) {
        j->stopped = true;
    }
}

static void skip_task(struct world *w, uint32_t task)
{
    struct job *j = &w->jobs[task];
    bool waits = j->stage == STAGE_IDLE || j->stage == STAGE_TIMER;
    if (!waits || task_has_ended(w->engine->tasks[task].state) || j->workspace)
        return;
    tell_task(w, task, ENGINE_SKIPPED);
    if (w->engine->tasks[task].follows_landing) {
        tell_task(w, task, ENGINE_LANDING_STANDS);
        j->landings = 1;
    }
    end_task(w, task);
}

/* The next attempt of a task that waits gets the message. */
static void send_message(struct world *w, uint32_t task)
{
    const struct job *j = &w->jobs[task];
    if (j->stage == STAGE_TIMER || j->stage == STAGE_WORKING ||
        (j->stage == STAGE_IDLE && w->engine->tasks[task].parked))
        tell_task(w, task, ENGINE_MESSAGE_WAITS);
}

static bool lacks_need(const struct world *w, uint32_t task)
{
    uint32_t need;
    return sched_lacks(&w->engine->sched, task, &need);
}

/* A failed task starts again, in its session or from scratch. */
static void retry_task(struct world *w, uint32_t task)
{
    enum task_state state = w->engine->tasks[task].state;
    struct job *j = &w->jobs[task];
    bool failed = state == TASK_FAILED || state == TASK_CONFLICTED;
    if (!failed || j->stage != STAGE_ENDED || lacks_need(w, task) ||
        engine_is_draining(w->engine) || w->over)
        return;
    if (chance(w, 50)) {
        struct engine_event ev = {.kind = ENGINE_SESSION_RESUMED, .task = task};
        ev.next = (struct engine_session){.repair = state == TASK_CONFLICTED ? REPAIR_CONFLICT
                                                                             : REPAIR_OWN,
                                          .remade = true,
                                          .has_message = true};
        tell_task(w, task, ENGINE_RESTARTED);
        tell(w, &ev);
    } else {
        tell_if(w, task, ENGINE_RESTARTED_FRESH, j->attempts > 0);
        tell_task(w, task, ENGINE_FORGOTTEN);
    }
    j->stage = STAGE_IDLE;
    j->workspace = j->prepared = false;
    report_task(w, task, ENGINE_TAKEN_BACK);
    report_task(w, task, ENGINE_READY);
}

static void set_workers(struct world *w)
{
    const struct engine_event ev = {
        .kind = ENGINE_WORKERS_SET, .task = -1, .workers = 4 + pick(w, 4)};
    report(w, &ev);
}

static void raise_budget(struct world *w)
{
    struct engine_event ev = {.kind = ENGINE_BUDGET_RAISED, .task = -1};
    ev.budget = (struct budget){.usd = -1, .tokens = w->plan.budget.tokens + 1000};
    if (w->plan.budget.tokens > 0)
        report(w, &ev);
}

void act_as_person(struct world *w)
{
    uint32_t task = pick(w, (unsigned)w->plan.task_count);
    if (engine_is_ending(w->engine) || w->over)
        return;
    switch (pick(w, 40)) {
    case 0:
    case 1:
    case 2:
        stop_task(w, task);
        break;
    case 3:
    case 4:
        skip_task(w, task);
        break;
    case 5:
        report_kind(w, ENGINE_PAUSED);
        break;
    case 6:
        set_workers(w);
        break;
    case 7:
        raise_budget(w);
        break;
    case 8:
        if (chance(w, 20))
            report_kind(w, chance(w, 80) ? ENGINE_INTERRUPTED : ENGINE_BROKE);
        break;
    case 9:
    case 10:
    case 11:
    case 12:
        retry_task(w, task);
        break;
    case 13:
    case 14:
        send_message(w, task);
        break;
    default:
        break;
    }
}

/*
 * A model of src/run: it carries out the actions of the engine, and reports random outcomes, in the
 * order in which the real steps report them.
 */
#include "plan/engine/rules/resume_step.h"
#include "world.h"

#include <stdlib.h>
#include <string.h>

static void tell_kind(struct world *w, enum engine_event_kind kind)
{
    const struct engine_event ev = {.kind = kind, .task = -1};
    tell(w, &ev);
}

static void tell_task(struct world *w, uint32_t task, enum engine_event_kind kind)
{
    const struct engine_event ev = {.kind = kind, .task = task};
    tell(w, &ev);
}

static void tell_if(struct world *w, uint32_t task, enum engine_event_kind kind, bool yes)
{
    const struct engine_event ev = {.kind = kind, .task = task, .yes = yes};
    tell(w, &ev);
}

static uint32_t random_number(struct world *w)
{
    return (uint32_t)pick(w, 1U << 30) * 4U;
}

static void fail_attempt(struct world *w, uint32_t task, enum failure failure);

static void carry_out(struct world *w, const struct action *a)
{
    switch (a->kind) {
    case DO_PUBLISH:
        w->publishing = true;
        w->moves_base = a->yes;
        break;
    case DO_PUBLISH_LATER:
        if (w->publish_due < 0)
            w->publish_due = w->now + a->ms;
        break;
    case DO_PUBLISH_LAST:
        w->publishing_last = true;
        break;
    case DO_EMPTY_POOL:
        w->pool = false;
        break;
    case DO_FINISH:
        w->over = true;
        break;
    case DO_WAKE_LANE:
        w->lane_due[a->lane] = w->now + a->ms;
        break;
    case DO_WAKE:
    case DO_REPORT_BUDGET:
    case DO_STOP_FOR_RUN:
        w->wakes = true;
        break;
    case DO_STOP_AGENTS:
        for (uint32_t t = 0; t < w->plan.task_count; t++)
            w->jobs[t].stopped = true;
        break;
    case DO_SKIP:
        if (w->jobs[a->task].stage != STAGE_IDLE)
            broken(w, "t%d is skipped while it has an attempt", (int)a->task);
        w->jobs[a->task].stage = STAGE_ENDED;
        break;
    case DO_UNSKIP:
        w->jobs[a->task].stage = STAGE_IDLE;
        break;
    case DO_STOP_AGENT:
        w->jobs[a->task].stopped = true;
        break;
    case DO_CLOSE:
    case DO_KILL_AGENTS:
    case DO_GIVE_UP:
    case DO_REPORT_CLOSED:
    case DO_REPORT_OPEN:
    case DO_RECORD_USAGE:
    case DO_WARN_BUDGET:
    case DO_NOTE_OVERRUN:
    case DO_LAND:
    case DO_ABANDON:
    case DO_START:
    case DO_END_ATTEMPT:
    case DO_TAKE_BACK:
    case DO_REFUSE:
    case ACTION_COUNT_:
        break;
    }
}

/* Carries out the answer to the last event; these events have no other one. */
static void carry_out_all(struct world *w)
{
    struct action actions[64];
    size_t n = w->actions.list.n < 64 ? w->actions.list.n : 64;
    if (n)
        memcpy(actions, w->actions.list.v, n * sizeof(actions[0]));
    for (size_t i = 0; i < n; i++)
        carry_out(w, &actions[i]);
    w->wakes = true;
}

static void report(struct world *w, const struct engine_event *ev)
{
    tell(w, ev);
    carry_out_all(w);
}

static void report_kind(struct world *w, enum engine_event_kind kind)
{
    tell_kind(w, kind);
    carry_out_all(w);
}

static void report_task(struct world *w, uint32_t task, enum engine_event_kind kind)
{
    tell_task(w, task, kind);
    carry_out_all(w);
}

static void free_worker(struct world *w, uint32_t task)
{
    w->jobs[task].holds_worker = false;
}

static void close_attempt(struct world *w, uint32_t task)
{
    struct job *j = &w->jobs[task];
    report_task(w, task, ENGINE_ATTEMPT_CLOSED);
    j->workspace = j->prepared = j->stopped = false;
    j->verified_tip = j->merging_tip = 0;
}

static void end_task(struct world *w, uint32_t task)
{
    free_worker(w, task);
    w->jobs[task].stage = STAGE_ENDED;
    report_task(w, task, ENGINE_ENDED);
}

/* An attempt has failed. */

static void wait_for_time(struct world *w, uint32_t task, int64_t ms)
{
    struct job *j = &w->jobs[task];
    free_worker(w, task);
    j->stage = STAGE_TIMER;
    j->due = w->now + ms;
    report_task(w, task, ENGINE_WAITS_FOR_TIME);
}

static void park(struct world *w, uint32_t task, const struct failure_outcome *o)
{
    tell_task(w, task, ENGINE_WAITS);
    bool passed_on = o->workspace == WORKSPACE_PASSED_ON;
    if (passed_on)
        tell_if(w, task, ENGINE_SESSION_KEPT, false);
    close_attempt(w, task);
    w->jobs[task].workspace = w->jobs[task].prepared = passed_on;
    free_worker(w, task);
    w->jobs[task].stage = STAGE_IDLE;
    report_task(w, task, ENGINE_PARKED);
}

static void repair(struct world *w, uint32_t task)
{
    tell_task(w, task, ENGINE_WAITS);
    tell_if(w, task, ENGINE_SESSION_KEPT, false);
    close_attempt(w, task);
    w->jobs[task].workspace = w->jobs[task].prepared = true;
    wait_for_time(w, task, 0);
}

static void fail_for_good(struct world *w, uint32_t task, bool drains)
{
    struct job *j = &w->jobs[task];
    if (w->engine->tasks[task].follows_landing) {
        tell_task(w, task, ENGINE_FOLLOW_UP_FAILED);
        report_task(w, task, ENGINE_LANDING_STANDS);
        j->landings = 1;
    } else {
        tell_task(w, task, ENGINE_FAILED);
    }
    close_attempt(w, task);
    end_task(w, task);
    if (drains)
        report_kind(w, ENGINE_DRAINED);
}

static void leave_in_conflict(struct world *w, uint32_t task)
{
    tell_task(w, task, ENGINE_CONFLICTED);
    w->jobs[task].unsaved = false; /* the workspace stays, with its branch */
    end_task(w, task);
    close_attempt(w, task);
}

static void finish_failure(struct world *w, uint32_t task, const struct failure_outcome *o)
{
    switch (engine_is_ending(w->engine) ? OUTCOME_FAIL : o->kind) {
    case OUTCOME_PARK:
        park(w, task, o);
        break;
    case OUTCOME_REPAIR:
        repair(w, task);
        break;
    case OUTCOME_RETRY:
    case OUTCOME_FALL_BACK:
        close_attempt(w, task);
        wait_for_time(w, task, o->delay_ms);
        break;
    case OUTCOME_LEAVE_CONFLICT:
        leave_in_conflict(w, task);
        break;
    case OUTCOME_FAIL:
        fail_for_good(w, task, o->drains);
        break;
    }
}

static struct session_facts describe_session(struct world *w, uint32_t task)
{
    const struct job *j = &w->jobs[task];
    return (struct session_facts){.engine_resumes = chance(w, 80),
                                  .is_known = j->session,
                                  .has_workspace = j->workspace && j->prepared,
                                  .tampered = chance(w, 3)};
}

/* The last event has this one answer. */
static struct action take_answer(struct world *w, enum action_kind kind)
{
    if (!w->actions.list.n || w->actions.list.v[0].kind != kind)
        broken(w, "the engine does not answer with action %d", (int)kind);
    return w->actions.list.v[0];
}

static struct failure_outcome meet_limit(struct world *w, uint32_t task)
{
    struct engine_event ev = {
        .kind = ENGINE_LIMIT_MET, .task = task, .now = w->now, .random = random_number(w)};
    ev.limit = (struct limit_facts){.reset = chance(w, 50) ? w->now + pick(w, 5000) : 0,
                                    .now = w->now,
                                    .session = describe_session(w, task)};
    tell(w, &ev);
    struct failure_outcome o = take_answer(w, DO_END_ATTEMPT).outcome;
    carry_out_all(w);
    return o;
}

/* Our own promise: a workspace goes only if its work is safe. */
static void remove_workspace(struct world *w, uint32_t task, const struct failure_outcome *o)
{
    const struct job *j = &w->jobs[task];
    if (o->workspace == WORKSPACE_REMOVED && j->workspace && j->unsaved)
        broken(w, "the work of t%u is lost: its workspace is removed", (unsigned)task);
}

static struct failure_facts describe_failure(struct world *w, uint32_t task, enum failure failure)
{
    const struct job *j = &w->jobs[task];
    return (struct failure_facts){
        .failure = failure,
        .by_user = j->stopped,
        .has_workspace = j->workspace,
        .verification_broken = failure == FAILURE_SETUP && j->committed && chance(w, 10),
        .has_candidate = j->merging_tip != 0,
        .has_feedback =
            failure == FAILURE_VERIFY || failure == FAILURE_SCOPE || failure == FAILURE_CONFLICT,
    };
}

static void save_work(struct world *w, uint32_t task, struct failure_facts *f)
{
    struct job *j = &w->jobs[task];
    bool untouched = f->at_limit.workspace == WORKSPACE_PASSED_ON || !j->workspace;
    f->saved = untouched || chance(w, 95);
    if (f->saved && !untouched)
        j->unsaved = false;
}

static void fail_attempt(struct world *w, uint32_t task, enum failure failure)
{
    struct job *j = &w->jobs[task];
    if (j->stopped && failure != FAILURE_CONFLICT)
        failure = FAILURE_STOPPED;
    struct failure_facts f = describe_failure(w, task, failure);
    if (failure == FAILURE_LIMIT && !engine_is_ending(w->engine))
        f.at_limit = meet_limit(w, task);
    save_work(w, task, &f);
    if (f.has_feedback)
        f.session = describe_session(w, task);
    const struct engine_event ev = {
        .kind = ENGINE_ATTEMPT_FAILED, .task = task, .random = random_number(w), .failure = f};
    tell(w, &ev);
    struct failure_outcome o = take_answer(w, DO_END_ATTEMPT).outcome;
    if (o.repair && chance(w, 5)) /* it cannot be set up */
        failure_drop_repair(&o);
    if (!f.saved && j->workspace && o.workspace == WORKSPACE_LEFT)
        j->unsaved = false; /* it stays for a person, who is told */
    const struct engine_event done = {
        .kind = ENGINE_FAILURE_CARRIED_OUT, .task = task, .outcome = o, .class = failure};
    tell(w, &done);
    remove_workspace(w, task, &o);
    if (o.kind != OUTCOME_REPAIR && o.kind != OUTCOME_PARK)
        j->committed = false;
    finish_failure(w, task, &o);
}

static void conflict(struct world *w, uint32_t task)
{
    struct retries retries = engine_retries(w->engine, task);
    if (failure_of_conflict(engine_is_ending(w->engine), w->engine->tasks[task].in_conflict,
                            &retries) == OUTCOME_LEAVE_CONFLICT)
        leave_in_conflict(w, task);
    else
        fail_attempt(w, task, FAILURE_CONFLICT);
}

/* The steps of an attempt. */

static void start_agent(struct world *w, uint32_t task)
{
    struct job *j = &w->jobs[task];
    tell_task(w, task, ENGINE_AGENT_STARTED);
    j->stage = STAGE_WORKING;
    j->tokens = 0;
    j->session = chance(w, 90);
    j->unsaved = true;
}

static void resume_session(struct world *w, uint32_t task)
{
    bool conflict = w->engine->tasks[task].repair == REPAIR_CONFLICT;
    tell_task(w, task, ENGINE_REPAIR_BEGAN);
    if (conflict)
        tell_task(w, task, ENGINE_MESSAGE_TOLD);
    if (w->engine->tasks[task].has_message)
        broken(w, "the agent of t%u resumes without its message", (unsigned)task);
    w->jobs[task].workspace = w->jobs[task].prepared = true;
    start_agent(w, task);
}

static void start_task(struct world *w, const struct action *a)
{
    uint32_t task = (uint32_t)a->task;
    struct job *j = &w->jobs[task];
    j->start = a->start;
    promises_check_start(w, task);
    j->stage = STAGE_PREPARING;
    j->attempts++;
    tell_task(w, task, ENGINE_ATTEMPT_OPENED);
    if (a->start == START_RESUMED) {
        resume_session(w, task);
        return;
    }
    if (a->start == START_NEW) {
        tell_task(w, task, ENGINE_WORKSPACE_MADE);
        j->committed = false;
    }
    j->workspace = true;
}

static void queue_commit(struct world *w, uint32_t task)
{
    tell_task(w, task, ENGINE_QUEUED);
    w->jobs[task].stage = STAGE_QUEUED;
    w->wakes = true;
}

static void end_preparing(struct world *w, uint32_t task)
{
    struct job *j = &w->jobs[task];
    if (j->stopped || chance(w, 5)) {
        fail_attempt(w, task, FAILURE_SETUP);
        return;
    }
    j->prepared = true;
    if (j->start == START_RESTORED) {
        resume_session(w, task);
    } else if (j->start == START_LANDING) {
        free_worker(w, task);
        tell_task(w, task, ENGINE_WORKER_FREED);
        queue_commit(w, task);
    } else {
        start_agent(w, task);
    }
}

static void end_unchanged(struct world *w, uint32_t task)
{
    struct job *j = &w->jobs[task];
    j->unsaved = false;
    if (j->landed_before) {
        report_task(w, task, ENGINE_LANDING_STANDS);
        j->landings = 1;
    } else {
        tell_task(w, task, ENGINE_UNCHANGED);
    }
    end_task(w, task);
    close_attempt(w, task);
}

static void use_tokens(struct world *w, uint32_t task)
{
    struct job *j = &w->jobs[task];
    j->tokens += pick(w, 20);
    struct engine_event ev = {.kind = ENGINE_USED, .task = task};
    ev.usage = (struct budget_report){
        .spent = {.in = j->tokens, .usd = -1}, .works = true, .stopped = j->stopped};
    report(w, &ev);
}

static void see_limit(struct world *w, uint32_t task)
{
    struct engine_event ev = {
        .kind = ENGINE_LIMIT_SEEN, .task = task, .now = w->now, .random = random_number(w)};
    ev.reset = w->now + pick(w, 4000);
    report(w, &ev);
    tell_task(w, task, ENGINE_WORKER_FREED);
    free_worker(w, task);
    fail_attempt(w, task, FAILURE_LIMIT);
}

/* The agent has shown that there is no limit. */
static void hear_agent(struct world *w, uint32_t task)
{
    const struct engine_event ev = {
        .kind = ENGINE_AGENT_SPOKE, .task = task, .now = w->now, .random = random_number(w)};
    report(w, &ev);
}

static void end_agent(struct world *w, uint32_t task)
{
    static const enum failure classes[] = {FAILURE_LIMIT,   FAILURE_TRANSIENT, FAILURE_OVERLOADED,
                                           FAILURE_TIMEOUT, FAILURE_AUTH,      FAILURE_LIMIT};
    enum failure failure = classes[pick(w, 6)];
    bool fails = chance(w, 25);
    free_worker(w, task);
    tell_task(w, task, ENGINE_WORKER_FREED);
    if (!w->jobs[task].stopped && !(fails && failure == FAILURE_LIMIT))
        hear_agent(w, task);
    if (w->jobs[task].stopped)
        fail_attempt(w, task, FAILURE_STOPPED);
    else if (fails)
        fail_attempt(w, task, failure);
    else if (chance(w, 5))
        end_unchanged(w, task);
    else {
        tell_task(w, task, ENGINE_FINISHED);
        w->jobs[task].stage = STAGE_COMMITTING;
    }
}

static void let_agent_work(struct world *w, uint32_t task)
{
    unsigned what = pick(w, 20);
    if (what < 6)
        hear_agent(w, task);
    else if (what < 9)
        use_tokens(w, task);
    else if (what == 9 && !w->jobs[task].stopped)
        see_limit(w, task);
    else
        end_agent(w, task);
}

static void commit(struct world *w, uint32_t task)
{
    struct job *j = &w->jobs[task];
    bool reverts = chance(w, 5);
    if (j->stopped && !engine_is_ending(w->engine)) {
        fail_attempt(w, task, FAILURE_STOPPED);
        return;
    }
    if (w->engine->tasks[task].in_conflict && chance(w, 30)) {
        conflict(w, task);
        return;
    }
    tell_task(w, task, ENGINE_COMMITTED);
    j->committed = true;
    j->unsaved = false;
    tell_if(w, task, ENGINE_COMPARED, reverts);
    if (reverts)
        fail_attempt(w, task, FAILURE_SCOPE);
    else
        queue_commit(w, task);
}

static void end_verification(struct world *w, uint32_t task)
{
    struct job *j = &w->jobs[task];
    if (j->stopped || chance(w, 20)) {
        fail_attempt(w, task, chance(w, 90) ? FAILURE_VERIFY : FAILURE_SETUP);
        return;
    }
    j->verified_tip = j->merging_tip;
    queue_commit(w, task);
}

/* The turn of a run. */

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

static void publish_if_due(struct world *w)
{
    const struct engine_event ev = {.kind = ENGINE_PUBLISH_DUE, .task = -1, .now = w->now};
    if (engine_can_publish(w->engine))
        report(w, &ev);
}

static void end_turn(struct world *w, enum engine_event_kind kind)
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

static void do_turn(struct world *w)
{
    w->wakes = false;
    land_turn(w);
    start_tasks(w);
    publish_if_due(w);
    bool wakes = w->wakes;
    end_turn(w, ENGINE_TURN_ENDED);
    w->wakes = wakes;
}

static void end_publication(struct world *w)
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

/* Requests of a person. */

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
    if (j->stage == STAGE_TIMER || (j->stage == STAGE_IDLE && w->engine->tasks[task].parked))
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

static void act_as_person(struct world *w)
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

/* One thing happens. Returns false if nothing is under way. */

static bool step_task(struct world *w, uint32_t task)
{
    switch (w->jobs[task].stage) {
    case STAGE_PREPARING:
        end_preparing(w, task);
        return true;
    case STAGE_WORKING:
        let_agent_work(w, task);
        return true;
    case STAGE_COMMITTING:
        commit(w, task);
        return true;
    case STAGE_VERIFYING:
        end_verification(w, task);
        return true;
    case STAGE_IDLE:
    case STAGE_TIMER:
    case STAGE_QUEUED:
    case STAGE_IN_TIP:
    case STAGE_ENDED:
        break;
    }
    return false;
}

static bool step_some_task(struct world *w)
{
    uint32_t n = (uint32_t)w->plan.task_count, first = pick(w, n);
    for (uint32_t i = 0; i < n; i++) {
        if (step_task(w, (first + i) % n))
            return true;
    }
    return false;
}

static int64_t find_next_time(const struct world *w)
{
    int64_t next = w->publish_due;
    for (size_t l = 0; l < w->lanes; l++) {
        if (w->lane_due[l] >= 0 && (next < 0 || w->lane_due[l] < next))
            next = w->lane_due[l];
    }
    for (size_t t = 0; t < w->plan.task_count; t++) {
        if (w->jobs[t].stage == STAGE_TIMER && (next < 0 || w->jobs[t].due < next))
            next = w->jobs[t].due;
    }
    return next;
}

static void ring_lanes(struct world *w)
{
    for (size_t l = 0; l < w->lanes; l++) {
        if (w->lane_due[l] < 0 || w->lane_due[l] > w->now)
            continue;
        w->lane_due[l] = -1;
        struct engine_event ev = {
            .kind = ENGINE_LANE_DUE, .task = -1, .now = w->now, .random = random_number(w)};
        ev.lane = (int32_t)l;
        report(w, &ev);
    }
}

static void ring_timers(struct world *w)
{
    ring_lanes(w);
    if (w->publish_due >= 0 && w->publish_due <= w->now) {
        w->publish_due = -1;
        publish_if_due(w);
    }
    for (uint32_t t = 0; t < w->plan.task_count; t++) {
        if (w->jobs[t].stage != STAGE_TIMER || w->jobs[t].due > w->now)
            continue;
        w->jobs[t].stage = STAGE_IDLE;
        report_task(w, t, ENGINE_DUE);
    }
}

/* A run that ends does not wait for the timers of retries. */
static void end_waits(struct world *w)
{
    for (uint32_t t = 0; engine_is_ending(w->engine) && t < w->plan.task_count; t++) {
        if (w->jobs[t].stage == STAGE_TIMER)
            w->jobs[t].stage = STAGE_IDLE;
    }
}

static bool step(struct world *w)
{
    end_waits(w);
    if (w->wakes)
        do_turn(w);
    else if (w->publishing && chance(w, 50))
        end_publication(w);
    else if (w->publishing_last && chance(w, 50)) {
        w->publishing_last = false;
        end_turn(w, ENGINE_PUBLISHED_LAST);
    } else if (w->deletions && chance(w, 50)) {
        w->deletions--;
        report_kind(w, ENGINE_WORK_ENDED);
    } else if (!step_some_task(w) && !w->publishing && !w->publishing_last && !w->deletions) {
        int64_t next = find_next_time(w);
        if (next < 0 && w->engine->paused)
            report_kind(w, ENGINE_CONTINUED);
        else if (next < 0)
            return false;
        w->now = next > w->now ? next : w->now;
        ring_timers(w);
    }
    w->now += pick(w, 50);
    return true;
}

/* The program dies, and a resume starts with what the store and git tell. */

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

static struct engine_found find_record(const struct world *w, uint32_t task)
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

static void forget_process(struct world *w)
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
static void die_and_resume(struct world *w)
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

/* If the engine dies, a journal tells the next one all that this one knew. Without a journal, the
 * next one starts with the results of the tasks. */
static void crash_now_and_then(struct world *w)
{
    if (!chance(w, 1))
        return;
    if (chance(w, 30))
        promises_check_replay(w);
    else if (chance(w, 30) && !w->over && w->engine->phase == RUN_WORKING)
        die_and_resume(w);
}

/* The result is recorded; observers may still have open work, until a person gives them up. */
static void close_run(struct world *w)
{
    struct engine_event ev = {.kind = ENGINE_TURN_ENDED, .task = -1};
    tell_kind(w, ENGINE_RECORDED);
    ev.facts.observers_busy = chance(w, 50);
    tell(w, &ev);
    if (ev.facts.observers_busy) {
        if (w->actions.list.n)
            broken(w, "the run closes while observers have open work");
        tell_kind(w, ENGINE_INTERRUPTED);
        (void)take_answer(w, DO_GIVE_UP);
        ev.facts.observers_busy = false;
        tell(w, &ev);
    }
    (void)take_answer(w, DO_CLOSE);
    tell_kind(w, ENGINE_CLOSED);
}

static bool find_landed(struct world *w, uint32_t *ret_task)
{
    uint32_t n = (uint32_t)w->plan.task_count, first = pick(w, n);
    for (uint32_t i = 0; i < n; i++) {
        *ret_task = (first + i) % n;
        if (w->engine->tasks[*ret_task].state == TASK_LANDED)
            return true;
    }
    return false;
}

/* After the run a person sends the agent of a landed task a message: a run of this task alone.
 * Whatever becomes of that, the task stays landed. */
static bool begin_follow_up(struct world *w)
{
    struct engine_event found = {.kind = ENGINE_FOUND}, ev = {.kind = ENGINE_SESSION_RESUMED};
    uint32_t task;
    if (!find_landed(w, &task))
        return false;
    found.task = ev.task = task;
    found.found = find_record(w, task);
    ev.next = (struct engine_session){.repair = REPAIR_OWN, .remade = true, .has_message = true};
    memset(w->wanted, 0, sizeof(w->wanted));
    w->wanted[task] = w->only_some = true;
    forget_process(w);
    w->over = false;
    tell(w, &found);
    tell_task(w, task, ENGINE_STARTS_AT_TIP);
    report_kind(w, ENGINE_USAGE_RECALLED);
    tell_if(w, task, ENGINE_FOLLOW_UP_BEGAN, true);
    tell(w, &ev);
    w->jobs[task].stage = STAGE_IDLE;
    w->jobs[task].landings = 0;
    w->jobs[task].landed_before = true;
    return true;
}

static void live_until_over(struct world *w, uint64_t end, uint64_t calm)
{
    while (!w->over && w->events < end) {
        if (!step(w))
            broken(w, "nothing is under way, and the run does not end");
        if (w->events < calm) /* then the run must come to its end */
            act_as_person(w);
        if (w->events < calm && !w->only_some)
            crash_now_and_then(w);
    }
    promises_check_replay(w);
    if (!w->over)
        broken(w, "the run does not end");
    promises_check_end(w);
    close_run(w);
}

void shell_live(struct world *w, size_t most)
{
    uint64_t begin = w->events;
    w->wakes = true;
    w->pool = chance(w, 20);
    live_until_over(w, begin + most, begin + most / 4);
    if (!chance(w, 20) || !begin_follow_up(w))
        return;
    begin = w->events;
    live_until_over(w, begin + most, begin + most / 4);
}

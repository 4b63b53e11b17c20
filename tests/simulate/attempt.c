/*
 * An attempt of a task: its steps, in the order in which the real ones report them, and its
 * failures.
 */
#include "shell.h"

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

static struct failure_outcome meet_limit(struct world *w, uint32_t task)
{
    struct engine_event ev = {
        .kind = ENGINE_LIMIT_MET, .task = task, .now = w->now, .random = random_number(w)};
    ev.limit = (struct limit_facts){.reset = chance(w, 50) ? w->now + pick(w, 5000) : 0,
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

void fail_attempt(struct world *w, uint32_t task, enum failure failure)
{
    struct job *j = &w->jobs[task];
    if (j->stopped && failure != FAILURE_CONFLICT)
        failure = FAILURE_STOPPED;
    tell_task(w, task, ENGINE_FAILURE_FOUND);
    (void)take_answer(w, DO_SAVE);
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

void conflict(struct world *w, uint32_t task)
{
    tell_task(w, task, ENGINE_CONFLICT_FOUND);
    if (w->actions.list.v[0].kind == DO_LEAVE_CONFLICT) {
        leave_in_conflict(w, task);
    } else {
        (void)take_answer(w, DO_FAIL_CONFLICT);
        fail_attempt(w, task, FAILURE_CONFLICT);
    }
}

static void start_agent(struct world *w, uint32_t task)
{
    struct job *j = &w->jobs[task];
    tell_task(w, task, ENGINE_WORKSPACE_READY);
    (void)take_answer(w, DO_RUN_AGENT);
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

void start_task(struct world *w, const struct action *a)
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

void queue_commit(struct world *w, uint32_t task)
{
    tell_task(w, task, ENGINE_QUEUED);
    w->jobs[task].stage = STAGE_QUEUED;
    w->wakes = true;
}

void end_preparing(struct world *w, uint32_t task)
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
    tell_task(w, task, ENGINE_NOTHING_TO_LAND);
    (void)take_answer(w, DO_END_UNLANDED);
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
        (void)take_answer(w, DO_COMMIT);
        w->jobs[task].stage = STAGE_COMMITTING;
    }
}

void let_agent_work(struct world *w, uint32_t task)
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

void commit(struct world *w, uint32_t task)
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

void end_verification(struct world *w, uint32_t task)
{
    struct job *j = &w->jobs[task];
    if (j->stopped || chance(w, 20)) {
        fail_attempt(w, task, chance(w, 90) ? FAILURE_VERIFY : FAILURE_SETUP);
        return;
    }
    j->verified_tip = j->merging_tip;
    queue_commit(w, task);
}

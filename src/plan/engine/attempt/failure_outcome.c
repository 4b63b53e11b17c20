#include "plan/engine/attempt/failure_outcome.h"

#include <stddef.h>

const char *const outcome_words[] = {
    [OUTCOME_FAIL] = "fail",     [OUTCOME_LEAVE_CONFLICT] = "leave-conflict",
    [OUTCOME_PARK] = "park",     [OUTCOME_FALL_BACK] = "fall-back",
    [OUTCOME_RETRY] = "retry",   [OUTCOME_REPAIR] = "repair",
    [OUTCOME_REPAIR + 1] = NULL,
};

const char *const workspace_end_words[] = {
    [WORKSPACE_LEFT] = "left",
    [WORKSPACE_REMOVED] = "removed",
    [WORKSPACE_PASSED_ON] = "passed-on",
    [WORKSPACE_PASSED_ON + 1] = NULL,
};

static bool can_resume(const struct session_facts *s)
{
    return s->engine_resumes && s->is_known && s->has_workspace && !s->tampered;
}

/* If the reset is known, waiting uses no retry. */
static struct failure_outcome choose_park(const struct limit_facts *f, const struct retries *r)
{
    bool known = f->reset > f->now, left = r->used[FAILURE_LIMIT] < retry_times(r, FAILURE_LIMIT);
    if (!retry_parks(r) || r->budget_spent || (!known && !left))
        return (struct failure_outcome){0};
    return (struct failure_outcome){
        .kind = OUTCOME_PARK,
        .workspace = can_resume(&f->session) ? WORKSPACE_PASSED_ON : WORKSPACE_REMOVED,
        .resets_at = known ? f->reset : 0,
        .closes_lane = true,
        .uses_retry = !known,
    };
}

struct failure_outcome failure_at_limit(const struct limit_facts *f, const struct retries *r)
{
    if (!f->has_fallback)
        return choose_park(f, r);
    return (struct failure_outcome){
        .kind = OUTCOME_FALL_BACK, .workspace = WORKSPACE_REMOVED, .closes_lane = retry_parks(r)};
}

/* A repair needs feedback for the agent. */
static enum repair choose_repair(const struct failure_facts *f)
{
    bool repairable = f->failure == FAILURE_VERIFY || f->failure == FAILURE_SCOPE ||
                      f->failure == FAILURE_CONFLICT;
    if (!repairable || !f->has_feedback || !can_resume(&f->session))
        return REPAIR_NONE;
    if (f->failure == FAILURE_CONFLICT && !f->in_conflict)
        return REPAIR_CONFLICT;
    return f->failure == FAILURE_VERIFY && f->has_candidate ? REPAIR_MERGED : REPAIR_OWN;
}

static struct failure_outcome choose_retry(const struct failure_facts *f, const struct retries *r,
                                           uint32_t random)
{
    enum repair repair = choose_repair(f);
    return (struct failure_outcome){
        .kind = repair ? OUTCOME_REPAIR : OUTCOME_RETRY,
        .repair = repair,
        .workspace = repair ? WORKSPACE_PASSED_ON : WORKSPACE_REMOVED,
        .delay_ms = retry_backoff(f->failure, r->used[f->failure], random),
        .uses_retry = true,
        .at_tip = f->failure == FAILURE_CONFLICT,
    };
}

static struct failure_outcome give_up(const struct failure_facts *f, bool ends)
{
    bool left = !f->saved || f->keeps_workspaces || f->at_limit.workspace == WORKSPACE_PASSED_ON;
    return (struct failure_outcome){
        .kind = !ends && f->in_conflict && f->has_workspace ? OUTCOME_LEAVE_CONFLICT : OUTCOME_FAIL,
        .workspace = left ? WORKSPACE_LEFT : WORKSPACE_REMOVED,
    };
}

/* A retry needs the place of the workspace. If we cannot save that, a resume has to retry. */
struct failure_outcome failure_outcome(const struct failure_facts *f, const struct retries *r,
                                       uint32_t random)
{
    bool ends = f->run_ends || f->by_user;
    bool again = !ends && f->saved && !f->verification_broken;
    struct failure_outcome o = give_up(f, ends);
    if (again && f->at_limit.kind != OUTCOME_FAIL)
        o = f->at_limit;
    else if (again && retry_is_left(r, f->failure))
        o = choose_retry(f, r, random);
    o.drains = !f->by_user && r->plan->times[f->failure] == RETRY_STOP;
    return o;
}

void failure_drop_repair(struct failure_outcome *o)
{
    o->kind = OUTCOME_RETRY;
    o->repair = REPAIR_NONE;
    o->workspace = WORKSPACE_REMOVED;
}

enum outcome_kind failure_of_conflict(bool run_ends, bool in_conflict, const struct retries *r)
{
    if (!run_ends && retry_is_left(r, FAILURE_CONFLICT))
        return OUTCOME_RETRY;
    return in_conflict ? OUTCOME_FAIL : OUTCOME_LEAVE_CONFLICT;
}

#include "plan/engine/rules/request_rule.h"

#define F          FACT
#define IN         STATE_BIT
#define BEFORE_END STATES_BEFORE_END
#define ENDED      (~STATES_BEFORE_END)

static const struct decision_row stop_rules[] = {
    {ENDED, 0, 0, REQUEST_REFUSE, "'{id}' has already ended: it is {state}"},
    {0, F(ATTEMPT) | F(QUEUED), 0, REQUEST_STOP_LANDING,
     "'{id}' is asked to stop; its work is saved"},
    {0, F(ATTEMPT) | F(STOPPABLE), 0, REQUEST_STOP_AGENT,
     "'{id}' is asked to stop; its work is saved"},
    {0, F(ATTEMPT), 0, REQUEST_REFUSE, "'{id}' is about to end and can no longer be stopped"},
    {0, F(STARTED), 0, REQUEST_STOP_WAITING, "'{id}' is asked to stop; its work is saved"},
    {0, 0, 0, REQUEST_REFUSE,
     "'{id}' has not started; 'anabranch skip {id}' keeps it from starting"},
};

static const struct decision_row skip_rules[] = {
    {ENDED, 0, 0, REQUEST_REFUSE, "'{id}' has already ended: it is {state}"},
    {0, F(ATTEMPT), 0, REQUEST_REFUSE, "'{id}' is running; 'anabranch stop {id}' stops it"},
    {0, F(SESSION_WAITS), 0, REQUEST_REFUSE, "'{id}' is running; 'anabranch stop {id}' stops it"},
    {0, 0, 0, REQUEST_SKIP_TASK, "'{id}' is skipped, and so is every task that depends on it"},
};

/* A failed task may be retried, so it may still use its budget. */
static const struct decision_row budget_rules[] = {
    {IN(LANDED) | IN(DONE), 0, 0, REQUEST_REFUSE, "'{id}' has already ended: it is {state}"},
    {0, 0, 0, REQUEST_RAISE_BUDGET, "the budget of {id} is raised"},
};

static const struct decision_row retry_or_say_rules[] = {
    {BEFORE_END, F(SAY), F(STARTED), REQUEST_REFUSE,
     "'{id}' has not started: edit its prompt instead"},
    {IN(RUNNING), F(SAY) | F(WORKING), F(RESUMABLE), REQUEST_REFUSE,
     "'{id}' is running, and its engine accepts no messages"},
    {IN(RUNNING), F(SAY) | F(WORKING), F(SESSION), REQUEST_REFUSE,
     "'{id}' has just started, and its session is not known yet: try again in a moment"},
    {IN(RUNNING), F(SAY) | F(WORKING), 0, REQUEST_DELIVER_LATER,
     "the agent of '{id}' gets the message when it is done, before its work lands"},
    {BEFORE_END & ~(IN(RUNNING) - 1), F(SAY) | F(ATTEMPT), 0, REQUEST_REFUSE,
     "'{id}' is about to end: its agent is done; try again when it has ended"},
    {BEFORE_END, F(SAY) | F(STOPPED), 0, REQUEST_REFUSE,
     "'{id}' is about to end: its agent is done; try again when it has ended"},
    {BEFORE_END, F(SAY), 0, REQUEST_DELIVER_NEXT,
     "the agent of '{id}' gets the message when it continues"},

    {0, F(FOREIGN), 0, REQUEST_REFUSE,
     "only --resume of the tool that started this run retries its tasks"},

    {BEFORE_END, F(ATTEMPT), 0, REQUEST_REFUSE,
     "'{id}' is running; 'anabranch stop {id}' stops it first"},
    {BEFORE_END, F(LIMITED), 0, REQUEST_REFUSE,
     "'{id}' waits for a limit, and continues by itself"},
    {BEFORE_END, F(STARTED), 0, REQUEST_REFUSE, "'{id}' will be retried by itself"},
    {BEFORE_END, 0, 0, REQUEST_REFUSE, "'{id}' has not started: it waits for its turn"},

    {IN(LANDED), 0, 0, REQUEST_REFUSE,
     "'{id}' has landed; when the run has ended, 'anabranch say' resumes its agent"},
    {IN(DONE), 0, 0, REQUEST_REFUSE, "'{id}' is done; it can be retried when the run has ended"},
    {0, F(NEED_MISSING), 0, REQUEST_REFUSE,
     "'{id}' needs '{need}', which did not succeed; 'anabranch retry {need}' runs both"},
    {0, F(RUN_BUDGET_SPENT), 0, REQUEST_REFUSE,
     "the run's budget is used up; 'anabranch budget' raises it"},
    {0, F(TASK_BUDGET_SPENT), 0, REQUEST_REFUSE,
     "'{id}' has used up its budget; 'anabranch budget --task {id}' raises it"},
    {0, F(DRAINING), 0, REQUEST_REFUSE,
     "run {run} starts nothing more: '{id}' can be retried when it has ended"},
    {IN(CONFLICTED), F(IN_HISTORY), 0, REQUEST_REFUSE, "'{id}' has landed by another way"},
    {IN(CONFLICTED), F(WORKED_IN), 0, REQUEST_REFUSE, "'{id}' is being resolved in its workspace"},

    {0, F(SESSION), F(FRESH) | F(HALF), REQUEST_RESUME_SESSION, "'{id}' resumes its session"},
    {0, F(SAY), 0, REQUEST_REFUSE,
     "cannot send a message to '{id}': its agent has no session to resume; 'anabranch retry' "
     "starts it again"},
    {0, F(STARTED), 0, REQUEST_RESTART, "'{id}' starts again"},
    {0, 0, 0, REQUEST_RESTART, "'{id}' runs after all"},
};

static const struct decision_row after_run_rules[] = {
    {0, 0, F(STARTED), REQUEST_REFUSE,
     "task '{id}' has not started in run {run}; 'anabranch resume' resumes the run"},
    {0, F(SAY) | F(ABOUT_TO_LAND), 0, REQUEST_REFUSE,
     "task '{id}' was about to land when run {run} ended: run 'anabranch resume' first"},
    {0, F(LANDED), F(SAY), REQUEST_REFUSE,
     "task '{id}' has landed; 'anabranch say' resumes its agent"},
    {IN(CONFLICTED), F(WORKED_IN), 0, REQUEST_REFUSE,
     "task '{id}' is being resolved in its workspace"},
    {0, F(ABOUT_TO_LAND), 0, REQUEST_LAND, NULL},

    {0, F(SAY) | F(SESSION), F(FRESH) | F(REBOOTED) | F(HALF), REQUEST_RESUME_SESSION,
     "you sent its agent a message"},
    {0, F(SAY), 0, REQUEST_REFUSE,
     "cannot send a message to task '{id}': its agent has no session to resume; 'anabranch retry' "
     "starts it again"},
    {0, F(SESSION), F(FRESH) | F(REBOOTED) | F(HALF), REQUEST_RESUME_SESSION, "you retried it"},
    {0, F(REBOOTED), 0, REQUEST_RESTART, NULL},
    {0, 0, 0, REQUEST_RESTART, "you retried it"},
};

static bool decide_request(const struct decision_row *rules, enum request_kind kind,
                           enum task_state state, const struct facts *f,
                           struct request_verdict *ret, enum fact *ret_ask)
{
    struct facts all = *f;
    facts_set(&all, FACT_SAY, kind == REQUEST_SAY);
    const struct decision_row *r = decision_find(rules, state, &all, ret_ask);
    if (r)
        *ret = (struct request_verdict){.answer = (enum request_answer)r->verdict, .text = r->text};
    return r != NULL;
}

bool request_decide(enum request_kind kind, enum task_state state, const struct facts *f,
                    struct request_verdict *ret, enum fact *ret_ask)
{
    static const struct decision_row *const rules[] = {
        [REQUEST_STOP] = stop_rules,        [REQUEST_SKIP] = skip_rules,
        [REQUEST_BUDGET] = budget_rules,    [REQUEST_RETRY] = retry_or_say_rules,
        [REQUEST_SAY] = retry_or_say_rules,
    };
    return decide_request(rules[kind], kind, state, f, ret, ret_ask);
}

bool request_decide_after_run(enum request_kind kind, enum task_state state, const struct facts *f,
                              struct request_verdict *ret, enum fact *ret_ask)
{
    return decide_request(after_run_rules, kind, state, f, ret, ret_ask);
}

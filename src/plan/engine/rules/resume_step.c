#include "plan/engine/rules/resume_step.h"

#include <stddef.h>

#define F  FACT
#define IN STATE_BIT

const char *const resume_step_names[RESUME_STEP_COUNT_] = {
    [RESUME_NOT_WANTED] = "not wanted",
    [RESUME_KEEP] = "keep",
    [RESUME_FOUND] = "found",
    [RESUME_LAND] = "land",
    [RESUME_COMMIT] = "commit",
    [RESUME_CONTINUE] = "continue",
    [RESUME_RUN] = "run",
    [RESUME_LEAVE] = "leave",
};

/* A row without a text takes it from running_reasons. A user who configured a fallback wants it to
 * be used. */
static const struct decision_row step_rules[] = {
    {0, 0, F(WANTED), RESUME_NOT_WANTED, ""},
    {0, F(NEW), 0, RESUME_RUN, "it is new"},
    {0, F(LANDED) | F(CHANGED), 0, RESUME_RUN,
     "it was changed after it had landed: it runs again, on top"},
    {IN(LANDED), F(LANDED), 0, RESUME_KEEP, "it has landed"},
    {0, F(LANDED), 0, RESUME_FOUND, "it has landed"},
    {0, F(CHANGED), 0, RESUME_RUN, "it was changed"},
    {0, F(NEED_REDONE), 0, RESUME_RUN, "it needs '{need}', which runs again"},
    {IN(DONE), 0, 0, RESUME_KEEP, "it is done"},

    {IN(PREPARING), 0, 0, RESUME_RUN, "its workspace was being made"},

    {IN(RUNNING), F(SESSION_WAITS) | F(REBOOTED), F(REMADE), RESUME_RUN,
     "the machine was restarted while it was parked"},
    {IN(RUNNING), F(REBOOTED), F(REMADE), RESUME_RUN,
     "the machine was restarted while its agent was running"},
    {IN(RUNNING), F(SAME_ENGINE) | F(REMADE) | F(SESSION), F(FALLBACK), RESUME_CONTINUE, NULL},
    {IN(RUNNING), F(SAME_ENGINE) | F(WHOLE) | F(SESSION), F(FALLBACK), RESUME_CONTINUE, NULL},
    {IN(RUNNING), 0, 0, RESUME_RUN, NULL},

    {IN(COMMITTING), F(REBOOTED), 0, RESUME_RUN,
     "the machine was restarted before its work was committed"},
    {IN(COMMITTING), F(WHOLE), 0, RESUME_COMMIT, "its agent was done"},
    {IN(COMMITTING), 0, 0, RESUME_RUN, "its agent was done"},

    {IN(VERIFYING) | IN(LANDING), F(COMMIT_EXISTS), 0, RESUME_LAND, "it was about to land"},
    {IN(VERIFYING) | IN(LANDING), 0, 0, RESUME_RUN, "it was about to land"},

    {IN(FAILED), F(KEEP_FAILED), F(RESTARTED), RESUME_LEAVE, "it failed"},
    {IN(FAILED), F(UNVERIFIED) | F(COMMIT_EXISTS), F(RESTARTED), RESUME_LAND,
     "its verification could not start"},
    {IN(FAILED), 0, 0, RESUME_RUN, "it failed"},

    {IN(CONFLICTED), F(FOLLOWS_LANDING), F(COMMIT_EXISTS), RESUME_FOUND,
     "it has landed; its further work is gone"},
    {IN(CONFLICTED), 0, F(COMMIT_EXISTS), RESUME_RUN, "it was in conflict, and its commit is gone"},
    {IN(CONFLICTED), F(WORKED_IN), 0, RESUME_LEAVE, "it is being resolved in its workspace"},
    {IN(CONFLICTED), F(MERGES), 0, RESUME_LAND, "it was in conflict, and merges now"},
    {IN(CONFLICTED), 0, 0, RESUME_LEAVE, "it is still in conflict"},

    {IN(SKIPPED), 0, 0, RESUME_RUN, "it was skipped"},

    {0, F(STARTED), 0, RESUME_RUN, "it waited for another attempt"},
    {0, 0, 0, RESUME_RUN, "it had not started"},
};

static const struct decision_row running_reasons[] = {
    {0, F(MESSAGE), 0, 0, "its agent has a new message"},
    {0, F(REPAIR), 0, 0, "its agent was about to repair its work"},
    {0, F(SESSION_WAITS), 0, 0, "it was parked"},
    {0, 0, 0, 0, "its agent was running"},
};

bool resume_step_decide(enum task_state state, const struct facts *f, struct resume_verdict *ret,
                        enum fact *ret_ask)
{
    const struct decision_row *r = decision_find(step_rules, state, f, ret_ask);
    const struct decision_row *reason =
        r && !r->text ? decision_find(running_reasons, state, f, ret_ask) : r;
    if (!reason)
        return false;
    *ret = (struct resume_verdict){.step = (enum resume_step)r->verdict,
                                   .why = reason->text,
                                   .restarted = r->yes & F(REBOOTED)};
    return true;
}

bool resume_step_is_redone(const struct facts *f)
{
    return !(f->yes & F(NEW)) &&
           (f->yes & F(CHANGED) || (f->yes & F(NEED_REDONE) && !(f->yes & F(LANDED))));
}

static const struct decision_row start_rules[] = {
    {IN(CONFLICTED), 0, F(LANDED), SESSION_WITH_CONFLICT, NULL},
    {0, F(WHOLE) | F(LANDED) | F(HAS_COMMIT), 0, SESSION_ON_COMMIT, NULL},
    {0, F(WHOLE), 0, SESSION_AS_LEFT, NULL},
    {0, F(SALVAGED), F(LANDED), SESSION_ON_SALVAGE, NULL},
    {0, 0, 0, SESSION_ON_TIP, NULL},
};

bool session_start_decide(enum task_state state, const struct facts *f, enum session_start *ret,
                          enum fact *ret_ask)
{
    const struct decision_row *r = decision_find(start_rules, state, f, ret_ask);
    if (r)
        *ret = (enum session_start)r->verdict;
    return r != NULL;
}

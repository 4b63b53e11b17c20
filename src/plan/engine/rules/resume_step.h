/*
 * Decides where a task of a run that ended or died continues, from what its events, git and the
 * disk show.
 *
 * We never run or land a landed task again, unless the edited plan asks for something else under
 * its name: then it runs once more, on top.
 */
#ifndef PLAN_ENGINE_RULES_RESUME_STEP_H
#define PLAN_ENGINE_RULES_RESUME_STEP_H

#include "plan/engine/rules/decision.h"

enum resume_step {
    RESUME_NOT_WANTED, /* not part of this run */
    RESUME_KEEP,       /* landed or done */
    RESUME_FOUND,      /* landed, but its row does not say so: the engine died before it recorded
                        * that, or a person removed the further work */
    RESUME_LAND,       /* has a commit: land it */
    RESUME_COMMIT,     /* agent done: commit its work */
    RESUME_CONTINUE,   /* resume the agent's session in its workspace */
    RESUME_RUN,        /* start again */
    RESUME_LEAVE,      /* stays failed or in conflict */
    RESUME_STEP_COUNT_,
};

/* "keep", "found", "land", ...: as shown to users. */
extern const char *const resume_step_names[RESUME_STEP_COUNT_];

struct resume_verdict {
    enum resume_step step;
    const char *why; /* a text for decision_text() */
    bool restarted;  /* because the machine rebooted */
};

/* True if the facts suffice. Otherwise sets *ret_ask to the one that is missing. */
bool resume_step_decide(enum task_state state, const struct facts *f, struct resume_verdict *ret,
                        enum fact *ret_ask);

/* True if the task runs again because of an edit of the plan. Then so do the tasks that need it. */
bool resume_step_is_redone(const struct facts *f);

/* The place in which the session of an ended task continues. */
enum session_start {
    SESSION_AS_LEFT,       /* in its workspace */
    SESSION_ON_COMMIT,     /* in its workspace, on its commit: everything else of it has landed */
    SESSION_ON_SALVAGE,    /* in a new workspace with the salvaged work of its last attempt */
    SESSION_ON_TIP,        /* in a new workspace at the tip */
    SESSION_WITH_CONFLICT, /* at the tip, with its commit merged into it */
};

/* The same for *ret. */
bool session_start_decide(enum task_state state, const struct facts *f, enum session_start *ret,
                          enum fact *ret_ask);

#endif

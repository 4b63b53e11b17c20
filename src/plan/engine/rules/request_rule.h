/*
 * Decides what a person's request means for a task, in each state of the task, while its run goes
 * on and after it.
 *
 * We cannot interrupt a working agent: when it is done, before we commit its work, another attempt
 * resumes its session with the message. So verification follows that attempt.
 */
#ifndef PLAN_ENGINE_RULES_REQUEST_RULE_H
#define PLAN_ENGINE_RULES_REQUEST_RULE_H

#include "plan/engine/rules/decision.h"

enum request_kind {
    REQUEST_STOP,
    REQUEST_SKIP,
    REQUEST_BUDGET,
    REQUEST_RETRY,
    REQUEST_SAY,
};

enum request_answer {
    REQUEST_REFUSE,
    REQUEST_STOP_AGENT,   /* ask the agent of its attempt to end */
    REQUEST_STOP_LANDING, /* end the attempt, which waits to land */
    REQUEST_STOP_WAITING, /* end its wait for a limit or a retry */
    REQUEST_SKIP_TASK,
    REQUEST_RAISE_BUDGET,
    REQUEST_RESUME_SESSION,
    REQUEST_RESTART,
    REQUEST_DELIVER_LATER, /* keep the message until the agent is done */
    REQUEST_DELIVER_NEXT,  /* give the next attempt the message */
    REQUEST_LAND,          /* its work is done: only land it */
};

struct request_verdict {
    enum request_answer answer;
    const char *text; /* for decision_text(): what we do, or why not */
};

/* Both are true if the facts suffice. Otherwise they set *ret_ask to the one that is missing. */
bool request_decide(enum request_kind kind, enum task_state state, const struct facts *f,
                    struct request_verdict *ret, enum fact *ret_ask);

/* For a retry or a message after the run. The text is the reason for the resume; NULL: the reason
 * that the resume found. */
bool request_decide_after_run(enum request_kind kind, enum task_state state, const struct facts *f,
                              struct request_verdict *ret, enum fact *ret_ask);

#endif

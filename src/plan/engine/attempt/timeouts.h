/*
 * Decides when we stop an agent that takes too long: it exceeds its timeout, waits for its model or
 * for a person, or is silent. All times are monotonic ms, all durations ms.
 */
#ifndef PLAN_ENGINE_ATTEMPT_TIMEOUTS_H
#define PLAN_ENGINE_ATTEMPT_TIMEOUTS_H

#include "plan/engine/attempt/stop_reason.h"

#include <stdbool.h>
#include <stdint.h>

/* An agent at work. */
struct agent_wait {
    int64_t started, timeout;          /* timeout 0: none */
    int64_t last_output, idle_timeout; /* of the plan, or else of the engine; 0: none */
    int64_t plan_idle_timeout;         /* of the plan alone; 0 or less: none */
    bool tool_works;                   /* one of its tools is running */
    int64_t waits, again; /* it waits for its model since `waits`, until `again`; 0: it does not, or
                             it did not say */
    bool waits_on;        /* the engine reports a retry only when it has made it */
    bool asks;            /* it asks a person, and nobody has answered */
    int64_t asked;        /* when we first saw that question; 0: not yet */
    bool reported;        /* we have reported the question */
};

enum question_step {
    QUESTION_KEEP,   /* nothing changes */
    QUESTION_NOTE,   /* it is new: note the time */
    QUESTION_REPORT, /* it still has no answer: report it */
    QUESTION_FORGET, /* it has an answer */
};

struct timeouts_verdict {
    enum question_step question; /* do this first */
    enum stop_reason stop;       /* then stop the agent; STOP_NONE: let it work */
};

struct timeouts_verdict timeouts_judge(const struct agent_wait *w, int64_t now);

#endif

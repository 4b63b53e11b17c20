#include "plan/engine/attempt/timeouts.h"

#include <stddef.h>

/* STANDS_MS: we report a question only after this time, as most programs answer it at once if
 * nobody else can. ANSWER_MS: then we stop the agent after this time, unless the plan sets an idle
 * timeout. */
enum { STANDS_MS = 1000, ANSWER_MS = 60000 };

/* An agent may wait this long for its model. A longer wait is a limit, and a task that waits for a
 * limit holds no worker. */
enum { WAIT_MS = 2 * 60 * 1000 };

static bool is_limit(const struct agent_wait *w, int64_t now)
{
    if (!w->waits)
        return false;
    return w->again ? w->again - w->waits >= WAIT_MS : w->waits_on && now - w->waits >= WAIT_MS;
}

static enum question_step judge_question(const struct agent_wait *w, int64_t now)
{
    if (!w->asks)
        return w->asked ? QUESTION_FORGET : QUESTION_KEEP;
    if (!w->asked)
        return QUESTION_NOTE;
    return !w->reported && now - w->asked >= STANDS_MS ? QUESTION_REPORT : QUESTION_KEEP;
}

/* The first row that applies decides. An agent whose question we have reported is not idle. */
static enum stop_reason judge_wait(const struct agent_wait *w, bool reported, int64_t now)
{
    int64_t answer = w->plan_idle_timeout > 0 ? w->plan_idle_timeout : ANSWER_MS;
    const struct {
        bool applies;
        enum stop_reason stop;
    } judges[] = {
        {is_limit(w, now), STOP_LIMIT},
        {reported && now - w->asked >= answer, STOP_QUESTION},
        {reported || w->tool_works || w->idle_timeout <= 0, STOP_NONE},
        {now - w->last_output >= w->idle_timeout, STOP_IDLE},
        {true, STOP_NONE},
    };
    size_t i = 0;
    while (!judges[i].applies)
        i++;
    return judges[i].stop;
}

struct timeouts_verdict timeouts_judge(const struct agent_wait *w, int64_t now)
{
    if (w->timeout > 0 && now - w->started >= w->timeout)
        return (struct timeouts_verdict){.stop = STOP_TIMEOUT};
    enum question_step question = judge_question(w, now);
    bool reported = w->asks && (w->reported || question == QUESTION_REPORT);
    return (struct timeouts_verdict){question, judge_wait(w, reported, now)};
}

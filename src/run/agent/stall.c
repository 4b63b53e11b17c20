#include "run/agent/stall.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "plan/engine/attempt/timeouts.h"
#include "run/agent/progress.h"
#include "run/attempt/attempt.h"
#include "run/limits/lane.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "run/state/status.h"
#include "sys/clock.h"
#include "sys/guard/guard.h"

#include <string.h>

void stall_done(struct stall *s)
{
    free(s->question);
    free(s->limit);
    *s = (struct stall){0};
}

/* Finds the open question, or returns NULL. */
static const char *find_question(const struct agent_report *r)
{
    const struct tool_call *tool = tool_calls_last(&r->tools, true);
    return r->question.len ? r->question.s : tool ? tool->action : NULL;
}

/* The words of the agent without secrets and control characters. */
static char *make_safe(const struct attempt *attempt, const char *words)
{
    autobuf struct buf masked = BUF_INIT, safe = BUF_INIT;
    secrets_mask(&attempt->run->secrets, words, strlen(words), &masked);
    text_harmless(&safe, masked.s, masked.len);
    return buf_steal(&safe);
}

static void record_question(struct attempt *attempt, const char *question)
{
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    attempt->agent.stall.question = make_safe(attempt, question);
    node_put_string(&a, data, "question", attempt->agent.stall.question);
    record(attempt->run, EV_TASK_WAITING, attempt->task, data);
    arena_done(&a);
}

static void forget_question(struct attempt *attempt)
{
    struct stall *s = &attempt->agent.stall;
    if (s->question)
        progress_forget(attempt);
    free(s->question);
    s->question = NULL;
    s->asked = 0;
}

static void update_question(struct attempt *attempt, enum question_step step, int64_t now)
{
    switch (step) {
    case QUESTION_KEEP:
        return;
    case QUESTION_NOTE:
        attempt->agent.stall.asked = now;
        return;
    case QUESTION_REPORT:
        record_question(attempt, find_question(&attempt->agent.report));
        return;
    case QUESTION_FORGET:
        forget_question(attempt);
        return;
    }
}

/* Sets the reset in the report, for park_decide(). The lane closes at once: no other task must
 * start in it while this agent ends. */
static void stop_for_limit(struct attempt *attempt, int64_t now)
{
    struct agent_report *r = &attempt->agent.report;
    if (attempt->stopped)
        return;
    attempt->agent.stall.limit = make_safe(attempt, r->action.s);
    r->reset = r->again ? clock_wall() + r->again - now : r->reset;
    lane_close(attempt->run, attempt->task, r->reset, attempt->agent.stall.limit);
    attempt_stop(attempt, STOP_LIMIT, GUARD_STOP);
}

static struct agent_wait describe_wait(const struct attempt *attempt)
{
    const struct task *t = task_of(attempt);
    const struct agent_report *r = &attempt->agent.report;
    return (struct agent_wait){
        .started = attempt->agent.started,
        .timeout = t->timeout > 0 ? t->timeout : attempt->run->opts.timeout,
        .last_output = attempt->agent.last_output,
        .idle_timeout = run_idle_timeout(attempt->run, attempt->task),
        .plan_idle_timeout = t->idle_timeout,
        .tool_works = tool_calls_work(&r->tools),
        .waits = r->waits,
        .again = r->again,
        .waits_on = r->waits_on,
        .asks = find_question(r),
        .asked = attempt->agent.stall.asked,
        .reported = attempt->agent.stall.question,
    };
}

void stall_look(struct attempt *attempt)
{
    int64_t now = clock_mono();
    struct agent_wait wait = describe_wait(attempt);
    struct timeouts_verdict v = timeouts_judge(&wait, now);
    update_question(attempt, v.question, now);
    if (v.stop == STOP_LIMIT)
        stop_for_limit(attempt, now);
    else if (v.stop)
        attempt_stop(attempt, v.stop, GUARD_STOP);
}

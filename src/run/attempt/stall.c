#include "run/attempt/stall.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "run/attempt/progress.h"
#include "run/run_private.h"
#include "sys/clock.h"
#include "sys/guard/guard.h"

#include <string.h>

/* STANDS_MS: we report a question only after this time, as most programs answer it at once if
 * nobody else can. ANSWER_MS: then we stop the agent after this time, unless the plan sets an idle
 * timeout. */
enum { STANDS_MS = 1000, ANSWER_MS = 60000 };

/* An agent may wait this long for its model. A longer wait is a limit, and a task that waits for a
 * limit holds no worker. */
enum { WAIT_MS = 2 * 60 * 1000 };

void stall_done(struct stall *s)
{
    free(s->question);
    free(s->limit);
    *s = (struct stall){0};
}

int64_t stall_limit(const struct run *run, uint32_t task)
{
    int64_t own = run->pf->plan.tasks[task].idle_timeout;
    return own > 0 ? own : agent_idle(run_engine(run, task));
}

/* Finds the open question, or returns NULL. */
static const char *find_question(const struct agent_report *r)
{
    const struct tool_call *tool = tool_calls_last(&r->tools, true);
    return r->question.len ? r->question.s : tool ? tool->action : NULL;
}

static void record_question(struct attempt *attempt, const char *question)
{
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    autobuf struct buf masked = BUF_INIT, safe = BUF_INIT;
    secrets_mask(&attempt->run->secrets, question, strlen(question), &masked);
    text_harmless(&safe, masked.s, masked.len);
    attempt->stall.question = buf_steal(&safe);
    node_put_string(&a, data, "question", attempt->stall.question);
    record(attempt->run, EV_TASK_WAITING, attempt->task, data);
    arena_done(&a);
}

static void update_question(struct attempt *attempt, int64_t now)
{
    struct stall *s = &attempt->stall;
    const char *question = find_question(&attempt->report);
    if (!question) {
        if (s->question)
            progress_forget(attempt);
        free(s->question);
        s->question = NULL;
        s->asked = 0;
    } else if (!s->asked) {
        s->asked = now;
    } else if (!s->question && now - s->asked >= STANDS_MS) {
        record_question(attempt, question);
    }
}

bool stall_is_limit(int64_t waits, int64_t again, bool waits_on, int64_t now)
{
    if (!waits)
        return false;
    return again ? again - waits >= WAIT_MS : waits_on && now - waits >= WAIT_MS;
}

/* Sets the reset in the report, for park_decide(). */
static void stop_for_limit(struct attempt *attempt, int64_t now)
{
    struct agent_report *r = &attempt->report;
    if (attempt->stopped)
        return;
    attempt->stall.limit = mem_str(r->action.s);
    r->reset = r->again ? clock_wall() + r->again - now : r->reset;
    attempt_stop(attempt, STOP_LIMIT, GUARD_STOP);
}

void stall_look(struct attempt *attempt)
{
    int64_t now = clock_mono(), own = task_of(attempt)->idle_timeout;
    int64_t idle = stall_limit(attempt->run, attempt->task);
    update_question(attempt, now);
    const struct agent_report *r = &attempt->report;
    if (stall_is_limit(r->waits, r->again, r->waits_on, now)) {
        stop_for_limit(attempt, now);
    } else if (attempt->stall.question) {
        if (now - attempt->stall.asked >= (own > 0 ? own : ANSWER_MS))
            attempt_stop(attempt, STOP_QUESTION, GUARD_STOP);
    } else if (idle > 0 && now - attempt->last_output >= idle &&
               !tool_calls_work(&attempt->report.tools)) {
        attempt_stop(attempt, STOP_IDLE, GUARD_STOP);
    }
}

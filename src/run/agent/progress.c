#include "run/agent/progress.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "base/text/timestamp.h"
#include "run/agent/logs.h"
#include "run/attempt/attempt.h"
#include "run/limits/budget.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "sys/clock.h"

#include <string.h>

/* A tool call is long after LONG_MS. We report it again after AGAIN_MS, then each time its duration
 * has doubled. */
enum { LONG_MS = 5000, AGAIN_MS = 60000 };

void progress_done(struct progress *p)
{
    free(p->action);
    *p = (struct progress){0};
}

void progress_forget(struct attempt *attempt)
{
    progress_done(&attempt->agent.progress);
}

static void set_action(struct attempt *attempt, const char *action)
{
    struct task_run *tr = task_run(attempt);
    autobuf struct buf masked = BUF_INIT, safe = BUF_INIT;
    size_t len = strlen(action);
    struct secrets_cut cut = {.end = len >= DIALECT_TEXT_MAX};
    secrets_mask_cut(&attempt->run->secrets, action, len, cut, &masked);
    text_harmless(&safe, masked.s, masked.len);
    free(tr->action);
    tr->action = buf_steal(&safe);
    tr->status.action = tr->action;
}

static void put_until(struct arena *a, struct node *data, const struct agent_report *r)
{
    autobuf struct buf until = BUF_INIT;
    if (!r->again)
        return;
    timestamp_format(&until, clock_wall() + r->again - clock_mono());
    node_put_string(a, data, "until", until.s);
}

/* ms: duration of the tool call, so far or in total; below 0: do not report it. */
static void record_action(struct attempt *attempt, bool works, int64_t ms)
{
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    set_action(attempt, attempt->agent.progress.action);
    node_put_string(&a, data, "action", task_run(attempt)->action);
    if (ms >= 0) {
        node_put_bool(&a, data, "tool", works);
        node_put_int(&a, data, "ms", ms);
    } else {
        put_until(&a, data, &attempt->agent.report);
    }
    record(attempt->run, EV_TASK_ACTION, attempt->task, data);
    arena_done(&a);
}

static void record_new_action(struct attempt *attempt, const char *action, int64_t since)
{
    progress_done(&attempt->agent.progress);
    attempt->agent.progress =
        (struct progress){.action = mem_str(action), .since = since, .next = LONG_MS};
    record_action(attempt, true, -1);
}

/* A running tool call is the current action, even if the agent has printed something since. If the
 * agent waits for its model, that counts instead: a helper may be waiting too. */
static void update_action(struct attempt *attempt)
{
    struct progress *p = &attempt->agent.progress;
    const struct agent_report *r = &attempt->agent.report;
    int64_t now = clock_mono();
    const struct tool_call *tool = r->again > now ? NULL : tool_calls_last(&r->tools, false);
    const char *action = tool ? tool->action : r->action.s;
    int64_t since = tool ? tool->since : 0, ms = now - since;
    if (r->question.len || !*action) /* stall.c reports questions */
        return;
    bool same = p->action && strcmp(action, p->action) == 0;
    if (!same || (p->long_told && since && since != p->since)) {
        record_new_action(attempt, action, since);
    } else if (since && since != p->since) { /* the same action again, and neither was long */
        p->since = since;
        p->next = LONG_MS;
    } else if (since && ms >= p->next) {
        p->next = ms < AGAIN_MS ? AGAIN_MS : 2 * ms;
        p->long_told = true;
        record_action(attempt, true, ms);
    } else if (!since && p->long_told) {
        record_action(attempt, false, now - p->since);
        p->since = 0;
        p->long_told = false;
    }
}

void progress_tell(struct attempt *attempt, bool works)
{
    if (attempt->agent.report.changed)
        budget_take(attempt, works);
    attempt->agent.report.changed = false;
    update_action(attempt);
}

static void put_text(struct arena *a, struct node *data, const char *key, struct attempt *attempt,
                     const struct buf *text)
{
    autobuf struct buf shown = BUF_INIT;
    logs_shown(attempt->run, text->s, text->len, &shown);
    if (shown.len)
        buf_cut(&shown, shown.len - 1);
    node_put_string(a, data, key, shown.len ? shown.s : NULL);
}

static void put_outcome(struct arena *a, struct node *data, struct attempt *attempt)
{
    const struct agent_report *r = &attempt->agent.report;
    put_text(a, data, "session", attempt, &r->session);
    put_text(a, data, "model", attempt, &r->model);
    if (r->helpers) {
        node_put_int(a, data, "helpers", r->helpers);
        put_text(a, data, "helper_names", attempt, &r->helper_names);
    }
    if (r->denials) {
        node_put_int(a, data, "denials", r->denials);
        put_text(a, data, "denied", attempt, &r->denied);
    }
    if (r->finished)
        put_text(a, data, "result", attempt, &r->text);
}

void progress_tell_exit(struct attempt *attempt)
{
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    if (attempt->command.exit_signal)
        node_put_int(&a, data, "signal", attempt->command.exit_signal);
    else
        node_put_int(&a, data, "exit_code", attempt->command.exit_code);
    node_put_int(&a, data, "ms", clock_mono() - attempt->agent.started);
    put_outcome(&a, data, attempt);
    record(attempt->run, EV_TASK_EXITED, attempt->task, data);
    arena_done(&a);
}

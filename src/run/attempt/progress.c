#include "run/attempt/progress.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "base/text/timestamp.h"
#include "run/attempt/logs.h"
#include "run/limits/budget.h"
#include "run/run_private.h"
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

void progress_forget(struct attempt *job)
{
    progress_done(&job->progress);
}

static void set_action(struct attempt *job, const char *action)
{
    struct task_run *tr = task_run(job);
    autobuf struct buf masked = BUF_INIT, safe = BUF_INIT;
    size_t len = strlen(action);
    struct secrets_cut cut = {.end = len >= DIALECT_TEXT_MAX};
    secrets_mask_cut(&job->run->secrets, action, len, cut, &masked);
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
static void record_action(struct attempt *job, bool works, int64_t ms)
{
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    set_action(job, job->progress.action);
    node_put_string(&a, data, "action", task_run(job)->action);
    if (ms >= 0) {
        node_put_bool(&a, data, "tool", works);
        node_put_int(&a, data, "ms", ms);
    } else {
        put_until(&a, data, &job->report);
    }
    record(job->run, EV_TASK_ACTION, job->task, data);
    arena_done(&a);
}

static void record_new_action(struct attempt *job, const char *action, int64_t since)
{
    progress_done(&job->progress);
    job->progress = (struct progress){.action = mem_str(action), .since = since, .next = LONG_MS};
    record_action(job, true, -1);
}

/* A running tool call is the current action, even if the agent has printed something since. If the
 * agent waits for its model, that counts instead: a helper may be waiting too. */
static void update_action(struct attempt *job)
{
    struct progress *p = &job->progress;
    const struct agent_report *r = &job->report;
    int64_t now = clock_mono();
    const struct tool_call *tool = r->again > now ? NULL : tool_calls_last(&r->tools, false);
    const char *action = tool ? tool->action : r->action.s;
    int64_t since = tool ? tool->since : 0, ms = now - since;
    if (r->question.len || !*action) /* stall.c reports questions */
        return;
    bool same = p->action && strcmp(action, p->action) == 0;
    if (!same || (p->long_told && since && since != p->since)) {
        record_new_action(job, action, since);
    } else if (since && since != p->since) { /* the same action again, and neither was long */
        p->since = since;
        p->next = LONG_MS;
    } else if (since && ms >= p->next) {
        p->next = ms < AGAIN_MS ? AGAIN_MS : 2 * ms;
        p->long_told = true;
        record_action(job, true, ms);
    } else if (!since && p->long_told) {
        record_action(job, false, now - p->since);
        p->since = 0;
        p->long_told = false;
    }
}

void progress_tell(struct attempt *job, bool works)
{
    if (job->report.changed)
        budget_take(job, works);
    job->report.changed = false;
    update_action(job);
}

static void put_text(struct arena *a, struct node *data, const char *key, struct attempt *job,
                     const struct buf *text)
{
    autobuf struct buf shown = BUF_INIT;
    logs_shown(job->run, text->s, text->len, &shown);
    if (shown.len)
        buf_cut(&shown, shown.len - 1);
    node_put_string(a, data, key, shown.len ? shown.s : NULL);
}

static void put_outcome(struct arena *a, struct node *data, struct attempt *job)
{
    const struct agent_report *r = &job->report;
    put_text(a, data, "session", job, &r->session);
    put_text(a, data, "model", job, &r->model);
    if (r->helpers) {
        node_put_int(a, data, "helpers", r->helpers);
        put_text(a, data, "helper_names", job, &r->helper_names);
    }
    if (r->denials) {
        node_put_int(a, data, "denials", r->denials);
        put_text(a, data, "denied", job, &r->denied);
    }
    if (r->finished)
        put_text(a, data, "result", job, &r->text);
}

void progress_tell_exit(struct attempt *job)
{
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    if (job->exit_signal)
        node_put_int(&a, data, "signal", job->exit_signal);
    else
        node_put_int(&a, data, "exit_code", job->exit_code);
    node_put_int(&a, data, "ms", clock_mono() - job->agent_started);
    put_outcome(&a, data, job);
    record(job->run, EV_TASK_EXITED, job->task, data);
    arena_done(&a);
}

#include "view/event_lines.h"

#include "base/node/node_build.h"
#include "base/text/text.h"
#include "plan/failure.h"
#include "view/activity.h"
#include "view/limit_text.h"
#include "view/state_change_text.h"

#include <stdint.h>
#include <string.h>

static void add_field(struct buf *out, const struct event *ev, const char *key, const char *before)
{
    const char *value = node_get_string(ev->data, key, NULL);
    if (!value)
        return;
    buf_addstr(out, before);
    text_add_harmless(out, value);
}

static void add_commit(struct buf *out, const struct event *ev, const char *before)
{
    const char *commit = node_get_string(ev->data, "commit", NULL);
    if (commit)
        buf_addf(out, "%s%.10s", before, commit);
}

static void add_list(struct buf *out, const struct event *ev, const char *key)
{
    const struct node *list = node_get(ev->data, key);
    if (!list || list->kind != NODE_LIST)
        return;
    node_each (item, list) {
        buf_addstr(out, item == list->first ? ": " : ", ");
        text_add_harmless(out, item->text);
    }
}

static void add_action(struct buf *out, const struct event *ev)
{
    struct activity doing = {0};
    activity_take_action(&doing, ev->data, ev->time);
    activity_text(&doing, ev->time, SIZE_MAX, out);
    activity_done(&doing);
}

static void add_exit(struct buf *out, const struct event *ev)
{
    int64_t signal = node_get_int(ev->data, "signal", 0);
    if (signal)
        buf_addf(out, "agent ended by signal %lld after ", (long long)signal);
    else
        buf_addf(out, "agent ended with %lld after ",
                 (long long)node_get_int(ev->data, "exit_code", 0));
    text_format_duration(out, node_get_int(ev->data, "ms", 0));
    int64_t denials = node_get_int(ev->data, "denials", 0);
    if (denials)
        buf_addf(out, "; %lld tool%s denied", (long long)denials, denials == 1 ? "" : "s");
    if (denials)
        add_field(out, ev, "denied", ", last: ");
}

static void add_left_processes(struct buf *out, const struct event *ev)
{
    int64_t count = node_get_int(ev->data, "count", 0);
    buf_addf(out, "%lld process%s left behind", (long long)count, count == 1 ? "" : "es");
    add_list(out, ev, "processes");
}

static void add_retry(struct buf *out, const struct event *ev, const char *what)
{
    buf_addstr(out, what);
    text_format_duration(out, node_get_int(ev->data, "delay_ms", 0));
    add_field(out, ev, "class", ": ");
    add_field(out, ev, "reason", ": ");
}

static void add_retried(struct buf *out, const struct event *ev)
{
    if (node_get(ev->data, "fresh")) {
        buf_addstr(out, "restarted from scratch on request");
    } else if (node_get(ev->data, "session")) {
        add_field(out, ev, "class", "sent back to the agent: ");
        add_field(out, ev, "reason", ": ");
    } else {
        add_retry(out, ev,
                  node_get(ev->data, "fallback") ? "retry with the fallback in " : "retry in ");
    }
}

static void add_parked(struct buf *out, const struct event *ev)
{
    add_retry(out, ev, "parked, resumes in ");
}

static void add_change(struct buf *out, const struct event *ev)
{
    if (!state_change_text_is_change(ev->data)) {
        add_field(out, ev, "error", "");
        return;
    }
    size_t start = out->len;
    state_change_text_tasks(ev->data, out);
    buf_addstr(out, out->len > start ? ", " : "");
    buf_addstr(out, "outside its workspace: ");
    state_change_text(ev->data, out);
}

/* Files that were too large to save. */
static void add_unsaved_files(struct buf *out, const struct event *ev, bool follows)
{
    int64_t left = node_get_int(ev->data, "left_count", 0);
    if (!left)
        return;
    buf_addf(out, "%s%lld file%s not saved, ", follows ? ", " : "", (long long)left,
             left == 1 ? "" : "s");
    text_format_bytes(out, node_get_int(ev->data, "left_bytes", 0));
    add_list(out, ev, "left");
    add_field(out, ev, "workspace", ": they remain in ");
}

static void add_salvage(struct buf *out, const struct event *ev)
{
    int64_t dropped = node_get_int(ev->data, "dropped_count", 0);
    add_field(out, ev, "ref", "work saved as ");
    if (dropped)
        buf_addf(out, "%s%lld ignored not saved", node_get(ev->data, "ref") ? ", " : "",
                 (long long)dropped);
    if (dropped)
        add_list(out, ev, "dropped");
    add_unsaved_files(out, ev, node_get(ev->data, "ref") || dropped);
    add_field(out, ev, "error", "cannot save its work, the workspace stays: ");
}

/* `kept`: the ref with the commit while the base branch does not have it. */
static void add_landed(struct buf *out, const struct event *ev)
{
    bool unchanged = node_get(ev->data, "unchanged");
    add_commit(out, ev, unchanged ? "no further changes: landed as " : "landed as ");
    if (!node_get(ev->data, "kept")) {
        add_field(out, ev, "base", " on ");
        return;
    }
    add_field(out, ev, "kept", " on ");
    add_field(out, ev, "base", ", not yet on ");
}

static void add_failure(struct buf *out, const struct event *ev)
{
    const char *class = node_get_string(ev->data, "class", "");
    bool stopped = strcmp(class, failure_names[FAILURE_STOPPED]) == 0;
    buf_addstr(out, node_get(ev->data, "landed") ? "further work " : "");
    add_field(out, ev, "class", stopped ? "" : "failed: ");
    add_field(out, ev, "reason", ": ");
}

static void add_committed(struct buf *out, const struct event *ev)
{
    add_commit(out, ev, "committed ");
    add_field(out, ev, "note", ": ");
}

static void add_paths(struct buf *out, const struct event *ev)
{
    add_list(out, ev, "paths");
}

static void add_limit(struct buf *out, const struct event *ev)
{
    limit_text_data(ev->data, ev->time, out);
    add_field(out, ev, "reason", ": ");
}

static void add_limit_end(struct buf *out, const struct event *ev)
{
    add_field(out, ev, "engine", "");
    buf_addstr(out, ": limit is over");
}

static void add_workers(struct buf *out, const struct event *ev)
{
    buf_addf(out, "workers: %lld", (long long)node_get_int(ev->data, "workers", 0));
}

/* The line of each event: words, then fields of its data, then the rest. */
static const struct {
    const char *words;
    struct {
        const char *key, *before;
    } fields[2];
    void (*add)(struct buf *out, const struct event *ev);
    bool problem;
} rules[EV_COUNT_] = {
    [EV_TASK_STARTED] = {"started", {{"engine", " "}}},
    [EV_TASK_ACTION] = {.add = add_action},
    [EV_TASK_WAITING] = {.fields = {{"question", "waits for a person: "}}, .problem = true},
    [EV_TASK_EXITED] = {.add = add_exit},
    [EV_TASK_SWEPT] = {.add = add_left_processes},
    [EV_TASK_COMMITTED] = {.add = add_committed},
    [EV_TASK_VERIFIED] = {"verified"},
    [EV_TASK_LANDED] = {.add = add_landed},
    [EV_TASK_DONE] = {"done"},
    [EV_TASK_CONFLICTED] = {.fields = {{"files", "conflict: "}}, .problem = true},
    [EV_TASK_FAILED] = {.add = add_failure, .problem = true},
    [EV_TASK_SKIPPED] = {.fields = {{"reason", "skipped: "}}, .problem = true},
    [EV_TASK_UNSKIPPED] = {"no longer skipped"},
    [EV_TASK_SAID] = {.fields = {{"text", "message for its agent: "}}},
    [EV_TASK_RETRIED] = {.add = add_retried, .problem = true},
    [EV_TASK_CONTINUED] = {.fields = {{"text", "agent resumed: "}}},
    [EV_TASK_PARKED] = {.add = add_parked},
    [EV_TASK_SALVAGED] = {.add = add_salvage},
    [EV_TASK_STOPPING] = {"stopping on request"},
    [EV_SCOPE_VIOLATED] = {"changed paths that it does not own", .add = add_paths, .problem = true},
    [EV_GIT_STATE_CHANGED] = {.add = add_change},
    [EV_LIMIT_OPENED] = {.add = add_limit},
    [EV_LIMIT_CLOSED] = {.add = add_limit_end},
    [EV_NOTIFY_FAILED] = {"warning: notification failed",
                          {{"to", " by "}, {"reason", ": "}},
                          .problem = true},
    [EV_BUDGET_WARNED] = {.fields = {{"text", "most of the budget is used: "}}},
    [EV_BUDGET_EXCEEDED] = {.fields = {{"text", "budget exceeded: "}}},
    [EV_BUDGET_RAISED] = {"budget raised"},
    [EV_RUN_PAUSED] = {"paused: no more tasks start"},
    [EV_RUN_WORKERS] = {.add = add_workers},
    [EV_RUN_RESUMED] = {"continued: tasks start again"},
};

/* A running tool is shown again after a minute, but not its end. The command prints that a process
 * resumed the run. */
static bool is_left_out(const struct event *ev)
{
    enum { LONG_MS = 60000 };
    const struct node *tool = ev->kind == EV_TASK_ACTION ? node_get(ev->data, "tool") : NULL;
    return (tool && (!tool->truth || node_get_int(ev->data, "ms", 0) < LONG_MS)) ||
           (ev->kind == EV_RUN_RESUMED && node_get(ev->data, "steps"));
}

bool event_text(const struct event *ev, struct buf *out)
{
    const char *words = rules[ev->kind].words;
    if (is_left_out(ev))
        return false;
    buf_addstr(out, words ? words : "");
    for (size_t i = 0; i < 2 && rules[ev->kind].fields[i].key; i++)
        add_field(out, ev, rules[ev->kind].fields[i].key, rules[ev->kind].fields[i].before);
    if (rules[ev->kind].add)
        rules[ev->kind].add(out, ev);
    return words || rules[ev->kind].fields[0].key || rules[ev->kind].add;
}

void event_line(const struct event *ev, int64_t run_started, bool quiet, struct buf *out)
{
    size_t start = out->len;
    int64_t s = (ev->time - run_started) / 1000;
    if (quiet && !rules[ev->kind].problem)
        return;
    buf_addf(out, "%02lld:%02lld:%02lld  %-12s  ", (long long)(s / 3600), (long long)(s / 60 % 60),
             (long long)(s % 60), ev->task ? ev->task : "");
    if (event_text(ev, out))
        buf_addch(out, '\n');
    else
        buf_cut(out, start);
}

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

/* Shows a running tool again after a minute, but not its end. */
static bool add_action(struct buf *out, const struct event *ev)
{
    enum { LONG_MS = 60000 };
    const struct node *tool = node_get(ev->data, "tool");
    struct activity doing = {0};
    if (tool && (!tool->truth || node_get_int(ev->data, "ms", 0) < LONG_MS))
        return false;
    activity_take_action(&doing, ev->data, ev->time);
    activity_text(&doing, ev->time, SIZE_MAX, out);
    activity_done(&doing);
    return true;
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

bool event_text(const struct event *ev, struct buf *out)
{
    switch (ev->kind) {
    case EV_TASK_STARTED:
        buf_addstr(out, "started");
        add_field(out, ev, "engine", " ");
        return true;
    case EV_TASK_ACTION:
        return add_action(out, ev);
    case EV_TASK_WAITING:
        add_field(out, ev, "question", "waits for a person: ");
        return true;
    case EV_TASK_EXITED:
        add_exit(out, ev);
        return true;
    case EV_TASK_SWEPT:
        add_left_processes(out, ev);
        return true;
    case EV_TASK_COMMITTED:
        add_commit(out, ev, "committed ");
        add_field(out, ev, "note", ": ");
        return true;
    case EV_TASK_VERIFIED:
        buf_addstr(out, "verified");
        return true;
    case EV_TASK_LANDED:
        add_landed(out, ev);
        return true;
    case EV_TASK_DONE:
        buf_addstr(out, "done");
        return true;
    case EV_TASK_CONFLICTED:
        add_field(out, ev, "files", "conflict: ");
        return true;
    case EV_TASK_FAILED:
        add_failure(out, ev);
        return true;
    case EV_TASK_SKIPPED:
        add_field(out, ev, "reason", "skipped: ");
        return true;
    case EV_TASK_UNSKIPPED:
        buf_addstr(out, "no longer skipped");
        return true;
    case EV_TASK_SAID:
        add_field(out, ev, "text", "message for its agent: ");
        return true;
    case EV_TASK_RETRIED:
        if (node_get(ev->data, "fresh")) {
            buf_addstr(out, "restarted from scratch on request");
        } else if (node_get(ev->data, "session")) {
            add_field(out, ev, "class", "sent back to the agent: ");
            add_field(out, ev, "reason", ": ");
        } else {
            add_retry(out, ev,
                      node_get(ev->data, "fallback") ? "retry with the fallback in " : "retry in ");
        }
        return true;
    case EV_TASK_CONTINUED:
        add_field(out, ev, "text", "agent resumed: ");
        return true;
    case EV_TASK_PARKED:
        add_retry(out, ev, "parked, resumes in ");
        return true;
    case EV_TASK_SALVAGED:
        add_salvage(out, ev);
        add_field(out, ev, "error", "cannot save its work, the workspace stays: ");
        return true;
    case EV_SCOPE_VIOLATED:
        buf_addstr(out, "changed paths that it does not own");
        add_list(out, ev, "paths");
        return true;
    case EV_GIT_STATE_CHANGED:
        add_change(out, ev);
        return true;
    case EV_LIMIT_OPENED:
        limit_text_data(ev->data, ev->time, out);
        add_field(out, ev, "reason", ": ");
        return true;
    case EV_LIMIT_CLOSED:
        add_field(out, ev, "engine", "");
        buf_addstr(out, ": limit is over");
        return true;
    case EV_NOTIFY_FAILED:
        buf_addstr(out, "warning: notification failed");
        add_field(out, ev, "to", " by ");
        add_field(out, ev, "reason", ": ");
        return true;
    case EV_BUDGET_WARNED:
        add_field(out, ev, "text", "most of the budget is used: ");
        return true;
    case EV_BUDGET_EXCEEDED:
        add_field(out, ev, "text", "budget exceeded: ");
        return true;
    case EV_BUDGET_RAISED:
        buf_addstr(out, "budget raised");
        return true;
    case EV_RUN_PAUSED:
        buf_addstr(out, "paused: no more tasks start");
        return true;
    case EV_RUN_WORKERS:
        buf_addf(out, "workers: %lld", (long long)node_get_int(ev->data, "workers", 0));
        return true;
    case EV_TASK_STOPPING:
        buf_addstr(out, "stopping on request");
        return true;
    case EV_RUN_RESUMED:
        if (node_get(ev->data, "steps")) /* a resumed process; the command prints it */
            break;
        buf_addstr(out, "continued: tasks start again");
        return true;
    case EV_RUN_STARTED:
    case EV_RUN_FINISHED:
    case EV_TASK_READY:
    case EV_TASK_PREPARING:
    case EV_TASK_USAGE:
    case EV_WORKSPACE_CREATED:
    case EV_WORKSPACE_REMOVED:
    case EV_PARALLEL_START:
    case EV_PARALLEL_STREAMS_DONE:
    case EV_PARALLEL_COMPLETE:
    case EV_PARALLEL_FAIL:
    case EV_PARALLEL_MERGE_CONFLICT:
    case EV_COUNT_:
        break;
    }
    return false;
}

static bool is_problem(enum event_kind kind)
{
    return kind == EV_TASK_FAILED || kind == EV_TASK_CONFLICTED || kind == EV_TASK_SKIPPED ||
           kind == EV_SCOPE_VIOLATED || kind == EV_TASK_RETRIED || kind == EV_NOTIFY_FAILED ||
           kind == EV_TASK_WAITING;
}

void event_line(const struct event *ev, int64_t run_started, bool quiet, struct buf *out)
{
    size_t start = out->len;
    int64_t s = (ev->time - run_started) / 1000;
    if (quiet && !is_problem(ev->kind))
        return;
    buf_addf(out, "%02lld:%02lld:%02lld  %-12s  ", (long long)(s / 3600), (long long)(s / 60 % 60),
             (long long)(s % 60), ev->task ? ev->task : "");
    if (event_text(ev, out))
        buf_addch(out, '\n');
    else
        buf_cut(out, start);
}

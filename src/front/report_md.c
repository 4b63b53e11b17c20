#include "front/report.h"

#include "base/clock.h"
#include "base/text.h"
#include "front/shared_text.h"

#include <string.h>

/* One line, of which no character is taken for markup, a cell's end or HTML. */
static void add_safe(struct buf *out, const char *s)
{
    autobuf struct buf line = BUF_INIT;
    text_harmless(&line, s, strlen(s));
    for (const char *c = line.s; *c; c++) {
        if (strchr("\\`*_{}[]<>()#+!|~&$@", *c))
            buf_addch(out, '\\');
        buf_addch(out, *c);
    }
}

static void add_commit(struct buf *out, const char *commit)
{
    if (commit)
        buf_addf(out, "%.10s", commit);
}

static void add_tokens(struct buf *out, bool known, int64_t in, int64_t tokens_out)
{
    if (!known) {
        buf_addstr(out, "unknown");
        return;
    }
    text_format_count(out, in);
    buf_addstr(out, " / ");
    text_format_count(out, tokens_out);
}

static void add_usd(struct buf *out, double usd)
{
    if (usd >= 0)
        buf_addf(out, "$%.4f", usd);
    else
        buf_addstr(out, "unknown");
}

static void add_row(const struct report_task *t, struct buf *out)
{
    const struct store_task *row = &t->row;
    buf_addstr(out, "| ");
    add_safe(out, row->id);
    buf_addstr(out, " | ");
    add_safe(out, row->title ? row->title : "");
    buf_addf(out, " | %s | %s | %d | ", row->engine, row->state, row->attempts);
    if (t->duration >= 0)
        text_format_duration(out, t->duration);
    buf_addstr(out, " | ");
    add_commit(out, row->landed ? row->landed : row->commit);
    buf_addstr(out, " | ");
    if (report_task_ran(t))
        add_tokens(out, report_task_knows_tokens(t), row->tokens_in, row->tokens_out);
    buf_addstr(out, " | ");
    if (report_task_ran(t))
        add_usd(out, row->usd);
    buf_addstr(out, " | ");
    if (row->failure)
        buf_addf(out, "%s: ", row->failure);
    add_safe(out,
             row->reason && t->end != REPORT_LANDED && t->end != REPORT_DONE ? row->reason : "");
    buf_addstr(out, " |\n");
}

static void add_item(struct buf *out, const char *label, const char *value)
{
    if (!value)
        return;
    buf_addf(out, "- %s: ", label);
    add_safe(out, value);
    buf_addch(out, '\n');
}

static void add_time(struct buf *out, const char *label, int64_t time)
{
    autobuf struct buf text = BUF_INIT;
    if (time)
        clock_format(&text, time);
    add_item(out, label, time ? text.s : NULL);
}

static void add_run(const struct report *r, struct buf *out)
{
    const struct store_run *row = &r->row;
    buf_addstr(out, "# ");
    add_safe(out, row->name ? row->name : row->id);
    buf_addstr(out, "\n\n");
    add_item(out, "Run", row->id);
    add_item(out, "Plan", row->plan);
    add_item(out, "State", row->state);
    if (row->finished)
        buf_addf(out, "- Exit code: %d\n", row->exit_code);
    add_item(out, "Base", row->base);
    add_item(out, "Base commit", row->base_commit);
    add_item(out, "Result", row->tip);
    add_time(out, "Started", row->started);
    add_time(out, "Finished", row->finished);
    buf_addstr(out, "- Duration: ");
    text_format_duration(out, r->duration > 0 ? r->duration : 0);
    buf_addstr(out, "\n- Tokens in / out: ");
    add_tokens(out, r->tokens_in > 0 || r->tokens_out > 0, r->tokens_in, r->tokens_out);
    buf_addstr(out, "\n- Cost: ");
    add_usd(out, r->usd);
    if (r->unpriced && r->usd >= 0)
        buf_addf(out, ", and that of %zu more task%s", r->unpriced, r->unpriced == 1 ? "" : "s");
    buf_addch(out, '\n');
    add_item(out, "Logs", r->logs);
}

/* Indented code takes any text as it is. */
static void add_code(struct buf *out, const char *text)
{
    while (*text) {
        size_t len = strcspn(text, "\n");
        buf_addf(out, "    %.*s\n", (int)len, text);
        text += len + (text[len] == '\n');
    }
}

static void add_failure(const struct report_task *t, struct buf *out)
{
    const struct store_task *row = &t->row;
    buf_addstr(out, "\n## ");
    add_safe(out, row->id);
    buf_addstr(out, "\n\n");
    add_item(out, "State", row->state);
    add_item(out, "Failure", row->failure);
    add_item(out, "Reason", row->reason);
    if (report_task_ran(t))
        buf_addf(out, "- Exit code: %d\n", row->exit_code);
    add_item(out, "Branch", row->branch);
    add_item(out, "Workspace", row->workspace);
    add_item(out, "Logs", t->logs);
    if (t->output) {
        buf_addstr(out, "\nThe end of its output:\n\n");
        add_code(out, t->output);
    }
}

static void add_changes(const struct report *r, struct buf *out)
{
    if (r->changes.n)
        buf_addstr(out, "\n## Changed outside the workspaces\n\n");
    for (size_t i = 0; i < r->changes.n; i++) {
        const struct report_change *c = &r->changes.v[i];
        autobuf struct buf who = BUF_INIT, text = BUF_INIT;
        if (c->task)
            buf_addstr(&who, c->task);
        else
            shared_text_tasks(c->data, &who);
        shared_text(c->data, &text);
        add_item(out, who.s, text.s);
    }
}

void report_md(const struct report *r, struct buf *out)
{
    add_run(r, out);
    buf_addf(out,
             "\n%zu landed, %zu done, %zu failed, %zu conflicted, %zu skipped, %zu unfinished\n\n",
             r->ends[REPORT_LANDED], r->ends[REPORT_DONE], r->ends[REPORT_FAILED],
             r->ends[REPORT_CONFLICTED], r->ends[REPORT_SKIPPED], r->ends[REPORT_UNFINISHED]);
    buf_addstr(out,
               "| Task | Title | Engine | State | Attempts | Duration | Commit | Tokens in / out "
               "| Cost | Failure |\n|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < r->n; i++)
        add_row(&r->tasks[i], out);
    for (size_t i = 0; i < r->n; i++) {
        if (r->tasks[i].end == REPORT_FAILED || r->tasks[i].end == REPORT_CONFLICTED)
            add_failure(&r->tasks[i], out);
    }
    add_changes(r, out);
}

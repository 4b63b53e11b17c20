#include "view/report/summary.h"

#include "base/text/text.h"
#include "git/git.h"
#include "plan/failure.h"
#include "sys/clock.h"
#include "view/state_change_text.h"

#include <string.h>

enum { ACTIVITY_COLUMNS = 100 }; /* columns */

static bool is_stopped(const struct report_task *t)
{
    return t->end == REPORT_FAILED && t->row.failure &&
           strcmp(t->row.failure, failure_names[FAILURE_STOPPED]) == 0;
}

static void add_reason(const struct report_task *t, struct buf *out)
{
    bool further = report_task_failed_after_landing(t);
    if ((report_task_is_well(t) && !further) || !t->row.reason)
        return;
    buf_addstr(out, "  ");
    if (t->end == REPORT_FAILED && t->row.failure && !is_stopped(t))
        buf_addf(out, "%s: ", t->row.failure);
    size_t start = out->len;
    if (further)
        report_task_add_further_work(t, out);
    else
        text_add_harmless(out, t->row.reason);
    buf_cut(out, start + text_fit(out->s + start, out->len - start, 300));
}

static void add_task(const struct report_task *t, size_t width, struct buf *out)
{
    const struct store_task *row = &t->row;
    buf_addstr(out, "  ");
    size_t start = out->len;
    text_add_harmless(out, row->id);
    text_pad(out, start, width);
    buf_addf(out, "  %-11s  %10.10s  ", is_stopped(t) ? "stopped" : row->state,
             row->landed && t->end == REPORT_LANDED ? row->landed
             : row->commit                          ? row->commit
                                                    : "");
    start = out->len;
    if (t->duration >= 0)
        text_format_duration(out, t->duration);
    text_pad(out, start, 8);
    if (row->attempts > 1)
        buf_addf(out, "  %d attempts", row->attempts);
    add_reason(t, out);
    if (row->landed && t->end != REPORT_LANDED)
        buf_addf(out, "  landed before as %.10s", row->landed);
    if (t->doing.action) {
        buf_addstr(out, "  ");
        activity_text(&t->doing, clock_wall(), ACTIVITY_COLUMNS, out);
    }
    while (out->len && out->s[out->len - 1] == ' ')
        buf_cut(out, out->len - 1);
    buf_addch(out, '\n');
}

void summary_counts(const struct report *r, struct buf *out)
{
    size_t shown = 0;
    for (size_t i = 0; i < REPORT_END_COUNT_; i++) {
        if (r->ends[i])
            buf_addf(out, "%s%zu %s", shown++ ? ", " : "", r->ends[i], report_end_words[i]);
    }
}

static void add_output(const struct report_task *t, struct buf *out)
{
    if ((t->end != REPORT_FAILED && !report_task_failed_after_landing(t)) || !t->output)
        return;
    buf_addf(out, "\nLast output of %s", t->row.id);
    if (t->logs) {
        text_addf(out, ", from %s", t->logs);
        buf_addf(out, "/%d", t->row.attempts);
    }
    buf_addstr(out, ":\n");
    for (const char *line = t->output; *line;) {
        size_t len = strcspn(line, "\n");
        buf_addf(out, "  %.*s\n", (int)len, line);
        line += len + (line[len] == '\n');
    }
}

static void add_conflict(const struct report *r, const struct report_task *t, struct buf *out)
{
    if (t->end != REPORT_CONFLICTED)
        return;
    if (!t->row.branch) {
        buf_addf(out, "\nThe branch of %s is gone; if its work is saved, this shows it:\n",
                 t->row.id);
        buf_addf(out, "  anabranch salvage show %s/%s\n", t->row.run, t->row.id);
        return;
    }
    buf_addf(out, "\nTo resolve %s by hand:\n", t->row.id);
    buf_addstr(out, "  ");
    merge_place_add(&r->merge_place, t->row.branch, out);
    buf_addch(out, '\n');
    if (t->row.workspace) {
        text_addf(out, "Its workspace is %s", t->row.workspace);
        buf_addch(out, '\n');
    }
}

/* One line for all if there are several. */
static void add_salvaged(const struct report *r, struct buf *out)
{
    const struct report_task *last = NULL;
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++) {
        bool saved = report_task_is_saved(&r->tasks[i]);
        n += saved;
        last = saved ? &r->tasks[i] : last;
    }
    if (n == 1)
        buf_addf(out, "\nThe work of %s is saved:\n  anabranch salvage show %s/%s/%d\n",
                 last->row.id, r->row.id, last->row.id, last->salvaged);
    else if (n > 1)
        buf_addf(out, "\nThe work of %zu failed tasks is saved:\n  anabranch salvage\n", n);
}

static void add_kept(const struct report_task *t, struct buf *out)
{
    if (t->end == REPORT_CONFLICTED || t->end == REPORT_UNFINISHED || !t->row.workspace)
        return;
    text_addf(out, "Workspace of %s: %s", t->row.id, t->row.workspace);
    buf_addch(out, '\n');
}

static void add_changes(const struct report *r, struct buf *out)
{
    if (r->changes.n)
        buf_addstr(out, "\nChanged outside the workspaces while these tasks ran, by them or by "
                        "someone else:\n");
    for (size_t i = 0; i < r->changes.n; i++) {
        const struct report_change *c = &r->changes.v[i];
        buf_addstr(out, "  ");
        if (c->task)
            text_add_harmless(out, c->task);
        else
            state_change_text_tasks(c->data, out);
        buf_addstr(out, ": ");
        state_change_text(c->data, out);
        buf_addch(out, '\n');
    }
}

void summary_result(const struct run_result *result, const char *base, struct buf *out)
{
    if (!result->published && result->result)
        buf_addf(out, "\nYour checkout of %s could not follow. All landed work is on %s:\n  %s\n%s",
                 base, result->result, result->advice, result->refusal ? result->refusal : "");
}

void summary_kept(const struct report *r, struct buf *out)
{
    if (!r->kept)
        return;
    const char *name = git_short_name(r->kept);
    buf_addf(out, "\n%s does not have all landed work; it is on %s\n  ", r->row.base, name);
    merge_place_add_result(&r->merge_place, name, out);
    buf_addch(out, '\n');
}

void summary(const struct report *r, bool quiet, struct buf *out)
{
    size_t width = 4;
    for (size_t i = 0; i < r->n; i++) {
        size_t own = text_width(r->tasks[i].row.id, strlen(r->tasks[i].row.id));
        width = own > width ? own : width;
    }
    for (size_t i = 0; i < r->n; i++) {
        if (!quiet || !report_task_is_well(&r->tasks[i]))
            add_task(&r->tasks[i], width, out);
    }
    size_t before = out->len;
    summary_counts(r, out);
    buf_addstr(out, out->len > before ? "\n" : "nothing was done\n");
    for (size_t i = 0; i < r->n; i++)
        add_output(&r->tasks[i], out);
    for (size_t i = 0; i < r->n; i++)
        add_conflict(r, &r->tasks[i], out);
    add_salvaged(r, out);
    for (size_t i = 0; i < r->n; i++)
        add_kept(&r->tasks[i], out);
    add_changes(r, out);
    if (!r->logs)
        return;
    text_addf(out, "Logs: %s", r->logs);
    buf_addch(out, '\n');
}

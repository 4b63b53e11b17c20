#include "view/report/html.h"

#include "base/text/text.h"
#include "view/report/html_escape.h"

#include <inttypes.h>
#include <string.h>

/* The report is opened in browsers and sent by mail, so each part has a limit, and so has the
 * whole. */
enum {
    DIFF_MAX = 64 << 10,
    DIFFS_MAX = 8 << 20,
    LOG_MAX = 8 << 10,
    LOGS_MAX = 4 << 20,
    PATHS_MAX = 50,
};

struct page {
    struct report_details *m;
    struct buf *out;
    size_t diffs_left, logs_left;
};

static void add_lines(struct buf *out, const char *s, size_t len)
{
    while (len) {
        const char *lf = memchr(s, '\n', len);
        size_t n = lf ? (size_t)(lf - s) : len;
        html_code(out, s, n);
        buf_addch(out, '\n');
        s += n + (lf != NULL);
        len -= n + (lf != NULL);
    }
}

enum fact_kind { FACT_TEXT, FACT_CODE, FACT_PATH };

/* Paths are on lines of their own, because they are long. */
static void add_fact(struct buf *out, enum fact_kind kind, const char *label, const char *value)
{
    const char *class = kind == FACT_PATH ? " class=\"wide\"" : "";
    if (!value)
        return;
    buf_addf(out, "<dt%s>%s</dt><dd%s>%s", class, label, class, kind ? "<code>" : "");
    html_text(out, value);
    buf_addf(out, "%s</dd>\n", kind ? "</code>" : "");
}

static void add_dependencies(const struct report_details *m, const struct report_life *l,
                             struct buf *out)
{
    if (!l->dependencies.n)
        return;
    buf_addstr(out, "<dt>Depends on</dt><dd>");
    for (size_t i = 0; i < l->dependencies.n; i++) {
        buf_addstr(out, i ? ", " : "");
        report_html_link(out, &m->r->tasks[l->dependencies.v[i]]);
    }
    buf_addstr(out, "</dd>\n");
}

static void add_owns(const struct report_life *l, struct buf *out)
{
    size_t n = l->task ? l->task->owns.n : 0;
    if (!n)
        return;
    buf_addstr(out, "<dt>Owns</dt><dd>");
    for (size_t i = 0; i < n && i < PATHS_MAX; i++) {
        buf_addstr(out, i ? " <code>" : "<code>");
        html_text(out, l->task->owns.v[i].text);
        buf_addstr(out, "</code>");
    }
    if (n > PATHS_MAX)
        buf_addf(out, " and %zu more", n - PATHS_MAX);
    buf_addstr(out, "</dd>\n");
}

static void add_tokens(const struct report_task *t, struct buf *out)
{
    if (!report_task_knows_tokens(t))
        return;
    buf_addstr(out, "<dt>Tokens</dt><dd>");
    text_format_count(out, t->row.tokens_in);
    buf_addstr(out, " read, ");
    text_format_count(out, t->row.tokens_out);
    buf_addstr(out, " written</dd>\n");
}

static void add_started(const struct report_task *t, struct buf *out)
{
    if (!t->row.started)
        return;
    buf_addstr(out, "<dt>Started</dt><dd>");
    report_html_time(out, t->row.started);
    buf_addstr(out, "</dd>\n");
}

static void add_facts(const struct report_details *m, const struct report_task *t, struct buf *out)
{
    const struct store_task *row = &t->row;
    const struct report_life *l = report_life(m, t);
    buf_addstr(out, "<dl>\n");
    add_fact(out, FACT_TEXT, "Engine", row->engine);
    add_fact(out, FACT_TEXT, "Model", l->task ? l->task->model : NULL);
    add_started(t, out);
    if (report_task_ran(t) && t->end != REPORT_UNFINISHED)
        buf_addf(out, "<dt>Exit code</dt><dd>%d</dd>\n", row->exit_code);
    add_tokens(t, out);
    add_dependencies(m, l, out);
    add_owns(l, out);
    add_fact(out, FACT_CODE, "Start commit", row->start_commit);
    add_fact(out, FACT_CODE, "Commit", row->commit);
    add_fact(out, FACT_CODE, "Landed as", row->landed);
    add_fact(out, FACT_PATH, "Branch", row->branch);
    add_fact(out, FACT_PATH, "Workspace", row->workspace);
    add_fact(out, FACT_PATH, "Logs", t->logs);
    buf_addstr(out, "</dl>\n");
}

static void add_paths(struct buf *out, const char *label, const char *const *paths, size_t n)
{
    if (!n)
        return;
    buf_addf(out, "<p>%s</p>\n<pre class=\"wrap\">", label);
    for (size_t i = 0; i < n && i < PATHS_MAX; i++) {
        html_text(out, paths[i]);
        buf_addch(out, '\n');
    }
    if (n > PATHS_MAX)
        buf_addf(out, "and %zu more\n", n - PATHS_MAX);
    buf_addstr(out, "</pre>\n");
}

static void add_resolve(const struct report *r, const struct report_task *t, struct buf *out)
{
    autobuf struct buf line = BUF_INIT;
    if (t->end != REPORT_CONFLICTED || !t->row.branch)
        return;
    merge_place_add(&r->merge_place, t->row.branch, &line);
    html_wrap(out, "<p>To resolve it by hand: <code>", line.s, "</code></p>\n");
}

static void add_why(const struct report_details *m, const struct report_task *t, struct buf *out)
{
    const struct report_life *l = report_life(m, t);
    bool further = report_task_failed_after_landing(t);
    bool has_reason = (!report_task_is_well(t) && (t->row.reason || t->output)) || further;
    if (!has_reason && !l->outside_paths.n)
        return;
    buf_addf(out, "<div class=\"why %s\">\n",
             further      ? report_end_names[REPORT_FAILED]
             : has_reason ? report_end_names[t->end]
                          : "conflicted");
    if (has_reason) {
        buf_addstr(out, "<p>");
        report_html_reason(t, out);
        buf_addstr(out, "</p>\n");
    }
    add_paths(out, "Changed outside its paths:", l->outside_paths.v, l->outside_paths.n);
    add_paths(out, "In conflict:", l->conflicts.v,
              t->end == REPORT_CONFLICTED ? l->conflicts.n : 0);
    add_resolve(m->r, t, out);
    if (has_reason && t->output) {
        buf_addstr(out, "<p class=\"soft\">The end of its output:</p>\n<pre class=\"wrap\">");
        add_lines(out, t->output, strlen(t->output));
        buf_addstr(out, "</pre>\n");
    }
    if (report_task_is_saved(t))
        buf_addf(out, "<p>Its work is saved: <code>anabranch salvage show %s/%s/%d</code></p>\n",
                 m->r->row.id, t->row.id, t->salvaged);
    buf_addstr(out, "</div>\n");
}

/* *in: we are inside a hunk, where no line is a header. */
static const char *get_line_class(const char *line, size_t len, bool *in_hunk)
{
    if (len >= 5 && memcmp(line, "diff ", 5) == 0) {
        *in_hunk = false;
        return "f";
    }
    *in_hunk = *in_hunk || *line == '@';
    if (!*in_hunk || *line == '@')
        return "h";
    return *line == '+' ? "a" : *line == '-' ? "d" : "";
}

static void add_patch(struct buf *out, const char *s, size_t len)
{
    bool in_hunk = false;
    while (len) {
        const char *lf = memchr(s, '\n', len);
        size_t n = lf ? (size_t)(lf - s) : len;
        const char *class = n ? get_line_class(s, n, &in_hunk) : "";
        buf_addf(out, *class ? "<span class=\"%s\">" : "<span>", class);
        html_code(out, s, n);
        buf_addstr(out, "\n</span>");
        s += n + (lf != NULL);
        len -= n + (lf != NULL);
    }
}

static void add_command(struct buf *out, const char *verb, const struct page *p,
                        const struct report_task *t)
{
    buf_addf(out, "<code>anabranch %s --run ", verb);
    html_text(out, p->m->r->row.id);
    buf_addch(out, ' ');
    html_text(out, t->row.id);
    buf_addstr(out, "</code>");
}

static void add_diff(const struct page *p, const struct report_task *t,
                     const struct report_part *part)
{
    struct buf *out = p->out;
    if (!part->diff.files && !part->wrong)
        return;
    buf_addf(
        out, "<details><summary>Diff: %zu file%s, +%" PRId64 " \xe2\x88\x92%" PRId64 "</summary>\n",
        part->diff.files, part->diff.files == 1 ? "" : "s", part->diff.added, part->diff.removed);
    if (part->text.len) {
        buf_addstr(out, "<pre class=\"diff\">");
        add_patch(out, part->text.s, part->text.len);
        buf_addstr(out, "</pre>\n");
    }
    if (part->cut) {
        buf_addstr(out, "<p class=\"cut\">Cut here. For all of it: ");
        add_command(out, "diff", p, t);
        buf_addstr(out, "</p>\n");
    }
    if (part->wrong)
        buf_addf(out, "<p class=\"cut\">%s</p>\n", part->wrong);
    buf_addstr(out, "</details>\n");
}

static void add_left_out(const struct page *p, const struct report_task *t, const char *what,
                         const char *verb)
{
    buf_addf(p->out, "<p class=\"cut\">%s is left out, to keep this file small: ", what);
    add_command(p->out, verb, p, t);
    buf_addstr(p->out, "</p>\n");
}

static void add_log(struct page *p, const struct report_task *t)
{
    autopart struct report_part part = {.text = BUF_INIT};
    struct buf *out = p->out;
    if (!p->logs_left) {
        add_left_out(p, t, "Its log", "logs");
        return;
    }
    report_details_log(p->m, t, p->logs_left < LOG_MAX ? p->logs_left : LOG_MAX, &part);
    p->logs_left -= part.text.len < p->logs_left ? part.text.len : p->logs_left;
    if (!part.text.len && !part.wrong)
        return;
    buf_addf(out, "<details><summary>%s</summary>\n", part.cut ? "The end of its log" : "Log");
    if (part.cut) {
        buf_addstr(out, "<p class=\"cut\">The start is cut. For all of it: ");
        add_command(out, "logs", p, t);
        buf_addstr(out, "</p>\n");
    }
    if (part.text.len) {
        buf_addstr(out, "<pre class=\"wrap\">");
        add_lines(out, part.text.s, part.text.len);
        buf_addstr(out, "</pre>\n");
    }
    if (part.wrong)
        buf_addf(out, "<p class=\"cut\">%s</p>\n", part.wrong);
    buf_addstr(out, "</details>\n");
}

static void add_summary(const struct page *p, const struct report_task *t,
                        const struct report_part *diff)
{
    struct buf *out = p->out;
    html_wrap(out, "<summary><span class=\"row\"><span class=\"id\">", t->row.id,
              "</span><span class=\"name\">");
    html_text(out, t->row.title ? t->row.title : "");
    html_wrap(out, "</span><span class=\"state\">", t->row.state, "</span><span>");
    if (t->row.attempts)
        buf_addf(out, "%d", t->row.attempts);
    buf_addstr(out, "</span><span>");
    if (t->duration >= 0)
        text_format_duration(out, t->duration);
    buf_addstr(out, "</span><span>");
    if (diff->diff.files)
        buf_addf(out, "+%" PRId64 " \xe2\x88\x92%" PRId64, diff->diff.added, diff->diff.removed);
    buf_addstr(out, "</span><span>");
    if (t->row.usd >= 0)
        report_html_usd(out, t->row.usd);
    buf_addstr(out, "</span></span></summary>\n");
}

static void add_task(struct page *p, const struct report_task *t)
{
    autopart struct report_part diff = {.text = BUF_INIT};
    bool bad = t->end == REPORT_FAILED || t->end == REPORT_CONFLICTED;
    bool full = !p->diffs_left;
    if (!full)
        report_details_diff(p->m, t, p->diffs_left < DIFF_MAX ? p->diffs_left : DIFF_MAX, &diff);
    p->diffs_left -= diff.text.len < p->diffs_left ? diff.text.len : p->diffs_left;
    buf_addf(p->out, "<details class=\"task %s\"%s>", report_end_names[t->end], bad ? " open" : "");
    add_summary(p, t, &diff);
    buf_addstr(p->out,
               "<div class=\"body\" id=\"task-"); /* so that a link to the task opens its details */
    html_text(p->out, t->row.id);
    buf_addstr(p->out, "\">\n");
    add_why(p->m, t, p->out);
    add_facts(p->m, t, p->out);
    if (full && (t->row.commit || t->salvaged))
        add_left_out(p, t, "Its diff", "diff");
    add_diff(p, t, &diff);
    if (report_task_ran(t))
        add_log(p, t);
    buf_addstr(p->out, "</div></details>\n");
}

void report_html_tasks(struct report_details *m, struct buf *out)
{
    struct page p = {.m = m, .out = out, .diffs_left = DIFFS_MAX, .logs_left = LOGS_MAX};
    buf_addstr(out,
               "<section id=\"tasks\"><h2>Tasks</h2>\n<div class=\"row heads\"><span>Task</span>"
               "<span>Title</span><span>State</span><span>Attempts</span><span>Time</span>"
               "<span>Lines</span><span>Cost</span></div>\n");
    for (size_t i = 0; i < m->r->n; i++)
        add_task(&p, &m->r->tasks[i]);
    buf_addstr(out, "</section>\n");
}

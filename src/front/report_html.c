#include "front/report_html.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/shell.h"
#include "base/text.h"
#include "front/html.h"
#include "front/shared_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A report is opened in a browser and sent by mail: each part has its limit, and so have all
 * together. */
enum {
    DIFF_MAX = 64 << 10,
    DIFFS_MAX = 8 << 20,
    LOG_MAX = 8 << 10,
    LOGS_MAX = 4 << 20,
    PATHS_MAX = 50,
    COSTLY = 10,
};

/* front/report.css, put into the program when it is built. */
extern const unsigned char report_css[];
extern const size_t report_css_len;

struct page {
    struct report_more *m;
    struct buf *out;
    size_t diffs_left, logs_left;
};

const char *const report_html_ends[REPORT_END_COUNT_] = {
    [REPORT_LANDED] = "landed",   [REPORT_DONE] = "done",
    [REPORT_FAILED] = "failed",   [REPORT_CONFLICTED] = "conflicted",
    [REPORT_SKIPPED] = "skipped", [REPORT_UNFINISHED] = "unfinished",
};

static const char *const end_words[REPORT_END_COUNT_] = {
    [REPORT_LANDED] = "landed",   [REPORT_DONE] = "done",
    [REPORT_FAILED] = "failed",   [REPORT_CONFLICTED] = "in conflict",
    [REPORT_SKIPPED] = "skipped", [REPORT_UNFINISHED] = "unfinished",
};

void report_html_link(struct buf *out, const struct report_task *t)
{
    buf_addstr(out, "<a href=\"#task-");
    html_text(out, t->row.id);
    buf_addstr(out, "\">");
    html_text(out, t->row.id);
    buf_addstr(out, "</a>");
}

/* --- words -------------------------------------------------------------------------------- */

static void add_time(struct buf *out, int64_t time)
{
    autobuf struct buf text = BUF_INIT;
    clock_format(&text, time);
    size_t date = strcspn(text.s, "T");
    buf_addf(out, "<time datetime=\"%s\">%.*s %.8s UTC</time>", text.s, (int)date, text.s,
             text.len > date ? text.s + date + 1 : "");
}

static void add_usd(struct buf *out, double usd)
{
    buf_addf(out, usd >= 0.1 ? "$%.2f" : "$%.4f", usd);
}

static void add_short(struct buf *out, const char *commit)
{
    buf_addf(out, "<code>%.10s</code>", commit);
}

static bool went_well(const struct report_task *t)
{
    return t->end == REPORT_LANDED || t->end == REPORT_DONE;
}

/* Lines in a <pre>, each an element of its own where it has a class. */
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

/* --- the run ------------------------------------------------------------------------------ */

static void add_head(const struct report *r, struct buf *out)
{
    const char *name = r->row.name ? r->row.name : r->row.id;
    buf_addstr(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                    "style-src 'unsafe-inline'\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                    "<meta name=\"referrer\" content=\"no-referrer\">\n<title>");
    html_text(out, name);
    buf_addstr(out, "</title>\n<style>\n");
    buf_add(out, report_css, report_css_len);
    buf_addstr(out, "</style>\n</head>\n<body>\n<header>\n<h1>");
    html_text(out, name);
    buf_addstr(out, "</h1>\n");
}

static void add_run(const struct report *r, struct buf *out)
{
    const struct store_run *row = &r->row;
    bool well = !r->ends[REPORT_FAILED] && !r->ends[REPORT_CONFLICTED] && row->exit_code == 0;
    buf_addf(out, "<p><span class=\"state %s\">",
             report_is_running(r) ? "unfinished"
             : well               ? "landed"
                                  : "failed");
    html_text(out, row->state);
    buf_addstr(out, "</span>");
    if (row->finished)
        buf_addf(out, " <span class=\"soft\">with exit code</span> %d", row->exit_code);
    buf_addstr(out, " <span class=\"soft\">\302\267 run</span> <code>");
    html_text(out, row->id);
    buf_addstr(out, "</code>");
    if (row->plan) {
        buf_addstr(out, " <span class=\"soft\">of</span> <code>");
        html_text(out, row->plan);
        buf_addstr(out, "</code>");
    }
    buf_addstr(out, " <span class=\"soft\">\302\267 begun</span> ");
    add_time(out, row->started);
    if (row->base) {
        buf_addstr(out, " <span class=\"soft\">\302\267 onto</span> <code>");
        html_text(out, row->base);
        buf_addstr(out, "</code>");
    }
    if (row->base_commit && row->tip && strcmp(row->base_commit, row->tip) != 0) {
        buf_addstr(out, " <span class=\"soft\">from</span> ");
        add_short(out, row->base_commit);
        buf_addstr(out, " <span class=\"soft\">to</span> ");
        add_short(out, row->tip);
    }
    buf_addstr(out, "</p>\n");
}

static void add_figure(struct buf *out, const char *value, const char *word)
{
    buf_addf(out, "<li><b>%s</b>%s</li>\n", value, word);
}

static void add_spent(const struct report *r, struct buf *out)
{
    autobuf struct buf time = BUF_INIT, in = BUF_INIT, made = BUF_INIT, usd = BUF_INIT;
    text_format_duration(&time, r->duration > 0 ? r->duration : 0);
    add_figure(out, time.s, "time");
    if (r->tokens_in || r->tokens_out) {
        text_format_count(&in, r->tokens_in);
        text_format_count(&made, r->tokens_out);
        add_figure(out, in.s, "tokens read");
        add_figure(out, made.s, "tokens written");
    }
    if (r->usd < 0)
        return;
    add_usd(&usd, r->usd);
    buf_addf(out, "<li><b>%s%s</b>cost", usd.s, r->unpriced ? "+" : "");
    if (r->unpriced)
        buf_addf(out, ", that of %zu task%s unknown", r->unpriced, r->unpriced == 1 ? "" : "s");
    if (r->prices)
        buf_addf(out, ", reckoned with prices of %s", r->prices);
    buf_addstr(out, "</li>\n");
}

static void add_figures(const struct report *r, struct buf *out)
{
    buf_addstr(out, "<ul class=\"figures\">\n");
    for (size_t i = 0; i < REPORT_END_COUNT_; i++) {
        if (r->ends[i])
            buf_addf(out, "<li class=\"%s\"><b>%zu</b>%s</li>\n", report_html_ends[i], r->ends[i],
                     end_words[i]);
    }
    add_spent(r, out);
    buf_addstr(out, "</ul>\n<div class=\"share\" aria-hidden=\"true\">");
    for (size_t i = 0; i < REPORT_END_COUNT_; i++) {
        if (r->ends[i])
            buf_addf(out, "<span class=\"%s\" style=\"flex:%zu\"></span>", report_html_ends[i],
                     r->ends[i]);
    }
    buf_addstr(out, "</div>\n</header>\n");
}

/* --- what a person should look at --------------------------------------------------------- */

static void add_reason(const struct report_task *t, struct buf *out)
{
    if (t->row.failure && t->end == REPORT_FAILED) {
        buf_addstr(out, "<b>");
        html_text(out, t->row.failure);
        buf_addstr(out, "</b>: ");
    }
    html_text(out, t->row.reason ? t->row.reason : t->row.state);
}

static void add_changes(const struct report *r, struct buf *out)
{
    for (size_t i = 0; i < r->changes.n; i++) {
        const struct report_change *c = &r->changes.v[i];
        autobuf struct buf who = BUF_INIT, text = BUF_INIT;
        if (c->task)
            buf_addstr(&who, c->task);
        else
            shared_text_tasks(c->data, &who);
        shared_text(c->data, &text);
        buf_addstr(out, "<li class=\"conflicted\">Changed outside the workspaces, ");
        html_text(out, who.s);
        buf_addstr(out, ": ");
        html_text(out, text.s);
        buf_addstr(out, "</li>\n");
    }
}

/* Also those that strayed and were only warned. */
static bool needs_a_look(const struct report_more *m, const struct report_task *t)
{
    return t->end == REPORT_FAILED || t->end == REPORT_CONFLICTED ||
           (went_well(t) && report_life(m, t)->strays.n);
}

static void add_cause(const struct report_more *m, const struct report_task *t, struct buf *out)
{
    size_t strays = report_life(m, t)->strays.n;
    buf_addf(out, "<li class=\"%s\">", went_well(t) ? "conflicted" : report_html_ends[t->end]);
    report_html_link(out, t);
    buf_addch(out, ' ');
    if (went_well(t))
        buf_addf(out, "changed %zu path%s that it does not own, and landed all the same", strays,
                 strays == 1 ? "" : "s");
    else
        add_reason(t, out);
    buf_addstr(out, "</li>\n");
}

static void add_look(const struct report_more *m, struct buf *out)
{
    const struct report *r = m->r;
    size_t n = r->changes.n;
    for (size_t i = 0; i < r->n; i++)
        n += needs_a_look(m, &r->tasks[i]);
    if (!n)
        return;
    buf_addstr(out, "<section id=\"look\"><h2>Needs a look</h2>\n<ul class=\"look\">\n");
    for (size_t i = 0; i < r->n; i++) {
        if (needs_a_look(m, &r->tasks[i]))
            add_cause(m, &r->tasks[i], out);
    }
    add_changes(r, out);
    buf_addstr(out, "</ul></section>\n");
}

/* --- costs -------------------------------------------------------------------------------- */

static void add_counts(struct buf *out, const int64_t *counts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        buf_addstr(out, "<td>");
        text_format_count(out, counts[i]);
        buf_addstr(out, "</td>");
    }
}

static void add_money(struct buf *out, const struct report_spending *s)
{
    buf_addstr(out, "<td>");
    if (s->unpriced == s->attempts)
        buf_addstr(out, "unknown");
    else
        add_usd(out, s->usd);
    buf_addf(out, "%s</td></tr>\n", s->unpriced && s->unpriced < s->attempts ? "+" : "");
}

static void add_spending(const struct report_more *m, struct buf *out)
{
    struct report_spending all = {0};
    buf_addstr(out, "<div class=\"tables\"><table><thead><tr><th>Engine</th><th class=\"left\">"
                    "Model</th><th>Attempts</th><th>Read</th><th>Written</th><th>From cache</th>"
                    "<th>Into cache</th><th>Cost</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < m->spending.n; i++) {
        const struct report_spending *s = &m->spending.v[i];
        const int64_t counts[] = {s->attempts, s->tokens_in, s->tokens_out, s->cache_read,
                                  s->cache_made};
        buf_addstr(out, "<tr><td>");
        html_text(out, s->engine);
        buf_addstr(out, "</td><td class=\"left\">");
        html_text(out, s->model ? s->model : "not told");
        buf_addstr(out, "</td>");
        add_counts(out, counts, 5);
        add_money(out, s);
        all.attempts += s->attempts;
        all.tokens_in += s->tokens_in;
        all.tokens_out += s->tokens_out;
        all.cache_read += s->cache_read;
        all.cache_made += s->cache_made;
        all.usd += s->usd;
        all.unpriced += s->unpriced;
    }
    buf_addstr(out, "</tbody>");
    if (m->spending.n > 1) {
        const int64_t counts[] = {all.attempts, all.tokens_in, all.tokens_out, all.cache_read,
                                  all.cache_made};
        buf_addstr(out, "<tfoot><tr><td colspan=\"2\">In all</td>");
        add_counts(out, counts, 5);
        add_money(out, &all);
        buf_addstr(out, "</tfoot>");
    }
    buf_addstr(out, "</table></div>\n");
}

static double weight(const struct report_task *t)
{
    return t->row.usd > 0 ? t->row.usd : 0;
}

static int by_weight(const void *a, const void *b)
{
    const struct report_task *x = *(const struct report_task *const *)a;
    const struct report_task *y = *(const struct report_task *const *)b;
    if (weight(x) != weight(y))
        return weight(x) > weight(y) ? -1 : 1;
    return x < y ? -1 : x > y;
}

static void add_costly(const struct report *r, struct buf *out)
{
    autofree const struct report_task **list = mem_array(r->n + 1, sizeof(const void *));
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++) {
        if (weight(&r->tasks[i]) > 0)
            list[n++] = &r->tasks[i];
    }
    if (n < 2)
        return;
    qsort(list, n, sizeof(const void *), by_weight);
    size_t shown = n > COSTLY ? COSTLY : n;
    buf_addf(out,
             "<div class=\"tables\"><table><thead><tr><th>%s</th><th></th><th>Read</th>"
             "<th>Written</th><th>Cost</th></tr></thead><tbody>\n",
             n > COSTLY ? "The ten costliest tasks" : "Task");
    for (size_t i = 0; i < shown; i++) {
        const int64_t counts[] = {list[i]->row.tokens_in, list[i]->row.tokens_out};
        buf_addstr(out, "<tr><td>");
        report_html_link(out, list[i]);
        buf_addf(out, "</td><td class=\"bar\"><span style=\"width:%.1f%%\"></span></td>",
                 100 * weight(list[i]) / weight(list[0]));
        add_counts(out, counts, 2);
        buf_addstr(out, "<td>");
        add_usd(out, weight(list[i]));
        buf_addstr(out, "</td></tr>\n");
    }
    buf_addstr(out, "</tbody></table></div>\n");
}

static void add_costs(const struct report_more *m, struct buf *out)
{
    if (!m->spending.n)
        return;
    buf_addstr(out, "<section id=\"costs\"><h2>Costs</h2>\n");
    add_spending(m, out);
    add_costly(m->r, out);
    buf_addstr(out, "</section>\n");
}

/* --- a task ------------------------------------------------------------------------------- */

static void add_fact(struct buf *out, const char *label, const char *value)
{
    if (!value)
        return;
    buf_addf(out, "<dt>%s</dt><dd>", label);
    html_text(out, value);
    buf_addstr(out, "</dd>\n");
}

static void add_code_fact(struct buf *out, const char *label, const char *value)
{
    if (!value)
        return;
    buf_addf(out, "<dt>%s</dt><dd><code>", label);
    html_text(out, value);
    buf_addstr(out, "</code></dd>\n");
}

/* A line of its own: paths are long. */
static void add_path_fact(struct buf *out, const char *label, const char *value)
{
    if (!value)
        return;
    buf_addf(out, "<dt class=\"wide\">%s</dt><dd class=\"wide\"><code>", label);
    html_text(out, value);
    buf_addstr(out, "</code></dd>\n");
}

static void add_needs(const struct report_more *m, const struct report_life *l, struct buf *out)
{
    if (!l->needs.n)
        return;
    buf_addstr(out, "<dt>Waited for</dt><dd>");
    for (size_t i = 0; i < l->needs.n; i++) {
        buf_addstr(out, i ? ", " : "");
        report_html_link(out, &m->r->tasks[l->needs.v[i]]);
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

static void add_began(const struct report_task *t, struct buf *out)
{
    if (!t->row.started)
        return;
    buf_addstr(out, "<dt>Begun</dt><dd>");
    add_time(out, t->row.started);
    buf_addstr(out, "</dd>\n");
}

static void add_facts(const struct report_more *m, const struct report_task *t, struct buf *out)
{
    const struct store_task *row = &t->row;
    const struct report_life *l = report_life(m, t);
    buf_addstr(out, "<dl>\n");
    add_fact(out, "Engine", row->engine);
    add_fact(out, "Model", l->task ? l->task->model : NULL);
    add_began(t, out);
    if (report_task_ran(t) && t->end != REPORT_UNFINISHED)
        buf_addf(out, "<dt>Exit code</dt><dd>%d</dd>\n", row->exit_code);
    add_tokens(t, out);
    add_needs(m, l, out);
    add_owns(l, out);
    add_code_fact(out, "Began with", row->start_commit);
    add_code_fact(out, "Commit", row->commit);
    add_code_fact(out, "Landed as", row->landed);
    add_path_fact(out, "Branch", row->branch);
    add_path_fact(out, "Workspace", row->workspace);
    add_path_fact(out, "Logs", t->logs);
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
    shell_add(&line, "git switch", r->row.base ? r->row.base : "", NULL);
    shell_add(&line, " && git merge", t->row.branch, NULL);
    buf_addstr(out, "<p>To resolve it by hand: <code>");
    html_text(out, line.s);
    buf_addstr(out, "</code></p>\n");
}

static void add_why(const struct report_more *m, const struct report_task *t, struct buf *out)
{
    const struct report_life *l = report_life(m, t);
    bool told = !went_well(t) && (t->row.reason || t->output);
    if (!told && !l->strays.n)
        return;
    buf_addf(out, "<div class=\"why %s\">\n", told ? report_html_ends[t->end] : "conflicted");
    if (told) {
        buf_addstr(out, "<p>");
        add_reason(t, out);
        buf_addstr(out, "</p>\n");
    }
    add_paths(out, "Changed, and not its own:", l->strays.v, l->strays.n);
    add_paths(out, "In conflict:", l->conflicts.v,
              t->end == REPORT_CONFLICTED ? l->conflicts.n : 0);
    add_resolve(m->r, t, out);
    if (told && t->output) {
        buf_addstr(out, "<p class=\"soft\">The end of its output:</p>\n<pre class=\"wrap\">");
        add_lines(out, t->output, strlen(t->output));
        buf_addstr(out, "</pre>\n");
    }
    if (t->salvaged && t->end == REPORT_FAILED)
        buf_addf(out,
                 "<p>What it had done is saved: <code>anabranch salvage show %s/%s/%d</code></p>\n",
                 m->r->row.id, t->row.id, t->salvaged);
    buf_addstr(out, "</div>\n");
}

/* --- its diff and its log ----------------------------------------------------------------- */

/* *in: whether lines of the file have begun, of which none begins like a header. */
static const char *class_of(const char *line, size_t len, bool *in)
{
    if (len >= 5 && memcmp(line, "diff ", 5) == 0) {
        *in = false;
        return "f";
    }
    *in = *in || *line == '@';
    if (!*in || *line == '@')
        return "h";
    return *line == '+' ? "a" : *line == '-' ? "d" : "";
}

static void add_patch(struct buf *out, const char *s, size_t len)
{
    bool in = false;
    while (len) {
        const char *lf = memchr(s, '\n', len);
        size_t n = lf ? (size_t)(lf - s) : len;
        const char *class = n ? class_of(s, n, &in) : "";
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
        buf_addstr(out, "<p class=\"cut\">It is longer than is shown here. All of it: ");
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
    report_more_log(p->m, t, p->logs_left < LOG_MAX ? p->logs_left : LOG_MAX, &part);
    p->logs_left -= part.text.len < p->logs_left ? part.text.len : p->logs_left;
    if (!part.text.len && !part.wrong)
        return;
    buf_addf(out, "<details><summary>%s</summary>\n", part.cut ? "The end of its log" : "Log");
    if (part.cut) {
        buf_addstr(out, "<p class=\"cut\">It began earlier. All of it: ");
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

/* --- all tasks ---------------------------------------------------------------------------- */

static void add_summary(const struct page *p, const struct report_task *t,
                        const struct report_part *diff)
{
    struct buf *out = p->out;
    buf_addstr(out, "<summary><span class=\"row\"><span class=\"id\">");
    html_text(out, t->row.id);
    buf_addstr(out, "</span><span class=\"name\">");
    html_text(out, t->row.title ? t->row.title : "");
    buf_addstr(out, "</span><span class=\"state\">");
    html_text(out, t->row.state);
    buf_addstr(out, "</span><span>");
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
        add_usd(out, t->row.usd);
    buf_addstr(out, "</span></span></summary>\n");
}

static void add_task(struct page *p, const struct report_task *t)
{
    autopart struct report_part diff = {.text = BUF_INIT};
    bool bad = t->end == REPORT_FAILED || t->end == REPORT_CONFLICTED;
    bool full = !p->diffs_left;
    if (!full)
        report_more_diff(p->m, t, p->diffs_left < DIFF_MAX ? p->diffs_left : DIFF_MAX, &diff);
    p->diffs_left -= diff.text.len < p->diffs_left ? diff.text.len : p->diffs_left;
    buf_addf(p->out, "<details class=\"task %s\"%s>", report_html_ends[t->end], bad ? " open" : "");
    add_summary(p, t, &diff);
    buf_addstr(p->out, "<div class=\"body\" id=\"task-"); /* a link to what is inside opens it */
    html_text(p->out, t->row.id);
    buf_addstr(p->out, "\">\n");
    add_why(p->m, t, p->out);
    add_facts(p->m, t, p->out);
    if (full && (t->row.commit || t->salvaged))
        add_left_out(p, t, "What it changed", "diff");
    add_diff(p, t, &diff);
    if (report_task_ran(t))
        add_log(p, t);
    buf_addstr(p->out, "</div></details>\n");
}

static void add_tasks(struct page *p)
{
    const struct report *r = p->m->r;
    buf_addstr(p->out,
               "<section id=\"tasks\"><h2>Tasks</h2>\n<div class=\"row heads\"><span>Task</span>"
               "<span>Title</span><span>State</span><span>Tries</span><span>Time</span>"
               "<span>Lines</span><span>Cost</span></div>\n");
    for (size_t i = 0; i < r->n; i++)
        add_task(p, &r->tasks[i]);
    buf_addstr(p->out, "</section>\n");
}

void report_html(struct report_more *m, struct buf *out)
{
    struct page p = {.m = m, .out = out, .diffs_left = DIFFS_MAX, .logs_left = LOGS_MAX};
    add_head(m->r, out);
    add_run(m->r, out);
    add_figures(m->r, out);
    add_look(m, out);
    report_html_timeline(m, out);
    report_html_graph(m, out);
    add_costs(m, out);
    add_tasks(&p);
    buf_addstr(out, "<footer>anabranch " ANABRANCH_VERSION ". Logs: <code>");
    html_text(out, m->r->logs);
    buf_addstr(out, "</code></footer>\n</body>\n</html>\n");
}

#include "view/report/html.h"

#include "base/text/text.h"
#include "base/text/timestamp.h"
#include "view/report/html_escape.h"
#include "view/state_change_text.h"

#include <string.h>

/* view/report/report.css, embedded at build time */
extern const unsigned char report_css[];
extern const size_t report_css_len;

void report_html_link(struct buf *out, const struct report_task *t)
{
    html_wrap(out, "<a href=\"#task-", t->row.id, "\">");
    html_text(out, t->row.id);
    buf_addstr(out, "</a>");
}

void report_html_time(struct buf *out, int64_t time)
{
    autobuf struct buf text = BUF_INIT;
    timestamp_format(&text, time);
    size_t date = strcspn(text.s, "T");
    buf_addf(out, "<time datetime=\"%s\">%.*s %.8s UTC</time>", text.s, (int)date, text.s,
             text.len > date ? text.s + date + 1 : "");
}

void report_html_usd(struct buf *out, double usd)
{
    buf_addf(out, usd >= 0.1 ? "$%.2f" : "$%.4f", usd);
}

void report_html_reason(const struct report_task *t, struct buf *out)
{
    if (report_task_failed_after_landing(t)) {
        autobuf struct buf text = BUF_INIT;
        report_task_add_further_work(t, &text);
        html_text(out, text.s);
        return;
    }
    if (t->row.failure && t->end == REPORT_FAILED)
        html_wrap(out, "<b>", t->row.failure, "</b>: ");
    html_text(out, t->row.reason ? t->row.reason : t->row.state);
}

static void add_short(struct buf *out, const char *commit)
{
    buf_addf(out, "<code>%.10s</code>", commit);
}

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
    html_wrap(out, "</style>\n</head>\n<body>\n<header>\n<h1>", name, "</h1>\n");
}

static void add_name(struct buf *out, const char *label, const char *name)
{
    if (!name)
        return;
    buf_addf(out, " <span class=\"soft\">%s</span>", label);
    html_wrap(out, " <code>", name, "</code>");
}

static void add_run(const struct report *r, struct buf *out)
{
    const struct store_run *row = &r->row;
    bool well = !r->ends[REPORT_FAILED] && !r->ends[REPORT_CONFLICTED] && row->exit_code == 0;
    buf_addf(out, "<p><span class=\"state %s\">",
             report_is_running(r) ? "unfinished"
             : well               ? "landed"
                                  : "failed");
    html_text(out, report_state(r));
    buf_addstr(out, "</span>");
    if (row->finished)
        buf_addf(out, " <span class=\"soft\">with exit code</span> %d", row->exit_code);
    add_name(out, "\302\267 run", row->id);
    add_name(out, "of", row->plan);
    buf_addstr(out, " <span class=\"soft\">\302\267 started</span> ");
    report_html_time(out, row->started);
    add_name(out, "\302\267 onto", row->base);
    if (row->base_commit && row->tip && strcmp(row->base_commit, row->tip) != 0) {
        buf_addstr(out, " <span class=\"soft\">from</span> ");
        add_short(out, row->base_commit);
        buf_addstr(out, " <span class=\"soft\">to</span> ");
        add_short(out, row->tip);
    }
    add_name(out, "\302\267 not there yet, but on", r->kept);
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
    report_html_usd(&usd, r->usd);
    buf_addf(out, "<li><b>%s%s</b>cost", usd.s, r->unpriced ? "+" : "");
    if (r->unpriced)
        buf_addf(out, ", cost of %zu task%s unknown", r->unpriced, r->unpriced == 1 ? "" : "s");
    if (r->prices)
        buf_addf(out, ", estimated with prices of %s", r->prices);
    buf_addstr(out, "</li>\n");
}

static void add_figures(const struct report *r, struct buf *out)
{
    buf_addstr(out, "<ul class=\"figures\">\n");
    for (size_t i = 0; i < REPORT_END_COUNT_; i++) {
        if (r->ends[i])
            buf_addf(out, "<li class=\"%s\"><b>%zu</b>%s</li>\n", report_end_names[i], r->ends[i],
                     report_end_words[i]);
    }
    add_spent(r, out);
    buf_addstr(out, "</ul>\n<div class=\"share\" aria-hidden=\"true\">");
    for (size_t i = 0; i < REPORT_END_COUNT_; i++) {
        if (r->ends[i])
            buf_addf(out, "<span class=\"%s\" style=\"flex:%zu\"></span>", report_end_names[i],
                     r->ends[i]);
    }
    buf_addstr(out, "</div>\n</header>\n");
}

static void add_changes(const struct report *r, struct buf *out)
{
    for (size_t i = 0; i < r->changes.n; i++) {
        const struct report_change *c = &r->changes.v[i];
        autobuf struct buf who = BUF_INIT, text = BUF_INIT;
        if (c->task)
            buf_addstr(&who, c->task);
        else
            state_change_text_tasks(c->data, &who);
        state_change_text(c->data, &text);
        html_wrap(out, "<li class=\"conflicted\">Changed outside the workspaces, ", who.s, ": ");
        html_text(out, text.s);
        buf_addstr(out, "</li>\n");
    }
}

/* Failed or conflicted tasks, and landed tasks that changed paths they do not own. */
static bool needs_attention(const struct report_details *m, const struct report_task *t)
{
    return t->end == REPORT_FAILED || t->end == REPORT_CONFLICTED ||
           (report_task_is_well(t) && report_life(m, t)->outside_paths.n);
}

static void add_attention_item(const struct report_details *m, const struct report_task *t,
                               struct buf *out)
{
    size_t outside_paths = report_life(m, t)->outside_paths.n;
    buf_addf(out, "<li class=\"%s\">",
             report_task_is_well(t) ? "conflicted" : report_end_names[t->end]);
    report_html_link(out, t);
    buf_addch(out, ' ');
    if (report_task_is_well(t))
        buf_addf(out, "changed %zu path%s that it does not own, and landed anyway", outside_paths,
                 outside_paths == 1 ? "" : "s");
    else
        report_html_reason(t, out);
    buf_addstr(out, "</li>\n");
}

static void add_attention_list(const struct report_details *m, struct buf *out)
{
    const struct report *r = m->r;
    size_t n = r->changes.n;
    for (size_t i = 0; i < r->n; i++)
        n += needs_attention(m, &r->tasks[i]);
    if (!n)
        return;
    buf_addstr(out, "<section id=\"look\"><h2>Needs attention</h2>\n<ul class=\"look\">\n");
    for (size_t i = 0; i < r->n; i++) {
        if (needs_attention(m, &r->tasks[i]))
            add_attention_item(m, &r->tasks[i], out);
    }
    add_changes(r, out);
    buf_addstr(out, "</ul></section>\n");
}

void report_html(struct report_details *m, struct buf *out)
{
    add_head(m->r, out);
    add_run(m->r, out);
    add_figures(m->r, out);
    add_attention_list(m, out);
    report_html_timeline(m, out);
    report_html_graph(m, out);
    report_html_costs(m, out);
    report_html_tasks(m, out);
    buf_addstr(out, "<footer>anabranch " ANABRANCH_VERSION ". ");
    if (m->r->logs)
        html_wrap(out, "Logs: <code>", m->r->logs, "</code>");
    buf_addstr(out, "</footer>\n</body>\n</html>\n");
}

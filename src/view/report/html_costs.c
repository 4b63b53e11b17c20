#include "view/report/html.h"

#include "base/mem.h"
#include "base/text/text.h"
#include "view/report/html_escape.h"

#include <stdlib.h>

enum { COSTLY_MAX = 10 };

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
        report_html_usd(out, s->usd);
    buf_addf(out, "%s</td></tr>\n", s->unpriced && s->unpriced < s->attempts ? "+" : "");
}

static void add_spending(const struct report_details *m, struct buf *out)
{
    struct report_spending all = {0};
    buf_addstr(out, "<div class=\"tables\"><table><thead><tr><th>Engine</th><th class=\"left\">"
                    "Model</th><th>Attempts</th><th>Read</th><th>Written</th><th>From cache</th>"
                    "<th>Into cache</th><th>Cost</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < m->spending.n; i++) {
        const struct report_spending *s = &m->spending.v[i];
        const int64_t counts[] = {s->attempts, s->tokens_in, s->tokens_out, s->cache_read,
                                  s->cache_made};
        html_wrap(out, "<tr><td>", s->engine, "</td><td class=\"left\">");
        html_text(out, s->model ? s->model : "unknown");
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
        buf_addstr(out, "<tfoot><tr><td colspan=\"2\">Total</td>");
        add_counts(out, counts, 5);
        add_money(out, &all);
        buf_addstr(out, "</tfoot>");
    }
    buf_addstr(out, "</table></div>\n");
}

static double get_known_cost(const struct report_task *t)
{
    return t->row.usd > 0 ? t->row.usd : 0;
}

static int compare_costs(const void *a, const void *b)
{
    const struct report_task *x = *(const struct report_task *const *)a;
    const struct report_task *y = *(const struct report_task *const *)b;
    if (get_known_cost(x) != get_known_cost(y))
        return get_known_cost(x) > get_known_cost(y) ? -1 : 1;
    return x < y ? -1 : x > y;
}

static void add_costly_tasks(const struct report *r, struct buf *out)
{
    autofree const struct report_task **list = mem_array(r->n + 1, sizeof(const void *));
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++) {
        if (get_known_cost(&r->tasks[i]) > 0)
            list[n++] = &r->tasks[i];
    }
    if (n < 2)
        return;
    qsort(list, n, sizeof(const void *), compare_costs);
    size_t shown = n > COSTLY_MAX ? COSTLY_MAX : n;
    buf_addf(out,
             "<div class=\"tables\"><table><thead><tr><th>%s</th><th></th><th>Read</th>"
             "<th>Written</th><th>Cost</th></tr></thead><tbody>\n",
             n > COSTLY_MAX ? "The ten costliest tasks" : "Task");
    for (size_t i = 0; i < shown; i++) {
        const int64_t counts[] = {list[i]->row.tokens_in, list[i]->row.tokens_out};
        buf_addstr(out, "<tr><td>");
        report_html_link(out, list[i]);
        buf_addf(out, "</td><td class=\"bar\"><span style=\"width:%.1f%%\"></span></td>",
                 100 * get_known_cost(list[i]) / get_known_cost(list[0]));
        add_counts(out, counts, 2);
        buf_addstr(out, "<td>");
        report_html_usd(out, get_known_cost(list[i]));
        buf_addstr(out, "</td></tr>\n");
    }
    buf_addstr(out, "</tbody></table></div>\n");
}

void report_html_costs(const struct report_details *m, struct buf *out)
{
    if (!m->spending.n)
        return;
    buf_addstr(out, "<section id=\"costs\"><h2>Costs</h2>\n");
    add_spending(m, out);
    add_costly_tasks(m->r, out);
    buf_addstr(out, "</section>\n");
}

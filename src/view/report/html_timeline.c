#include "base/mem.h"
#include "base/text/text.h"
#include "view/report/html.h"
#include "view/report/html_escape.h"

#include <stdlib.h>

enum { ROW = 20, HEAD = 22, TICKS = 8, OPEN_MAX_ = 60 };

/* The step between two ticks: a round number that gives few enough ticks. */
static int64_t find_step(int64_t span)
{
    static const int64_t steps[] = {
        100,    200,    500,    1000,   2000,    5000,    10000,   15000,    30000,    60000,
        120000, 300000, 600000, 900000, 1800000, 3600000, 7200000, 21600000, 43200000, 86400000,
    };
    size_t n = ARRAY_LEN(steps);
    for (size_t i = 0; i < n; i++) {
        if (span / steps[i] < TICKS)
            return steps[i];
    }
    return (span / TICKS / steps[n - 1] + 1) * steps[n - 1];
}

static void add_ticks(int64_t span, int height, struct buf *out)
{
    int64_t step = find_step(span);
    for (int64_t at = 0; at < span; at += step) {
        double x = 100.0 * (double)at / (double)span;
        buf_addf(out, "<line class=\"tick\" x1=\"%.3f%%\" x2=\"%.3f%%\" y1=\"0\" y2=\"%d\"/>", x, x,
                 height);
        if (x > 94)
            continue;
        buf_addf(out, "<text x=\"%.3f%%\" dx=\"4\" y=\"13\">", x);
        if (at)
            text_format_duration(out, at);
        else
            buf_addch(out, '0');
        buf_addstr(out, "</text>\n");
    }
}

/* The scale leaves out the times in which the run stood still, as the durations do. */
struct scale {
    const struct report *r;
    int64_t ms; /* from the start of the run to its end */
};

static int64_t get_offset(const struct report *r, int64_t time)
{
    return idle_without(&r->idle, r->row.started, time);
}

/* At least wide enough to be visible. */
static void add_span(const struct report_span *s, const struct report_task *t,
                     const struct scale *scale, int y, struct buf *out)
{
    static const char *const words[] = {
        [REPORT_PREPARING] = "preparing",
        [REPORT_RUNNING] = "running",
        [REPORT_LANDING] = "committing, verifying, landing",
        [REPORT_PARKED] = "waiting for a usage limit",
    };
    int64_t ms = idle_without(&scale->r->idle, s->from, s->to);
    double x = 100.0 * (double)get_offset(scale->r, s->from) / (double)scale->ms;
    double width = 100.0 * (double)ms / (double)scale->ms;
    x = x > 99.8 ? 99.8 : x;
    width = width < 0.2 ? 0.2 : x + width > 100 ? 100 - x : width;
    buf_addf(out,
             "<rect class=\"w%d\" x=\"%.3f%%\" width=\"%.3f%%\" y=\"%d\" height=\"%d\"><title>",
             (int)s->doing, x, width, y + 4, ROW - 8);
    html_text(out, t->row.id);
    buf_addf(out, ": %s, ", words[s->doing]);
    text_format_duration(out, ms);
    buf_addstr(out, "</title></rect>");
}

struct rows {
    struct row {
        int64_t began;
        uint32_t task;
    } * v;
    size_t n;
};

static int compare_start(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->began != y->began)
        return x->began < y->began ? -1 : 1;
    return x->task < y->task ? -1 : x->task > y->task;
}

/* The tasks that started, earliest first. */
static void find_rows(const struct report_details *m, struct rows *rows)
{
    rows->v = mem_array(m->r->n + 1, sizeof(*rows->v));
    for (size_t i = 0; i < m->r->n; i++) {
        if (m->task_details[i].spans.n)
            rows->v[rows->n++] = (struct row){m->task_details[i].spans.v[0].from, (uint32_t)i};
    }
    if (rows->n)
        qsort(rows->v, rows->n, sizeof(*rows->v), compare_start);
}

static void add_names(const struct report_details *m, const struct rows *rows, struct buf *out)
{
    buf_addstr(out, "<ol>");
    for (size_t i = 0; i < rows->n; i++) {
        buf_addstr(out, "<li>");
        report_html_link(out, &m->r->tasks[rows->v[i].task]);
        buf_addstr(out, "</li>\n");
    }
    buf_addstr(out, "</ol>\n");
}

static void add_bars(const struct report_details *m, const struct rows *rows, struct buf *out)
{
    struct scale scale = {m->r, get_offset(m->r, m->r->end)};
    int y = HEAD, height = HEAD + (int)rows->n * ROW;
    buf_addf(out,
             "<svg width=\"100%%\" height=\"%d\" role=\"img\" aria-label=\"When each task did "
             "what\">\n",
             height);
    scale.ms = scale.ms > 0 ? scale.ms : 1;
    add_ticks(scale.ms, height, out);
    for (size_t i = 0; i < rows->n; i++, y += ROW) {
        const struct report_task *t = &m->r->tasks[rows->v[i].task];
        const struct report_life *l = report_life(m, t);
        buf_addf(out, "<g class=\"%s\">", report_end_names[t->end]);
        for (size_t k = 0; k < l->spans.n; k++)
            add_span(&l->spans.v[k], t, &scale, y, out);
        buf_addstr(out, "</g>\n");
    }
    buf_addstr(out, "</svg>\n");
}

static void add_timeline(const struct report_details *m, const struct rows *rows, struct buf *out)
{
    buf_addstr(out, "<section id=\"timeline\"><h2>Timeline</h2>\n");
    buf_addf(out, "<details class=\"drawing\"%s><summary>%zu task%s</summary>\n",
             rows->n <= OPEN_MAX_ ? " open" : "", rows->n, rows->n == 1 ? "" : "s");
    buf_addstr(out, "<div class=\"box\"><div class=\"gantt\">\n");
    add_names(m, rows, out);
    add_bars(m, rows, out);
    buf_addstr(out, "</div></div>\n<p class=\"legend\"><i class=\"faint\"></i>preparing, landing"
                    "<i></i>running<i class=\"dashed\"></i>waiting for a usage limit</p>"
                    "</details></section>\n");
}

void report_html_timeline(const struct report_details *m, struct buf *out)
{
    struct rows rows = {0};
    find_rows(m, &rows);
    if (rows.n)
        add_timeline(m, &rows, out);
    free(rows.v);
}

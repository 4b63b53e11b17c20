#include "base/mem.h"
#include "base/text/text.h"
#include "view/report/html.h"
#include "view/report/html_escape.h"

#include <stdlib.h>
#include <string.h>

enum {
    BOX_WIDTH = 148,
    BOX_HEIGHT = 26,
    STAGE_STEP = 196,
    ROW_STEP = 34,
    MARGIN = 8,
    LABEL = 19,
    OPEN_MAX_ = 60
};

/* A node of the drawing: a task, or a point where an arrow passes a stage. */
struct spot {
    uint32_t stage, row;
    uint32_t from; /* for an arrow: the previous spot */
};

struct drawing {
    const struct report_details *m;
    struct spot *spots; /* the tasks in order of the report, then the points of arrows */
    size_t n;
    uint32_t *last;   /* per arrow: the spot before its end */
    uint32_t *arrows; /* per task: the index of its first arrow */
    bool routed; /* arrows pass beside boxes, not behind them; off if that needs too many spots */
    uint32_t *order;  /* spots by stage, from top to bottom */
    uint32_t *first;  /* per stage: its start in `order`; one more at the end */
    uint32_t tallest; /* number of spots in the largest stage */
};

/* The number of stages that an arrow passes. */
static uint32_t stages_passed(const struct drawing *d, uint32_t from, uint32_t to)
{
    return d->routed ? d->m->task_details[to].stage - d->m->task_details[from].stage - 1 : 0;
}

static size_t count_spots(const struct drawing *d)
{
    size_t n = d->m->r->n;
    for (uint32_t i = 0; i < d->m->r->n; i++) {
        const struct report_life *l = &d->m->task_details[i];
        for (size_t k = 0; k < l->dependencies.n; k++)
            n += stages_passed(d, l->dependencies.v[k], i);
    }
    return n;
}

static void put_spots(struct drawing *d)
{
    uint32_t next = (uint32_t)d->m->r->n, arrow = 0;
    for (uint32_t i = 0; i < d->m->r->n; i++) {
        const struct report_life *l = &d->m->task_details[i];
        d->spots[i].stage = l->stage;
        d->arrows[i] = arrow;
        for (size_t k = 0; k < l->dependencies.n; k++) {
            uint32_t from = l->dependencies.v[k], gap = stages_passed(d, from, i);
            for (uint32_t s = 0; s < gap; s++, from = next++)
                d->spots[next] = (struct spot){
                    .stage = d->m->task_details[l->dependencies.v[k]].stage + 1 + s, .from = from};
            d->last[arrow++] = from;
        }
    }
}

/* A counting sort: one pass to count, one to place. */
static void sort_by_stage(struct drawing *d)
{
    autofree uint32_t *next = mem_array(d->m->stages + 1, sizeof(*next));
    for (size_t i = 0; i < d->n; i++)
        d->first[d->spots[i].stage + 1]++;
    for (uint32_t s = 0; s < d->m->stages; s++) {
        d->tallest = d->first[s + 1] > d->tallest ? d->first[s + 1] : d->tallest;
        d->first[s + 1] += d->first[s];
        next[s] = d->first[s];
    }
    for (size_t i = 0; i < d->n; i++)
        d->order[next[d->spots[i].stage]++] = (uint32_t)i;
}

static uint32_t y_of(const struct drawing *d, uint32_t spot)
{
    const struct spot *s = &d->spots[spot];
    uint32_t own = d->first[s->stage + 1] - d->first[s->stage];
    return MARGIN + s->row * ROW_STEP + (d->tallest - own) * ROW_STEP / 2;
}

static uint32_t x_of(const struct drawing *d, uint32_t spot)
{
    return MARGIN + d->spots[spot].stage * STAGE_STEP;
}

struct ranked {
    double wanted;
    uint32_t spot;
};

static int compare_wanted(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->wanted != y->wanted)
        return x->wanted < y->wanted ? -1 : 1;
    return x->spot < y->spot ? -1 : x->spot > y->spot;
}

/* The mean height of its predecessors. */
static double get_wanted_height(const struct drawing *d, uint32_t spot)
{
    if (spot >= d->m->r->n)
        return y_of(d, d->spots[spot].from);
    size_t n = d->m->task_details[spot].dependencies.n;
    double sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += y_of(d, d->last[d->arrows[spot] + k]);
    return n ? sum / (double)n : 0;
}

/* Orders the stages from left to right, because a stage depends on the rows of the stages before
 * it. */
static void order_spots(struct drawing *d)
{
    autofree struct ranked *list = mem_array(d->tallest + 1, sizeof(*list));
    for (uint32_t stage = 0; stage < d->m->stages; stage++) {
        size_t n = d->first[stage + 1] - d->first[stage];
        uint32_t *order = d->order + d->first[stage];
        for (size_t i = 0; i < n; i++)
            list[i] = (struct ranked){get_wanted_height(d, order[i]), order[i]};
        if (n)
            qsort(list, n, sizeof(*list), compare_wanted);
        for (size_t i = 0; i < n; i++)
            d->spots[list[i].spot].row = (uint32_t)i;
    }
}

/* A curve from the right of one spot to the left of the next. */
static void add_bend(const struct drawing *d, uint32_t from, uint32_t to, uint32_t stop,
                     struct buf *out)
{
    uint32_t y1 = y_of(d, from) + BOX_HEIGHT / 2, y2 = y_of(d, to) + BOX_HEIGHT / 2;
    uint32_t x1 = x_of(d, from) + BOX_WIDTH, x2 = x_of(d, to) - stop,
             bend = (STAGE_STEP - BOX_WIDTH) / 2;
    buf_addf(out, "C%u %u %u %u %u %u", x1 + bend, y1, x2 - bend, y2, x2, y2);
}

static void add_arrow(const struct drawing *d, uint32_t from, uint32_t to, uint32_t last,
                      struct buf *out)
{
    uint32_t gap = stages_passed(d, from, to), at = from;
    buf_addf(out, "<path class=\"edge\" marker-end=\"url(#tip)\" d=\"M%u %u",
             x_of(d, from) + BOX_WIDTH, y_of(d, from) + BOX_HEIGHT / 2);
    for (uint32_t s = 0; s < gap; s++) { /* the spots of an arrow are consecutive */
        uint32_t spot = last - (gap - 1 - s);
        add_bend(d, at, spot, 0, out);
        buf_addf(out, "H%u", x_of(d, spot) + BOX_WIDTH);
        at = spot;
    }
    add_bend(d, at, to, 5, out);
    buf_addstr(out, "\"/>\n");
}

static void add_box(const struct drawing *d, uint32_t task, struct buf *out)
{
    const struct report_task *t = &d->m->r->tasks[task];
    uint32_t x = x_of(d, task), y = y_of(d, task);
    size_t len = strlen(t->row.id), fits = text_fit(t->row.id, len, LABEL);
    if (fits < len)
        fits = text_fit(t->row.id, len, LABEL - 1);
    buf_addstr(out, "<a href=\"#task-");
    html_text(out, t->row.id);
    buf_addf(out, "\" class=\"%s\"><title>", report_end_names[t->end]);
    html_text(out, t->row.id);
    buf_addstr(out, ": ");
    html_text(out, t->row.state);
    buf_addf(out,
             "</title><rect x=\"%u\" y=\"%u\" width=\"%d\" height=\"%d\" rx=\"4\"/>"
             "<rect class=\"mark\" x=\"%u\" y=\"%u\" width=\"4\" height=\"%d\" rx=\"2\"/>"
             "<text x=\"%u\" y=\"%u\">",
             x, y, BOX_WIDTH, BOX_HEIGHT, x, y, BOX_HEIGHT, x + 11, y + 17);
    html_bytes(out, t->row.id, fits);
    buf_addf(out, "%s</text></a>\n", fits < len ? "\xe2\x80\xa6" : "");
}

static void draw_graph(const struct drawing *d, struct buf *out)
{
    const struct report_details *m = d->m;
    buf_addf(
        out,
        "<svg width=\"%u\" height=\"%u\" role=\"img\" aria-label=\"Dependencies of the tasks\">\n"
        "<defs><marker id=\"tip\" markerWidth=\"6\" markerHeight=\"6\" refX=\"1\" refY=\"3\" "
        "orient=\"auto\"><path class=\"tip\" d=\"M0 0L6 3L0 6z\"/></marker></defs>\n",
        2 * MARGIN + (m->stages - 1) * STAGE_STEP + BOX_WIDTH,
        2 * MARGIN + (d->tallest - 1) * ROW_STEP + BOX_HEIGHT);
    for (uint32_t i = 0; i < m->r->n; i++) {
        for (size_t k = 0; k < m->task_details[i].dependencies.n; k++)
            add_arrow(d, m->task_details[i].dependencies.v[k], i, d->last[d->arrows[i] + k], out);
    }
    for (uint32_t i = 0; i < m->r->n; i++)
        add_box(d, i, out);
    buf_addstr(out, "</svg>\n");
}

static void compute_layout(struct drawing *d, struct arena *a)
{
    size_t tasks = d->m->r->n;
    d->routed = true;
    d->n = count_spots(d);
    d->routed = d->n <= 4 * tasks + 200;
    d->n = d->routed ? d->n : tasks;
    d->spots = arena_array(a, d->n, sizeof(*d->spots));
    d->order = arena_array(a, d->n, sizeof(*d->order));
    d->last = arena_array(a, d->m->dependencies, sizeof(*d->last));
    d->arrows = arena_array(a, tasks, sizeof(*d->arrows));
    d->first = arena_array(a, d->m->stages + 2, sizeof(*d->first));
    put_spots(d);
    sort_by_stage(d);
    order_spots(d);
}

void report_html_graph(const struct report_details *m, struct buf *out)
{
    autoarena struct arena a = {0};
    struct drawing d = {.m = m};
    if (!m->dependencies)
        return;
    compute_layout(&d, &a);
    buf_addstr(out, "<section id=\"graph\"><h2>Graph</h2>\n");
    buf_addf(out,
             "<details class=\"drawing\"%s><summary>%u stages, %zu dependenc%s</summary>\n"
             "<div class=\"box graph\">\n",
             m->r->n <= OPEN_MAX_ ? " open" : "", m->stages, m->dependencies,
             m->dependencies == 1 ? "y" : "ies");
    draw_graph(&d, out);
    buf_addstr(out, "</div></details></section>\n");
}

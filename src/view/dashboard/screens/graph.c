/*
 * The dependency graph: the tasks by stages, with arrows from dependencies and to dependents.
 */
#include "view/dashboard/screens/screen.h"

#include "base/mem.h"

#include <string.h>

enum { HEADING = UINT32_MAX };

/* The rows: a heading per stage, followed by its tasks. The caller frees the array. */
static uint32_t *list_rows(const struct screen *s, size_t *ret_n)
{
    const struct graph *g = s->board->graph;
    uint32_t *list = mem_array(g->n + g->stages + 1, sizeof(*list));
    size_t *start = mem_array(g->stages + 2, sizeof(*start)), n = 0;
    for (uint32_t t = 0; t < g->n; t++)
        start[g->stage[t] + 1] += s->board->tasks[t].wanted;
    for (uint32_t i = 0; i < g->stages; i++) {
        size_t count = start[i + 1];
        start[i] = n + 1;
        list[n] = HEADING;
        n += count ? count + 1 : 0;
    }
    for (uint32_t t = 0; t < g->n; t++) {
        if (s->board->tasks[t].wanted)
            list[start[g->stage[t]]++] = t;
    }
    free(start);
    *ret_n = n;
    return list;
}

static size_t count_rows(const struct screen *s)
{
    size_t n;
    autofree uint32_t *list = list_rows(s, &n);
    return n;
}

static size_t get_row(const struct screen *s, uint32_t task)
{
    size_t n, row = 0;
    autofree uint32_t *list = list_rows(s, &n);
    while (row + 1 < n && list[row] != task)
        row++;
    return row;
}

static uint32_t get_task_at(const struct screen *s, size_t row)
{
    size_t n;
    autofree uint32_t *list = list_rows(s, &n);
    return row < n ? list[row] : HEADING;
}

static void draw_arrows(const struct screen *s, uint32_t task, struct canvas *c)
{
    const struct task *t = &s->board->plan->tasks[task];
    const struct graph *g = s->board->graph;
    canvas_style(c, STYLE_DIM);
    for (size_t k = 0; k < t->dep_count; k++)
        canvas_addf(c, "%s%s", k ? ", " : "<- ", s->board->tasks[t->deps[k]].id);
    uint32_t first = g->dependents_at[task];
    for (uint32_t k = first; k < g->dependents_at[task + 1]; k++)
        canvas_addf(c, "%s%s",
                    k > first      ? ", "
                    : t->dep_count ? "  -> "
                                   : "-> ",
                    s->board->tasks[g->dependents[k]].id);
}

static void draw_task(const struct screen *s, uint32_t task, size_t width, struct canvas *c)
{
    const struct board_task *t = &s->board->tasks[task];
    canvas_line(c);
    canvas_add(c, task == s->task ? "> " : "  ");
    canvas_field(c, t->id, width);
    canvas_style(c, screen_style(t));
    canvas_field(c, screen_state(t), 10);
    draw_arrows(s, task, c);
    if (task == s->task)
        canvas_mark(c);
}

static void draw_rows(const struct screen *s, size_t from, size_t n, struct canvas *c)
{
    size_t all, stage = 0, width = screen_id_width(s, 3);
    autofree uint32_t *list = list_rows(s, &all);
    for (size_t i = 0; i < all && i < from + n; i++) {
        stage += list[i] == HEADING;
        if (i < from)
            continue;
        if (list[i] != HEADING) {
            draw_task(s, list[i], width, c);
            continue;
        }
        canvas_line(c);
        canvas_style(c, STYLE_BOLD);
        canvas_addf(c, "stage %zu", stage);
    }
}

const struct screen_ops screen_graph = {
    .name = "graph",
    .keys = "enter open",
    .rows = count_rows,
    .draw = draw_rows,
    .row_of = get_row,
    .task_at = get_task_at,
};

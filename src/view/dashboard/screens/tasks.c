/*
 * The view of all tasks, one per line: activity, time, cost.
 */
#include "view/dashboard/screens/screen.h"

#include "base/text/text.h"

#include <stdint.h>
#include <string.h>

/* Columns by importance. If one has no room, it is left out with all that follow. */
enum column {
    COLUMN_TIME,
    COLUMN_COST,
    COLUMN_TOKENS,
    COLUMN_FILES,
    COLUMN_ATTEMPT,
    COLUMN_COUNT_
};

static const struct {
    const char *name;
    size_t width, from; /* from: the width of the screen from which on it is shown */
} columns[COLUMN_COUNT_] = {
    [COLUMN_TIME] = {"TIME", 7, 36},     [COLUMN_COST] = {"COST", 7, 64},
    [COLUMN_TOKENS] = {"TOKENS", 6, 76}, [COLUMN_FILES] = {"FILES", 5, 84},
    [COLUMN_ATTEMPT] = {"TRY", 3, 84},
};

enum { STATE_WIDTH = 10 };

static void draw_head(const struct screen *s, struct canvas *c)
{
    canvas_line(c);
    canvas_style(c, STYLE_DIM);
    canvas_field(c, "TASK", screen_id_width(s, 3) + 1);
    canvas_field(c, "STATE", STATE_WIDTH);
    for (size_t i = 0; i < COLUMN_COUNT_; i++) {
        if (s->columns >= columns[i].from)
            canvas_right(c, columns[i].name, columns[i].width);
    }
    canvas_add(c, "NOW");
}

static void add_value(const struct screen *s, const struct board_task *t, size_t column,
                      struct buf *out)
{
    switch ((enum column)column) {
    case COLUMN_TIME:
        if (t->started)
            screen_time(out, screen_spent(s, t));
        break;
    case COLUMN_COST:
        if (t->usd > 0)
            buf_addf(out, "$%.2f", t->usd);
        break;
    case COLUMN_TOKENS:
        if (t->tokens)
            text_format_count(out, t->tokens);
        break;
    case COLUMN_FILES:
        if (t->files >= 0)
            buf_addf(out, "%lld", (long long)t->files);
        break;
    case COLUMN_ATTEMPT:
        if (t->attempt)
            buf_addf(out, "%d", t->attempt);
        break;
    case COLUMN_COUNT_:
        break;
    }
}

/* The activity; a time at its end is never cut off. */
static void add_doing(const struct activity *d, int64_t now, const struct canvas *c,
                      struct buf *out)
{
    size_t used = canvas_width(c), room = c->columns > used ? c->columns - used : 0;
    activity_text(d, now, d->since || d->until ? room : SIZE_MAX, out);
}

static void draw_task(const struct screen *s, uint32_t task, struct canvas *c)
{
    const struct board_task *t = &s->board->tasks[task];
    autobuf struct buf now = BUF_INIT;
    bool here = task == s->task;
    canvas_line(c);
    canvas_add(c, here ? ">" : " ");
    canvas_field(c, t->id, screen_id_width(s, 3));
    canvas_style(c, screen_style(t));
    canvas_field(c, screen_state(t), STATE_WIDTH);
    canvas_style(c, STYLE_PLAIN);
    for (size_t i = 0; i < COLUMN_COUNT_; i++) {
        autobuf struct buf value = BUF_INIT;
        if (s->columns < columns[i].from)
            continue;
        add_value(s, t, i, &value);
        canvas_right(c, value.s, columns[i].width);
    }
    if (t->doing.action)
        add_doing(&t->doing, s->now, c, &now);
    else
        board_why(s->board, task, s->now, &now);
    if (canvas_width(c) < c->columns)
        canvas_field(c, now.s, c->columns - canvas_width(c));
    if (here)
        canvas_mark(c);
}

static void draw_rows(const struct screen *s, size_t from, size_t n, struct canvas *c)
{
    for (size_t i = from; i < from + n && i < s->shown; i++)
        draw_task(s, s->order[i], c);
}

const struct screen_ops screen_tasks = {
    .name = "tasks",
    .keys = "enter open",
    .rows = screen_count_rows,
    .draw = draw_rows,
    .head = draw_head,
    .row_of = screen_row_of,
    .task_at = screen_task_at,
};

/*
 * The timeline: a bar per task on a common scale, from the start of the run until now. The scale
 * leaves out the times in which the run stood still, as the durations do.
 */
#include "view/dashboard/screens/screen.h"

#include <string.h>

static size_t get_label_width(const struct screen *s)
{
    return screen_id_width(s, 4) + 2;
}

static size_t get_bar_width(const struct screen *s)
{
    size_t label = get_label_width(s);
    return s->columns > label + 4 ? s->columns - label : 4;
}

/* ms from the start of the run to that time. */
static int64_t get_offset(const struct screen *s, int64_t time)
{
    return idle_without(&s->board->idle, s->board->started, time);
}

static int64_t get_scale(const struct screen *s)
{
    int64_t all = get_offset(s, s->board->finished ? s->board->finished : s->now);
    return all > 0 ? all : 1;
}

static void draw_head(const struct screen *s, struct canvas *c)
{
    int64_t all = get_scale(s);
    size_t label = get_label_width(s), width = get_bar_width(s);
    canvas_line(c);
    canvas_style(c, STYLE_DIM);
    for (int i = 0; i < 4; i++) {
        autobuf struct buf time = BUF_INIT;
        size_t at = label + width * (size_t)i / 4;
        screen_time(&time, all * i / 4);
        if (i && canvas_width(c) >= at)
            continue;
        canvas_to(c, at);
        canvas_addf(c, "|%s", time.s);
    }
}

static const struct {
    char mark;
    enum style style;
} marks[TASK_STATE_COUNT_] = {
    [TASK_WAITING] = {'.', STYLE_WARN},   [TASK_PREPARING] = {'-', STYLE_DIM},
    [TASK_RUNNING] = {'#', STYLE_BUSY},   [TASK_COMMITTING] = {'=', STYLE_GOOD},
    [TASK_VERIFYING] = {'v', STYLE_GOOD}, [TASK_LANDING] = {'=', STYLE_GOOD},
};

/* The cell of a point in time. */
static size_t get_cell(const struct screen *s, int64_t time, size_t width)
{
    int64_t at = get_offset(s, time) * (int64_t)width / get_scale(s);
    return (size_t)at < width ? (size_t)at : width - 1;
}

static void draw_bar(const struct screen *s, const struct board_task *t, struct canvas *c)
{
    size_t width = get_bar_width(s), from = get_label_width(s);
    for (size_t i = 0; i < t->spans.n; i++) {
        const struct board_span *span = &t->spans.v[i];
        int64_t open = s->board->finished ? s->board->finished : s->now;
        size_t a = get_cell(s, span->from, width),
               z = get_cell(s, span->to ? span->to : open, width);
        char mark[2] = {marks[span->state].mark ? marks[span->state].mark : '#', '\0'};
        bool last = i + 1 == t->spans.n;
        canvas_to(c, from + a);
        canvas_style(c, marks[span->state].style);
        for (size_t at = a; at < z || (at == z && last); at++) {
            if (canvas_width(c) == from + at) /* the earlier span stays */
                canvas_add(c, mark);
        }
        canvas_style(c, STYLE_PLAIN);
    }
    if (board_is_over(t->state) && t->spans.n)
        canvas_text(c, screen_style(t), t->state < TASK_FAILED ? "+" : "x");
}

static void draw_rows(const struct screen *s, size_t from, size_t n, struct canvas *c)
{
    for (size_t i = from; i < from + n && i < s->shown; i++) {
        const struct board_task *t = &s->board->tasks[s->order[i]];
        canvas_line(c);
        canvas_add(c, s->order[i] == s->task ? ">" : " ");
        canvas_field(c, t->id, get_label_width(s) - 2);
        draw_bar(s, t, c);
        if (s->order[i] == s->task)
            canvas_mark(c);
    }
}

const struct screen_ops screen_timeline = {
    .name = "timeline",
    .keys = "-preparing #running =landing .waiting",
    .rows = screen_count_rows,
    .draw = draw_rows,
    .head = draw_head,
    .row_of = screen_row_of,
    .task_at = screen_task_at,
};

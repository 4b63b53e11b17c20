/*
 * Helpers for all views: the order of the tasks; words, styles and times of a task.
 */
#include "view/dashboard/screens/screen.h"

#include "base/text/text.h"

#include <string.h>

/* The order of importance for the user. */
static int rank_task(const struct board_task *t)
{
    if (board_is_busy(t->state))
        return 0;
    if (t->resume)
        return 1;
    if (t->state == TASK_FAILED || t->state == TASK_CONFLICTED)
        return 2;
    return board_is_over(t->state) ? 4 : 3;
}

void screen_arrange(struct screen *s)
{
    const struct board *b = s->board;
    s->shown = 0;
    for (int r = 0; r < (s->sorted ? 5 : 1); r++) {
        for (uint32_t t = 0; t < b->n; t++) {
            if (b->tasks[t].wanted && (!s->sorted || rank_task(&b->tasks[t]) == r))
                s->order[s->shown++] = t;
        }
    }
}

size_t screen_count_rows(const struct screen *s)
{
    return s->shown;
}

size_t screen_row_of(const struct screen *s, uint32_t task)
{
    for (size_t i = 0; i < s->shown; i++) {
        if (s->order[i] == task)
            return i;
    }
    return 0;
}

uint32_t screen_task_at(const struct screen *s, size_t row)
{
    return row < s->shown ? s->order[row] : s->task;
}

const char *screen_state(const struct board_task *t)
{
    if (t->stopping && !board_is_over(t->state))
        return "stopping";
    if (t->resume)
        return t->lane >= 0 ? "parked" : "retry";
    return task_state_name(t->state);
}

enum style screen_style(const struct board_task *t)
{
    static const enum style styles[TASK_STATE_COUNT_] = {
        [TASK_WAITING] = STYLE_DIM,  [TASK_READY] = STYLE_PLAIN,     [TASK_PREPARING] = STYLE_BUSY,
        [TASK_RUNNING] = STYLE_BUSY, [TASK_COMMITTING] = STYLE_BUSY, [TASK_VERIFYING] = STYLE_BUSY,
        [TASK_LANDING] = STYLE_BUSY, [TASK_LANDED] = STYLE_GOOD,     [TASK_DONE] = STYLE_GOOD,
        [TASK_FAILED] = STYLE_BAD,   [TASK_CONFLICTED] = STYLE_BAD,  [TASK_SKIPPED] = STYLE_WARN,
    };
    bool waits = t->resume || (t->stopping && !board_is_over(t->state));
    return waits ? STYLE_WARN : styles[t->state];
}

void screen_time(struct buf *out, int64_t ms)
{
    if (ms < 1000)
        buf_addstr(out, "0s");
    else
        text_format_duration(out, ms - ms % 1000);
}

int64_t screen_spent(const struct screen *s, const struct board_task *t)
{
    int64_t end = t->finished ? t->finished : s->board->finished ? s->board->finished : s->now;
    return t->started ? idle_without(&s->board->idle, t->started, end) : -1;
}

size_t screen_id_width(const struct screen *s, size_t part)
{
    size_t width = 4, most = s->columns / part > 8 ? s->columns / part : 8;
    for (size_t i = 0; i < s->shown; i++) {
        const char *id = s->board->tasks[s->order[i]].id;
        size_t used = text_width(id, strlen(id));
        width = used > width ? used : width;
    }
    return width < most ? width : most;
}

/*
 * The conflicts between tasks, and with what has landed, if all landed now.
 */
#include "view/dashboard/screens/screen.h"

static const struct {
    const char *mark;
    enum style style;
} marks[] = {
    [MEET_APART] = {".", STYLE_DIM},
    [MEET_TOGETHER] = {"o", STYLE_GOOD},
    [MEET_UNKNOWN] = {"?", STYLE_WARN},
    [MEET_CONFLICT] = {"X", STYLE_BAD},
};

static size_t count_rows(const struct screen *s)
{
    return s->board->meetings.n;
}

static size_t get_row(const struct screen *s, uint32_t task)
{
    const struct board_meetings *m = &s->board->meetings;
    for (size_t i = 0; i < m->n; i++) {
        if (m->tasks[i] == task)
            return i;
    }
    return 0;
}

static uint32_t get_task_at(const struct screen *s, size_t row)
{
    const struct board_meetings *m = &s->board->meetings;
    return row < m->n ? m->tasks[row] : UINT32_MAX;
}

static void draw_head(const struct screen *s, struct canvas *c)
{
    const struct board_meetings *m = &s->board->meetings;
    canvas_line(c);
    if (!m->n) {
        canvas_add(c, m->known ? "No task has unlanded changes."
                               : "Comparing the changes of the tasks...");
        return;
    }
    canvas_style(c, STYLE_DIM);
    canvas_to(c, screen_id_width(s, 4) + 4);
    canvas_add(c, " base");
    for (size_t i = 0; i < m->n && canvas_width(c) + 3 <= c->columns; i++)
        canvas_addf(c, "%3zu", i + 1);
}

static void draw_rows(const struct screen *s, size_t from, size_t n, struct canvas *c)
{
    const struct board_meetings *m = &s->board->meetings;
    for (size_t i = from; i < from + n && i < m->n; i++) {
        bool here = m->tasks[i] == s->task;
        canvas_line(c);
        canvas_addf(c, "%s%2zu ", here ? ">" : " ", i + 1);
        canvas_field(c, s->board->tasks[m->tasks[i]].id, screen_id_width(s, 4));
        canvas_add(c, "   ");
        canvas_text(c, marks[m->base[i]].style, marks[m->base[i]].mark);
        canvas_add(c, " ");
        for (size_t k = 0; k < m->n && canvas_width(c) + 3 <= c->columns; k++) {
            enum board_meet cell = m->cells[i * m->n + k];
            canvas_add(c, "  ");
            canvas_text(c, i == k ? STYLE_DIM : marks[cell].style, i == k ? " " : marks[cell].mark);
        }
        if (here)
            canvas_mark(c);
    }
}

static void add_related_tasks(const struct screen *s, size_t row, enum board_meet meet,
                              const char *words, struct buf *out)
{
    const struct board_meetings *m = &s->board->meetings;
    bool first = true;
    for (size_t i = 0; i < m->n; i++) {
        if (i == row || m->cells[row * m->n + i] != meet)
            continue;
        buf_addf(out, "%s%s%s", first && out->len ? "; " : "", first ? words : ", ",
                 s->board->tasks[m->tasks[i]].id);
        first = false;
    }
}

/* Names the tasks, because not all columns may fit on the screen. */
static void describe_conflicts(const struct screen *s, struct buf *out)
{
    size_t row = get_row(s, s->task);
    if (get_task_at(s, row) != s->task)
        return;
    if (s->board->meetings.base[row] == MEET_CONFLICT)
        buf_addstr(out, "conflicts with what has landed");
    add_related_tasks(s, row, MEET_CONFLICT, "conflicts with ", out);
    add_related_tasks(s, row, MEET_UNKNOWN, "same files as ", out);
    add_related_tasks(s, row, MEET_TOGETHER, "merges with ", out);
}

const struct screen_ops screen_conflicts = {
    .name = "conflicts",
    .keys = "X conflict  o merges  ? same files  . apart",
    .rows = count_rows,
    .draw = draw_rows,
    .head = draw_head,
    .row_of = get_row,
    .task_at = get_task_at,
    .say = describe_conflicts,
};

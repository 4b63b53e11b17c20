/*
 * The view of one task: its facts, and below them its log, its changes or its events.
 */
#include "view/dashboard/screens/screen.h"

#include "base/text/text.h"

#include <string.h>

static const char *const parts[PART_COUNT_] = {"log", "diff", "events"};

static void add_facts(const struct screen *s, const struct board_task *t, struct buf *out)
{
    buf_addf(out, "attempt %d", t->attempt);
    if (t->started) {
        buf_addstr(out, "  ");
        screen_time(out, screen_spent(s, t));
    }
    if (t->tokens) {
        buf_addstr(out, "  ");
        text_format_count(out, t->tokens);
        buf_addstr(out, " tokens");
    }
    if (t->usd > 0)
        buf_addf(out, "  $%.2f", t->usd);
    if (t->files >= 0)
        buf_addf(out, "  %lld file%s", (long long)t->files, t->files == 1 ? "" : "s");
    if (t->engine)
        buf_addf(out, "  %s", t->engine);
    if (t->branch)
        buf_addf(out, "  %s", t->branch);
}

static void draw_head(const struct screen *s, struct canvas *c)
{
    const struct board_task *t = &s->board->tasks[s->task];
    const char *title = s->board->plan->tasks[s->task].title;
    autobuf struct buf facts = BUF_INIT;
    canvas_line(c);
    canvas_text(c, STYLE_BOLD, t->id);
    canvas_add(c, " ");
    canvas_text(c, screen_style(t), screen_state(t));
    canvas_addf(c, "%s%s", title ? "  " : "", title ? title : "");
    canvas_line(c);
    add_facts(s, t, &facts);
    canvas_add(c, facts.s);
    canvas_line(c);
    for (int i = 0; i < PART_COUNT_; i++) {
        bool here = (enum screen_part)i == s->part;
        canvas_style(c, here ? STYLE_BOLD : STYLE_DIM);
        canvas_addf(c, here ? "[%s] " : " %s  ", parts[i]);
    }
    canvas_style(c, STYLE_DIM);
    canvas_add(c, s->text.loading && s->part != PART_EVENTS ? "..."
                  : s->follows || s->part == PART_DIFF      ? ""
                                                            : "scrolled");
}

/* Finds the n-th note of the task; returns the number of its notes. */
static size_t find_note(const struct screen *s, size_t n, const char **ret)
{
    size_t seen = 0;
    for (size_t i = 0; i < s->board->notes.n; i++) {
        const struct board_note *note = &s->board->notes.v[i];
        if (note->task != (int64_t)s->task)
            continue;
        if (ret && seen == n)
            *ret = note->text;
        seen++;
    }
    return seen;
}

static size_t count_rows(const struct screen *s)
{
    return s->part == PART_EVENTS ? find_note(s, 0, NULL) : s->text.lines.n;
}

static enum style get_line_style(enum screen_part part, const char *line)
{
    if (part == PART_LOG)
        return strncmp(line, "> ", 2) == 0   ? STYLE_BUSY
               : strncmp(line, "! ", 2) == 0 ? STYLE_BAD
               : strncmp(line, "? ", 2) == 0 ? STYLE_WARN
                                             : STYLE_PLAIN;
    if (part == PART_EVENTS)
        return STYLE_PLAIN;
    if (strncmp(line, "diff ", 5) == 0 || strncmp(line, "+++", 3) == 0 ||
        strncmp(line, "---", 3) == 0)
        return STYLE_BOLD;
    return *line == '+'   ? STYLE_GOOD
           : *line == '-' ? STYLE_BAD
           : *line == '@' ? STYLE_BUSY
                          : STYLE_PLAIN;
}

static void draw_events(const struct screen *s, size_t from, size_t n, struct canvas *c)
{
    size_t seen = 0;
    for (size_t i = 0; i < s->board->notes.n && seen < from + n; i++) {
        const struct board_note *note = &s->board->notes.v[i];
        if (note->task != (int64_t)s->task || seen++ < from)
            continue;
        canvas_line(c);
        canvas_add(c, note->text);
    }
}

static void draw_rows(const struct screen *s, size_t from, size_t n, struct canvas *c)
{
    if (s->part == PART_EVENTS) {
        draw_events(s, from, n, c);
        return;
    }
    for (size_t i = from; i < from + n && i < s->text.lines.n; i++) {
        canvas_line(c);
        canvas_text(c, get_line_style(s->part, s->text.lines.v[i]), s->text.lines.v[i]);
    }
}

const struct screen_ops screen_task = {
    .name = "task",
    .keys = "esc back  tab log/diff/events  n/N next",
    .rows = count_rows,
    .draw = draw_rows,
    .head = draw_head,
};

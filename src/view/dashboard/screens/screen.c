#include "view/dashboard/screens/screen.h"

#include "base/mem.h"
#include "base/text/text.h"

#include <stdio.h>
#include <string.h>

enum { FRAME_ROWS = 4 }; /* state, views, message, keys */
enum { ANSWER_MAX = 40, MESSAGE_MAX = 4000 };
enum { FULL_NAMES_WIDTH = 52 }; /* from this width on the names of the views are not shortened */

static const struct screen_ops *const views[SCREEN_COUNT_] = {
    [SCREEN_TASKS] = &screen_tasks,       [SCREEN_GRAPH] = &screen_graph,
    [SCREEN_TIMELINE] = &screen_timeline, [SCREEN_CONFLICTS] = &screen_conflicts,
    [SCREEN_COSTS] = &screen_costs,       [SCREEN_TASK] = &screen_task,
};

void screen_init(struct screen *s, struct board *b)
{
    *s = (struct screen){.board = b, .typed = BUF_INIT, .follows = true, .columns = 80, .rows = 24};
    s->order = mem_array(b->n, sizeof(*s->order));
    screen_arrange(s);
    s->task = s->shown ? s->order[0] : 0;
}

void screen_done(struct screen *s)
{
    screen_text_clear(&s->text);
    vec_done(&s->text.lines);
    buf_done(&s->typed);
    free(s->order);
}

void screen_size(struct screen *s, size_t columns, size_t rows)
{
    s->columns = columns ? columns : 1;
    s->rows = rows ? rows : 1;
}

void screen_say(struct screen *s, bool trouble, const char *text)
{
    (void)snprintf(s->message, sizeof(s->message), "%s", text);
    s->trouble = trouble;
}

static void draw_counts(const struct board *b, struct canvas *c)
{
    size_t done = b->count[TASK_LANDED] + b->count[TASK_DONE], all = 0, busy = 0;
    for (int i = 0; i < TASK_STATE_COUNT_; i++) {
        all += b->count[i];
        busy += board_is_busy((enum task_state)i) ? b->count[i] : 0;
    }
    const struct {
        size_t n;
        const char *word;
        enum style style;
    } counts[] = {{busy, "running", STYLE_BUSY},
                  {b->count[TASK_FAILED], "failed", STYLE_BAD},
                  {b->count[TASK_CONFLICTED], "in conflict", STYLE_BAD},
                  {b->count[TASK_SKIPPED], "skipped", STYLE_WARN}};
    canvas_addf(c, "%zu/%zu done", done, all);
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        if (!counts[i].n)
            continue;
        canvas_add(c, ", ");
        canvas_style(c, counts[i].style);
        canvas_addf(c, "%zu %s", counts[i].n, counts[i].word);
        canvas_style(c, STYLE_PLAIN);
    }
}

static void draw_state(const struct screen *s, struct canvas *c)
{
    const struct board *b = s->board;
    autobuf struct buf text = BUF_INIT;
    canvas_line(c);
    bool paused = b->paused && !b->finished;
    canvas_text(c, paused ? STYLE_WARN : STYLE_BOLD, paused ? "paused" : b->state);
    canvas_add(c, " ");
    int64_t end = b->finished ? b->finished : s->now;
    screen_time(&text, b->started ? idle_without(&b->idle, b->started, end) : 0);
    buf_addstr(&text, "  ");
    canvas_add(c, text.s);
    draw_counts(b, c);
    buf_cut(&text, 0);
    if (b->usd > 0)
        buf_addf(&text, "  $%.2f", b->usd);
    if (b->tokens) {
        buf_addstr(&text, "  ");
        text_format_count(&text, b->tokens);
        buf_addstr(&text, " tokens");
    }
    if (b->workers && b->live)
        buf_addf(&text, "  %lld worker%s", (long long)b->workers, b->workers == 1 ? "" : "s");
    buf_addf(&text, "  %s", b->run);
    canvas_add(c, text.s);
}

/* Even the narrowest screen shows all views. */
static void draw_views(const struct screen *s, struct canvas *c)
{
    bool narrow = s->columns < FULL_NAMES_WIDTH;
    canvas_line(c);
    for (int i = 0; i < SCREEN_TASK; i++) {
        bool here = (enum screen_kind)i == s->kind;
        canvas_style(c, here ? STYLE_BOLD : STYLE_DIM);
        canvas_addf(c, "%s%d%s%.*s%s", here ? "[" : " ", i + 1, narrow ? "" : " ", narrow ? 5 : 16,
                    views[i]->name, here ? "]" : " ");
    }
}

/* Shows the end of the typed text if it is too long. */
static void draw_typed(const struct screen *s, struct canvas *c)
{
    const char *text = s->typed.s;
    size_t room = s->columns > canvas_width(c) + 1 ? s->columns - canvas_width(c) - 1 : 1;
    while (*text && text_width(text, strlen(text)) > room)
        for (text++; (*text & 0xc0) == 0x80; text++)
            ;
    canvas_addf(c, "%s_", text);
}

/* The keys that steer the run, and what we ask first: `before`, the task's id, `after`. */
static const struct steering {
    int key;
    enum wish_kind kind;
    int by; /* for WISH_WORKERS */
    int id_max;
    const char *before, *after;
} steering_keys[] = {
    {'s', WISH_STOP, 0, 24, "Stop ", "? (y/n) Its work is saved."},
    {'S', WISH_STOP_ALL, 0, 0, "Stop the run? (y/n) All work is saved.", ""},
    {'x', WISH_SKIP, 0, 24, "Skip ", " and its dependents? (y/n)"},
    {'b', WISH_BUDGET, 0, 0, "Budget ($5, 200ktokens): ", ""},
    {'R', WISH_FRESH, 0, 24, "Restart ", " from scratch? (y/n)"},
    {'m', WISH_SAY, 0, 16, "Say to ", ": "},
    {'r', WISH_RETRY},
    {'p', WISH_PAUSE},
    {'+', WISH_WORKERS, 1},
    {'-', WISH_WORKERS, -1},
};

static void draw_question(const struct screen *s, struct canvas *c)
{
    const struct steering *k = steering_keys;
    while (k->kind != s->asked.kind)
        k++;
    canvas_style(c, STYLE_WARN);
    canvas_addf(c, "%s%.*s%s", k->before, k->id_max, s->board->tasks[s->asked.task].id, k->after);
    if (k->kind == WISH_SAY)
        draw_typed(s, c);
    else if (k->kind == WISH_BUDGET)
        canvas_addf(c, "%s_", s->typed.s);
}

static const struct screen_ops *get_current_view(const struct screen *s)
{
    return views[s->kind];
}

/* The message line in quiet times: usage limits, else why the task at the cursor is not running. */
static void draw_status(const struct screen *s, struct canvas *c)
{
    const struct board *b = s->board;
    autobuf struct buf text = BUF_INIT;
    for (size_t i = 0; i < b->limits.list.n; i++) {
        const struct limit_shown *l = &b->limits.list.v[i];
        size_t parked = 0;
        for (size_t t = 0; t < b->n; t++)
            parked += b->tasks[t].lane == l->lane;
        if (l->until <= s->now)
            continue;
        buf_addstr(&text, text.len ? "; " : "");
        limit_text(l, parked, s->now, &text);
    }
    if (text.len) {
        canvas_text(c, STYLE_WARN, text.s);
        return;
    }
    if (!s->shown)
        return;
    if (get_current_view(s)->say)
        get_current_view(s)->say(s, &text);
    else
        board_why(b, s->task, s->now, &text);
    if (text.len)
        canvas_addf(c, "%s: %s", b->tasks[s->task].id, text.s);
}

static void draw_message(const struct screen *s, struct canvas *c)
{
    canvas_line(c);
    if (s->asked.kind)
        draw_question(s, c);
    else if (*s->message)
        canvas_text(c, s->trouble ? STYLE_BAD : STYLE_GOOD, s->message);
    else
        draw_status(s, c);
}

/* The keys that work on the task at the cursor. */
static const char *get_task_keys(const struct screen *s)
{
    const struct board_task *t = s->shown ? &s->board->tasks[s->task] : NULL;
    if (!t || t->state == TASK_LANDED || t->state == TASK_DONE)
        return "";
    if (board_is_over(t->state))
        return t->attempt ? "  r retry  m say" : "  r retry";
    return t->attempt ? "  s stop  m say" : "  x skip";
}

static void draw_keys(const struct screen *s, struct canvas *c)
{
    canvas_line(c);
    canvas_style(c, STYLE_DIM);
    if (s->help) {
        canvas_add(c, "up, down: more  any other key: back");
        return;
    }
    canvas_addf(c, "? help  q quit  %s", views[s->kind]->keys);
    if (s->board->live)
        canvas_addf(c, "%s  p %s  +/- workers  b budget", get_task_keys(s),
                    s->board->paused ? "continue" : "pause");
}

/* No line is wider than the narrowest screen. */
static const char *const help_lines[] = {
    "1-5 tab   the views",
    "up down   another task; also k and j",
    "pgup pgdn a page; home, end",
    "enter     one task; esc: back",
    "tab       in a task: log, diff, events",
    "n N       next task, previous task",
    "o         running first, or as planned",
    "s         stop the task, save its work",
    "S         stop the run",
    "x         skip it and its dependents",
    "r R       retry; restart from scratch",
    "m         send a message to its agent",
    "p         pause the run, continue it",
    "+ -       one worker more, one fewer",
    "b         raise the run's budget",
    "! e       shell, $EDITOR in workspace",
    "q d       leave; the run continues",
};
enum { HELP_LINES = ARRAY_LEN(help_lines) };

static void draw_help(const struct screen *s, size_t rows, struct canvas *c)
{
    for (size_t i = s->help_top; i < HELP_LINES && i < s->help_top + rows; i++) {
        canvas_line(c);
        canvas_add(c, help_lines[i]);
    }
}

/* The rows left for the part that scrolls. */
static size_t get_body_rows(const struct screen *s)
{
    autocanvas struct canvas head;
    canvas_init(&head, s->columns);
    if (get_current_view(s)->head)
        get_current_view(s)->head(s, &head);
    size_t taken = FRAME_ROWS + head.lines.n;
    return s->rows > taken ? s->rows - taken : 1;
}

static void keep_in_view(struct screen *s, size_t n)
{
    size_t rows = get_current_view(s)->rows(s), most = rows > n ? rows - n : 0;
    if (get_current_view(s)->row_of && s->shown) {
        size_t row = get_current_view(s)->row_of(s, s->task);
        if (row < s->top)
            s->top = row;
        if (row >= s->top + n)
            s->top = row - n + 1;
    } else if (s->follows) {
        s->top = most;
    }
    s->top = s->top < most ? s->top : most;
}

static void draw_body(struct screen *s, struct canvas *c)
{
    if (get_current_view(s)->head)
        get_current_view(s)->head(s, c);
    size_t n = get_body_rows(s);
    keep_in_view(s, n);
    get_current_view(s)->draw(s, s->top, n, c);
}

void screen_draw(struct screen *s, struct canvas *c)
{
    draw_state(s, c);
    if (s->rows > 2)
        draw_views(s, c);
    if (s->help && s->rows > FRAME_ROWS)
        draw_help(s, s->rows - FRAME_ROWS, c);
    else if (s->rows > FRAME_ROWS)
        draw_body(s, c);
    while (s->rows > FRAME_ROWS && c->lines.n > s->rows - 2) { /* the head was too long */
        struct canvas_line *l = &c->lines.v[--c->lines.n];
        buf_done(&l->text);
        vec_done(&l->spans);
    }
    while (c->lines.n + 2 < s->rows)
        canvas_line(c);
    if (s->rows > 3)
        draw_message(s, c);
    if (s->rows > 1)
        draw_keys(s, c);
}

static void show_view(struct screen *s, enum screen_kind kind)
{
    s->kind = kind;
    s->top = 0;
    s->follows = true;
}

static void open_task(struct screen *s)
{
    if (!s->shown || s->kind == SCREEN_TASK)
        return;
    s->back = s->kind;
    show_view(s, SCREEN_TASK);
}

static void close_task(struct screen *s)
{
    if (s->kind == SCREEN_TASK)
        show_view(s, s->back);
}

static void next_part(struct screen *s)
{
    s->part = (s->part + 1) % PART_COUNT_;
    s->top = 0;
    s->follows = s->part != PART_DIFF;
}

static void next_view(struct screen *s)
{
    if (s->kind == SCREEN_TASK)
        next_part(s);
    else
        show_view(s, (enum screen_kind)((s->kind + 1) % SCREEN_TASK));
}

/* Scrolls a text; at its end we follow it again. */
static void scroll_rows(struct screen *s, int64_t by)
{
    size_t n = get_body_rows(s), rows = get_current_view(s)->rows(s),
           most = rows > n ? rows - n : 0;
    int64_t to = (int64_t)s->top + by;
    s->top = to < 0 ? 0 : (size_t)to < most ? (size_t)to : most;
    s->follows = s->top == most;
}

/* Moves the cursor to the next row that is a task. */
static void move_cursor(struct screen *s, int64_t by)
{
    const struct screen_ops *v = get_current_view(s);
    if (!v->row_of) {
        scroll_rows(s, by);
        return;
    }
    int64_t rows = (int64_t)v->rows(s), row = (int64_t)v->row_of(s, s->task) + by;
    int64_t step = by < 0 ? -1 : 1;
    row = row < 0 ? 0 : row >= rows ? rows - 1 : row;
    for (int64_t at = row; at >= 0 && at < rows; at += step) {
        uint32_t task = v->task_at(s, (size_t)at);
        if (task < s->board->n) {
            s->task = task;
            return;
        }
    }
}

static void open_neighbour(struct screen *s, bool next)
{
    size_t row = screen_row_of(s, s->task);
    if (next ? row + 1 < s->shown : row > 0)
        s->task = s->order[next ? row + 1 : row - 1];
    s->top = 0;
    s->follows = true;
}

static struct screen_wish make_wish(const struct screen *s, enum wish_kind kind, int by)
{
    return (struct screen_wish){.kind = kind, .task = s->task, .by = by};
}

/* Erases the last character, which may have several bytes. */
static void erase_character(struct buf *typed)
{
    size_t len = typed->len;
    while (len && (typed->s[--len] & 0xc0) == 0x80)
        ;
    buf_cut(typed, len);
}

/* Appends a byte of a character to the answer. A key without a meaning here must not lose a
 * message. */
static bool append_typed(struct screen *s, int key)
{
    bool say = s->asked.kind == WISH_SAY;
    if (key == KEY_ERASE_) {
        erase_character(&s->typed);
        return true;
    }
    if (key < ' ' || key > (say ? 0xff : KEY_ERASE_))
        return say && (key == KEY_TAB_ || key >= KEY_UP_);
    if (s->typed.len < (say ? MESSAGE_MAX : ANSWER_MAX))
        buf_addch(&s->typed, (char)key);
    return true;
}

/* Handles a key while a question is open. */
static struct screen_wish handle_answer_key(struct screen *s, int key)
{
    struct screen_wish asked = s->asked, none = {0};
    bool typed = asked.kind == WISH_BUDGET || asked.kind == WISH_SAY;
    if (typed && append_typed(s, key))
        return none;
    s->asked = none;
    if (typed) {
        asked.text = s->typed.s;
        return key == KEY_ENTER_ && s->typed.len ? asked : none;
    }
    return key == 'y' || key == 'Y' ? asked : none;
}

static struct screen_wish ask_question(struct screen *s, enum wish_kind kind)
{
    buf_cut(&s->typed, 0);
    s->asked = make_wish(s, kind, 0);
    return (struct screen_wish){0};
}

static struct screen_wish handle_steering_key(struct screen *s, const struct steering *k)
{
    if (s->board->live)
        return k->before ? ask_question(s, k->kind) : make_wish(s, k->kind, k->by);
    screen_say(s, true, "the run has ended: nothing to steer");
    return (struct screen_wish){0};
}

static void handle_navigation_key(struct screen *s, int key)
{
    int64_t page = (int64_t)get_body_rows(s), all = (int64_t)get_current_view(s)->rows(s) + 1;
    if (key == KEY_UP_ || key == 'k')
        move_cursor(s, -1);
    else if (key == KEY_DOWN_ || key == 'j')
        move_cursor(s, 1);
    else if (key == KEY_PAGE_UP_)
        move_cursor(s, -page);
    else if (key == KEY_PAGE_DOWN_ || key == ' ')
        move_cursor(s, page);
    else if (key == KEY_HOME_ || key == 'g')
        move_cursor(s, -all);
    else if (key == KEY_END_ || key == 'G')
        move_cursor(s, all);
    else if (key == KEY_ENTER_ || key == KEY_RIGHT_)
        open_task(s);
    else if (key == KEY_ESCAPE_ || key == KEY_LEFT_ || key == KEY_ERASE_)
        close_task(s);
    else if (key == KEY_TAB_)
        next_view(s);
    else if (key >= '1' && key < '1' + SCREEN_TASK)
        show_view(s, (enum screen_kind)(key - '1'));
    else if (key == 'n' || key == 'N')
        open_neighbour(s, key == 'n');
    else if (key == 'o')
        s->sorted = !s->sorted, screen_arrange(s);
    else if (key == '?')
        s->help = true, s->help_top = 0;
}

/* On a small screen the help has several pages. */
static void scroll_help(struct screen *s, int key)
{
    size_t rows = s->rows > FRAME_ROWS ? s->rows - FRAME_ROWS : 1;
    size_t most = HELP_LINES > rows ? HELP_LINES - rows : 0;
    bool down = key == KEY_DOWN_ || key == 'j' || key == KEY_PAGE_DOWN_ || key == ' ';
    bool up = key == KEY_UP_ || key == 'k' || key == KEY_PAGE_UP_;
    if (down && s->help_top < most)
        s->help_top++;
    if (up && s->help_top)
        s->help_top--;
    s->help = down || up;
}

struct screen_wish screen_key(struct screen *s, int key)
{
    *s->message = '\0';
    if (s->asked.kind)
        return handle_answer_key(s, key);
    if (key == KEY_INTERRUPT_ || (!s->help && (key == 'q' || key == 'd')))
        return make_wish(s, WISH_QUIT, 0);
    if (s->help) {
        scroll_help(s, key);
        return (struct screen_wish){0};
    }
    for (size_t i = 0; s->shown && i < ARRAY_LEN(steering_keys); i++) {
        if (steering_keys[i].key == key)
            return handle_steering_key(s, &steering_keys[i]);
    }
    if ((key == '!' || key == 'e') && s->shown)
        return make_wish(s, key == '!' ? WISH_SHELL : WISH_EDITOR, 0);
    handle_navigation_key(s, key);
    return (struct screen_wish){0};
}

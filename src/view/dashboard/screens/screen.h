/*
 * struct screen: the dashboard without the terminal. It takes keys, draws lines, and returns
 * requests of the user. Each view has its own file here, with a table of its operations. screen.c
 * has the parts that all views share: the frame, scrolling, questions, help.
 */
#ifndef VIEW_DASHBOARD_SCREENS_SCREEN_H
#define VIEW_DASHBOARD_SCREENS_SCREEN_H

#include "view/dashboard/board.h"
#include "view/dashboard/canvas.h"

/* Keys that are not characters. */
enum {
    KEY_ESCAPE_ = 0x1b,
    KEY_ENTER_ = '\n',
    KEY_TAB_ = '\t',
    KEY_ERASE_ = 0x7f,
    KEY_INTERRUPT_ = 0x03,
    KEY_UP_ = 0x110000, /* above all characters */
    KEY_DOWN_,
    KEY_LEFT_,
    KEY_RIGHT_,
    KEY_PAGE_UP_,
    KEY_PAGE_DOWN_,
    KEY_HOME_,
    KEY_END_,
};

enum screen_kind {
    SCREEN_TASKS,
    SCREEN_GRAPH,
    SCREEN_TIMELINE,
    SCREEN_CONFLICTS,
    SCREEN_COSTS,
    SCREEN_TASK,
    SCREEN_COUNT_,
};

/* The part of a task that its view shows below the facts. */
enum screen_part { PART_LOG, PART_DIFF, PART_EVENTS, PART_COUNT_ };

/* Requests of the user, to be carried out by the owner of the terminal. */
enum wish_kind {
    WISH_NONE,
    WISH_STOP,     /* the task */
    WISH_STOP_ALL, /* the run */
    WISH_SKIP,
    WISH_PAUSE, /* or continue */
    WISH_WORKERS,
    WISH_BUDGET,
    WISH_RETRY,
    WISH_FRESH, /* retry from scratch */
    WISH_SAY,
    WISH_SHELL,
    WISH_EDITOR,
    WISH_QUIT,
};

struct screen_wish {
    enum wish_kind kind;
    uint32_t task;
    int by; /* change of the number of workers */
    const char
        *text; /* the text that the user typed (an amount, a message); valid until the next key */
};

/* Lines that do not come from the board: a log or a diff. */
struct screen_text {
    VEC(char *) lines;
    bool loading;
};
void screen_text_clear(struct screen_text *t);
void screen_text_add(struct screen_text *t, const char *s, size_t len); /* splits s into lines */

struct screen {
    struct board *board;
    enum screen_kind kind, back; /* back: the view from which the task was opened */
    enum screen_part part;
    size_t columns, rows; /* size of the terminal */
    int64_t now;          /* ms since 1970 */
    uint32_t task;        /* the task at the cursor */
    size_t top;           /* first visible row */
    bool follows;         /* stay at the end of a growing text */
    bool sorted;          /* running tasks first */
    bool help;
    size_t help_top;
    struct screen_text text;  /* the log or diff of `task` */
    struct screen_wish asked; /* waiting for the answer to this question */
    struct buf typed;         /* the answer so far */
    char message[256];        /* shown until the next key */
    bool trouble;             /* the message reports an error */
    uint32_t *order;          /* the tasks in the order shown */
    size_t shown;             /* number of tasks in `order` */
};

struct screen_ops {
    const char *name;
    const char *keys;                       /* help for this view's own keys */
    size_t (*rows)(const struct screen *s); /* number of rows */
    /* Draws rows [from, from + n), or fewer if there are no more. */
    void (*draw)(const struct screen *s, size_t from, size_t n, struct canvas *c);
    /* Draws fixed lines above the rows. */
    void (*head)(const struct screen *s, struct canvas *c);
    /* The row of a task; NULL if the rows are lines of text. */
    size_t (*row_of)(const struct screen *s, uint32_t task);
    uint32_t (*task_at)(const struct screen *s, size_t row);
    /* A status line for the task at the cursor; NULL: board_why(). */
    void (*say)(const struct screen *s, struct buf *out);
};

extern const struct screen_ops screen_tasks, screen_graph, screen_timeline, screen_conflicts,
    screen_costs, screen_task;

void screen_init(struct screen *s, struct board *b);
void screen_done(struct screen *s);

/* Call this first: sets the size of the terminal. */
void screen_size(struct screen *s, size_t columns, size_t rows);

/* Call this when something has changed that decides which tasks are shown, or their order. */
void screen_arrange(struct screen *s);

/* Handles a key. The caller carries out the returned request. */
struct screen_wish screen_key(struct screen *s, int key);

/* Shows the result of a request. */
void screen_say(struct screen *s, bool trouble, const char *text);

/* Draws as many lines as the terminal has rows, or fewer. */
void screen_draw(struct screen *s, struct canvas *c);

/* Helpers for the views. */
const char *screen_state(const struct board_task *t); /* as one word */
enum style screen_style(const struct board_task *t);
void screen_time(struct buf *out, int64_t ms); /* in whole seconds: "0s", "1m 5s" */
int64_t screen_spent(const struct screen *s, const struct board_task *t); /* ms; -1: not started */
size_t screen_id_width(const struct screen *s, size_t part); /* at most columns / part, or 8 */

/* For views whose rows are s->order. */
size_t screen_count_rows(const struct screen *s);
size_t screen_row_of(const struct screen *s, uint32_t task);
uint32_t screen_task_at(const struct screen *s, size_t row);

#endif

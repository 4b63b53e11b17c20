/*
 * struct screen: the dashboard, without the terminal. Keys go in; lines come out, and what a person
 * wants to be done. There is one file for each view (screen_NAME.c), with one table of what it can
 * do; this one has what they share: the frame, moving about, questions, help.
 */
#ifndef VIEW_DASHBOARD_SCREENS_SCREEN_H
#define VIEW_DASHBOARD_SCREENS_SCREEN_H

#include "view/dashboard/board.h"
#include "view/dashboard/canvas.h"

/* Keys besides characters. */
enum {
    KEY_ESCAPE_ = 0x1b,
    KEY_ENTER_ = '\n',
    KEY_TAB_ = '\t',
    KEY_ERASE_ = 0x7f,
    KEY_INTERRUPT_ = 0x03,
    KEY_UP_ = 0x110000, /* behind all characters */
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

/* What the view of one task shows below its facts. */
enum screen_part { PART_LOG, PART_DIFF, PART_EVENTS, PART_COUNT_ };

/* What is to be done, by whoever has the terminal. */
enum wish_kind {
    WISH_NONE,
    WISH_STOP,     /* the task */
    WISH_STOP_ALL, /* the run */
    WISH_SKIP,
    WISH_PAUSE, /* or go on */
    WISH_WORKERS,
    WISH_BUDGET,
    WISH_RETRY,
    WISH_FRESH, /* likewise, from its beginning */
    WISH_SAY,
    WISH_SHELL,
    WISH_EDITOR,
    WISH_QUIT,
};

struct screen_wish {
    enum wish_kind kind;
    uint32_t task;
    int by;           /* workers */
    const char *text; /* what was typed: an amount, something to say; lives until the next key */
};

/* Lines that are not of the board: a log, a diff. */
struct screen_text {
    VEC(char *) lines;
    bool loading;
};
void screen_text_clear(struct screen_text *t);
void screen_text_add(struct screen_text *t, const char *s, size_t len); /* all its lines */

struct screen {
    struct board *board;
    enum screen_kind kind, back; /* back: where the view of a task was opened from */
    enum screen_part part;
    size_t columns, rows; /* of the terminal */
    int64_t now;          /* ms since 1970 */
    uint32_t task;        /* that the cursor is on */
    size_t top;           /* first row that is shown */
    bool follows;         /* the end of a text is shown, also as that grows */
    bool sorted;          /* what is under way comes first */
    bool help;
    size_t help_top;
    struct screen_text text;  /* of the log or diff of `task` */
    struct screen_wish asked; /* a question is open */
    struct buf typed;         /* as the answer to it */
    char message[256];        /* what there is to say, until the next key */
    bool trouble;             /* that is something that went wrong */
    uint32_t *order;          /* tasks as they are shown */
    size_t shown;             /* how many */
};

struct screen_ops {
    const char *name;
    const char *keys; /* what can be typed here, besides what can be everywhere */
    size_t (*rows)(const struct screen *s); /* how many there are */
    /* Draws rows [from, from + n), fewer where there are no more. */
    void (*draw)(const struct screen *s, size_t from, size_t n, struct canvas *c);
    /* Lines above them that stay. */
    void (*head)(const struct screen *s, struct canvas *c);
    /* The row of a task, where rows are tasks; NULL: they are lines of a text. */
    size_t (*row_of)(const struct screen *s, uint32_t task);
    uint32_t (*task_at)(const struct screen *s, size_t row);
    /* What there is to say of the task at the cursor; NULL: why it is not under way. */
    void (*say)(const struct screen *s, struct buf *out);
};

extern const struct screen_ops screen_tasks, screen_graph, screen_timeline, screen_conflicts,
    screen_costs, screen_task;

void screen_init(struct screen *s, struct board *b);
void screen_done(struct screen *s);

/* The terminal's size and the time, before anything else. */
void screen_size(struct screen *s, size_t columns, size_t rows);

/* Something has changed that decides which tasks are shown, and in which order. */
void screen_arrange(struct screen *s);

/* What a key does; the wish is for the caller, where there is one. */
struct screen_wish screen_key(struct screen *s, int key);

/* What there is to say about a wish. */
void screen_say(struct screen *s, bool trouble, const char *text);

/* Exactly as many lines as the terminal has rows, or fewer. */
void screen_draw(struct screen *s, struct canvas *c);

/* For the views. */
const char *screen_state(const struct board_task *t); /* in one word */
enum style screen_style(const struct board_task *t);
void screen_time(struct buf *out, int64_t ms); /* in whole seconds: "0s", "1m 5s" */
int64_t screen_spent(const struct screen *s, const struct board_task *t); /* ms; -1: not begun */
size_t screen_id_width(const struct screen *s, size_t most);
size_t screen_row_of(const struct screen *s, uint32_t task); /* where rows are s->order */
uint32_t screen_task_at(const struct screen *s, size_t row);

#endif

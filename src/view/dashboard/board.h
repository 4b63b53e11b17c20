/*
 * struct board: the state of a run for the dashboard. It is fed with events and with rows of the
 * store; if they differ, the rows win. The screens draw only from the board.
 */
#ifndef VIEW_DASHBOARD_BOARD_H
#define VIEW_DASHBOARD_BOARD_H

#include "base/strv.h"
#include "base/vec.h"
#include "plan/schedule/event.h"
#include "plan/schedule/graph.h"
#include "run/run.h"
#include "store/store.h"
#include "view/activity.h"
#include "view/idle.h"
#include "view/limit_text.h"

/* A time span that a task spent in one state. */
struct board_span {
    int64_t from, to; /* ms since 1970; to: 0 while it lasts */
    enum task_state state;
};

struct board_task {
    const char *id; /* owned by the plan */
    bool wanted;
    enum task_state state;
    int attempt;
    int64_t started, finished; /* ms since 1970; 0: not yet */
    int64_t resume;            /* the time of the next attempt if the task waits for it; else 0 */
    int64_t lane;              /* the lane that it is parked in; below 0: not parked */
    struct activity doing;
    char *reason; /* or NULL */
    char *engine, *workspace, *branch, *start, *commit;
    int64_t before, tokens; /* before: of earlier attempts; tokens: with this attempt */
    double usd_before, usd; /* below 0: unknown */
    int64_t files;          /* number of changed files; below 0: unknown */
    bool stopping;
    VEC(struct board_span) spans;
};

/* The relation between the unlanded changes of two tasks. */
enum board_meet {
    MEET_APART,    /* no path in common */
    MEET_TOGETHER, /* the same paths, and git can merge them */
    MEET_UNKNOWN,  /* the same paths; not tested whether they merge */
    MEET_CONFLICT,
};

/* The tasks with unlanded changes, and the relation of each pair. */
struct board_meetings {
    uint32_t *tasks;
    size_t n;
    enum board_meet *cells; /* n * n */
    enum board_meet *base;  /* each task against what has landed */
    bool known;             /* the comparison has been made */
};

struct board_note {
    int64_t task; /* -1: the run itself */
    char *text;
};

struct board {
    const struct plan *plan;
    const struct graph *graph;
    struct board_task *tasks;
    size_t n;
    const char *run;           /* its id */
    int64_t started, finished; /* ms since 1970 */
    char state[16];            /* "running", "finished", ... */
    char *base;                /* the branch that it lands on, or NULL */
    bool live, paused;         /* live: it accepts requests */
    struct idle idle;
    int64_t workers, tokens; /* workers: 0 if unknown */
    double usd;
    struct budget budget;
    struct limits_shown limits;
    VEC(struct board_note) notes; /* the events as lines of text */
    struct board_meetings meetings;
    size_t count[TASK_STATE_COUNT_];
};

/* `plan`, `graph` and `run` must outlive the board. */
void board_init(struct board *b, const struct plan *plan, const struct graph *graph,
                const char *run);
void board_done(struct board *b);

/* Limits the board to the tasks that this run includes. */
void board_want(struct board *b, const bool *wanted);

void board_event(struct board *b, const struct event *ev);
void board_row(struct board *b, const struct store_task *row);
void board_settle(struct board *b); /* call after the last row: computes counts and totals */

bool board_is_over(enum task_state state);
bool board_is_busy(enum task_state state); /* has started and is not over */

/* Explains in a few words why a task is not running. */
void board_why(const struct board *b, uint32_t task, int64_t now, struct buf *out);

void board_set_meetings(struct board *b, struct board_meetings *m); /* takes ownership of *m */
void board_meetings_done(struct board_meetings *m);

#endif

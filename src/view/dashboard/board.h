/*
 * struct board: a run as the dashboard knows it. It is fed with events, and with the rows of the
 * store where there is one, which are believed more; screens are made of it and of nothing else.
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

/* A time that a task has been in one state. */
struct board_span {
    int64_t from, to; /* ms since 1970; to is 0 as long as it is */
    enum task_state state;
};

struct board_task {
    const char *id; /* the plan's */
    bool wanted;
    enum task_state state;
    int attempt;
    int64_t started, finished; /* ms since 1970; 0: not yet */
    int64_t resume; /* when the next attempt begins, of a task that waits for it; else 0 */
    int64_t lane;   /* that it is parked in; below 0: it is not */
    struct activity doing;
    char *reason; /* or NULL */
    char *engine, *workspace, *branch, *start, *commit;
    int64_t before, tokens; /* of earlier attempts, and of this one with them */
    double usd_before, usd; /* below 0: not known */
    int64_t files;          /* that it has changed; below 0: not known */
    bool stopping;
    VEC(struct board_span) spans;
};

/* What can be said of two tasks, both of which have changed something that has not landed. */
enum board_meet {
    MEET_APART,    /* no path in common */
    MEET_TOGETHER, /* the same paths, and they merge */
    MEET_UNKNOWN,  /* the same paths, and that is all that is known */
    MEET_CONFLICT,
};

/* Those tasks, and what is known of each pair. */
struct board_meetings {
    uint32_t *tasks;
    size_t n;
    enum board_meet *cells; /* n * n */
    enum board_meet *base;  /* of each with what has landed */
    bool known;             /* it was looked at */
};

struct board_note {
    int64_t task; /* -1: of the run */
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
    bool live, paused;         /* live: it can be steered */
    struct idle idle;
    int64_t workers, tokens; /* workers: 0: not known */
    double usd;
    struct budget budget;
    struct limits_shown limits;
    VEC(struct board_note) notes; /* what has happened, in words */
    struct board_meetings meetings;
    size_t count[TASK_STATE_COUNT_];
};

/* Plan, graph and id must outlive it. */
void board_init(struct board *b, const struct plan *plan, const struct graph *graph,
                const char *run);
void board_done(struct board *b);

/* Only these are to be run. */
void board_want(struct board *b, const bool *wanted);

void board_event(struct board *b, const struct event *ev);
void board_row(struct board *b, const struct store_task *row);
void board_settle(struct board *b); /* behind the last row: counts and totals */

/* The lowest that is left; members that are not wanted are passed over. */
bool board_is_over(enum task_state state);
bool board_is_busy(enum task_state state); /* has begun, and is not over */

/* Why a task is not under way, in a few words. */
void board_why(const struct board *b, uint32_t task, int64_t now, struct buf *out);

void board_set_meetings(struct board *b, struct board_meetings *m); /* they become the board's */
void board_meetings_done(struct board_meetings *m);

#endif

/*
 * struct live: the display of a run on a terminal. Finished events scroll by as lines
 * (event_lines.h). Below them is a block that we redraw in place: a line for each active task, and
 * the totals. It receives events and makes the text and the escape sequences; the caller writes
 * them.
 *
 * The cursor stays at the start of the line below the block, so a killed program leaves the
 * terminal usable.
 */
#ifndef VIEW_LIVE_H
#define VIEW_LIVE_H

#include "base/vec.h"
#include "plan/schedule/event.h"
#include "plan/schedule/graph.h"
#include "run/run.h"
#include "view/activity.h"
#include "view/limit_text.h"

struct live_task {
    enum task_state state;
    int attempt;
    int64_t since;  /* start of the attempt; ms since 1970 */
    int64_t resume; /* the time of the next attempt if the task waits for it; else 0 */
    int64_t lane;   /* the lane that it is parked in; below 0: not parked */
    struct activity doing;
    int64_t tokens; /* of this attempt */
    double usd;
};

struct live {
    const struct plan *plan;
    const struct graph *graph;
    bool color;
    struct live_task *tasks;
    VEC(uint32_t) active; /* running or waiting for a retry, oldest first */
    size_t count[TASK_STATE_COUNT_];
    int64_t *rest; /* per task: ms from its start to the end of the plan, along the longest path */
    int64_t started, tokens;
    double usd;
    struct limits_shown limits;
    struct buf scroll;  /* lines that have not scrolled by yet */
    struct buf painted; /* the block on the screen */
    size_t columns;     /* the width of the screen at that time */
};

/* `plan` and `graph` must outlive it. wanted: as in run_options. */
void live_init(struct live *l, const struct plan *plan, const struct graph *graph,
               const bool *wanted, bool color);
void live_done(struct live *l);

void live_event(struct live *l, const struct event *ev);

/* Sets the exact state of a running task: events report that a task was verified, not that its
 * verification has started. */
void live_state(struct live *l, uint32_t task, enum task_state state);

/* Sets the state of a task that was over before the run was resumed. */
void live_recall(struct live *l, uint32_t task, enum task_state state);

/* Appends the lines of the block for a screen of that size. No line reaches the last column, and
 * one row stays free for the cursor. The totals come last. A screen has at least one column and
 * one row. */
void live_block(const struct live *l, int64_t now, size_t columns, size_t rows, struct buf *out);

/* Appends the sequences that update the screen, or nothing if it is up to date. */
void live_paint(struct live *l, int64_t now, size_t columns, size_t rows, struct buf *out);

/* Removes the block; the remaining lines scroll by. */
void live_finish(struct live *l, size_t columns, size_t rows, struct buf *out);

/* Call this after others have written to the screen: the old block stays, and a new one follows. */
void live_forget(struct live *l);

#endif

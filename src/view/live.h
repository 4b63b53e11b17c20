/*
 * struct live: a run as it looks on a terminal. What has ended scrolls by in the words of
 * event_lines.h; below it is a block that is drawn again in place: a line for each task that is
 * under way, and the totals. It is fed with events and makes text and the escape sequences to show
 * it; writing them is the caller's.
 *
 * The cursor rests at the beginning of the line below the block, so a program that is killed leaves
 * a terminal that is as good as before.
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
    int64_t since;  /* when the attempt began; ms since 1970 */
    int64_t resume; /* when the next attempt begins, of a task that waits for it; else 0 */
    int64_t lane;   /* that it is parked in; below 0: it is not */
    struct activity doing;
    int64_t tokens; /* of this attempt */
    double usd;
};

struct live {
    const struct plan *plan;
    const struct graph *graph;
    bool color;
    struct live_task *tasks;
    VEC(uint32_t) active; /* under way or waiting for a retry, the oldest first */
    size_t count[TASK_STATE_COUNT_];
    int64_t *rest; /* of each task: ms from its start to the end of the plan, on the longest way */
    int64_t started, tokens;
    double usd;
    struct limits_shown limits;
    struct buf scroll;  /* lines that are still to scroll by */
    struct buf painted; /* the block that is on the screen */
    size_t columns;     /* of the screen, then */
};

/* Plan and graph must outlive it. wanted: as in run_options. */
void live_init(struct live *l, const struct plan *plan, const struct graph *graph,
               const bool *wanted, bool color);
void live_done(struct live *l);

void live_event(struct live *l, const struct event *ev);

/* Where a task that is under way stands: events tell that it was verified, not that it is being. */
void live_state(struct live *l, uint32_t task, enum task_state state);

/* A task that was at its end before the run was gone on with. */
void live_recall(struct live *l, uint32_t task, enum task_state state);

/* Appends the lines of the block for a screen of that size: none reaches its last column, and they
 * leave room for the cursor's line. The totals come last. A screen has at least one column and one
 * row. */
void live_block(const struct live *l, int64_t now, size_t columns, size_t rows, struct buf *out);

/* Appends what brings the screen up to date, or nothing where it is. */
void live_paint(struct live *l, int64_t now, size_t columns, size_t rows, struct buf *out);

/* Takes the block away; lines that are still to scroll by do so. */
void live_finish(struct live *l, size_t columns, size_t rows, struct buf *out);

/* Others have written on the screen meanwhile: the block stays where it is, a new one follows. */
void live_forget(struct live *l);

#endif

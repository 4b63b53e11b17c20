/*
 * A lane is all work that one engine does with one account, which may meet a usage limit. Then no
 * task of the lane starts until the limit resets. One task goes first; when it shows that the limit
 * is over, the others follow one by one. The scheduler decides which task waits
 * (plan/schedule/sched.h); we decide when the lane opens.
 */
#ifndef RUN_LIMITS_LANE_H
#define RUN_LIMITS_LANE_H

#include "run/run_private.h"

struct lane {
    struct run *run;
    int32_t index; /* in run->lanes and in the scheduler */
    enum engine engine;
    char *key; /* engine, account, model; used only to compare */
    enum {
        LANE_OPEN,
        LANE_CLOSED,
        LANE_TRIED,    /* one task may start, or has started */
        LANE_FOLLOWED, /* the limit is over, and waiting tasks start one by one */
    } state;
    int64_t until; /* end of the pause; ms since 1970 */
    int pauses;    /* number of pauses without a known reset, since the lane was last open */
    int64_t probe; /* the task that goes first, or -1 */
    struct watch *timer;
};

/* Assigns the tasks to lanes; needs the scheduler. */
void lanes_init(struct run *run);
void lanes_done(struct run *run);

/* Closes the lane of a task that met a limit. reset: ms since 1970; a time in the past means
 * unknown. Returns ms until the lane is tried again. */
int64_t lane_close(struct run *run, uint32_t task, int64_t reset, const char *reason);

/* The number of a task's lane in events. */
int32_t lane_index(struct run *run, uint32_t task);

/* Restores the state in which a dead engine left the lane. */
void lane_recall(struct run *run, uint32_t task, int64_t until, const char *reason);

/* An attempt starts, in the lane that the scheduler chose. */
void lane_enter(struct run *run, uint32_t task);
/* The attempt's agent has shown that the limit, if any, is over. */
void lane_prove(struct run *run, uint32_t task);
/* The attempt has ended. If it went first and has shown nothing, another one goes first. */
void lane_leave(struct run *run, uint32_t task);

/* Moves the task to its fallback lane for good. Returns false if that lane does not exist or is
 * closed. */
bool lane_fall_back(struct run *run, uint32_t task);
/* The engine of the task's fallback. */
enum engine lane_fallback_engine(const struct run *run, uint32_t task);

#endif

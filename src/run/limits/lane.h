/*
 * Lanes: what one engine does by one account, whose usage limit it may meet. Then nothing of the
 * lane starts until the limit resets; one task goes first, and when it shows that the limit is over
 * the others follow, not all at once. Who waits is the scheduler's (plan/schedule/sched.h); when is
 * ours.
 */
#ifndef RUN_LIMITS_LANE_H
#define RUN_LIMITS_LANE_H

#include "run/run_private.h"

struct lane {
    struct run *run;
    int32_t index; /* in run->lanes and in the scheduler */
    enum engine engine;
    char *key; /* engine, account, model; only ever compared */
    enum {
        LANE_OPEN,
        LANE_CLOSED,
        LANE_TRIED,    /* one task may start, or has */
        LANE_FOLLOWED, /* the limit is over, and those that waited start one by one */
    } state;
    int64_t until; /* while it is closed; ms since 1970 */
    int pauses;    /* without a known reset, since it was last open */
    int64_t probe; /* the task that goes first, or -1 */
    struct watch *timer;
};

/* Sorts the tasks into lanes; the scheduler must be there. */
void lanes_init(struct run *run);
void lanes_done(struct run *run);

/* The lane has met a limit. reset: ms since 1970; one that is not to come is not known. Returns ms
 * until the lane is tried again. */
int64_t lane_close(struct run *run, uint32_t task, int64_t reset, const char *reason);

/* The number that a task's lane has in events. */
int32_t lane_index(struct run *run, uint32_t task);

/* As it was left by an engine that is gone. */
void lane_recall(struct run *run, uint32_t task, int64_t until, const char *reason);

/* An attempt begins, by the lane that the scheduler has chosen. */
void lane_enter(struct run *run, uint32_t task);
/* Its agent has shown that the limit is over, if there was one. */
void lane_prove(struct run *run, uint32_t task);
/* It is over; where it went first and has shown nothing, another one goes. */
void lane_leave(struct run *run, uint32_t task);

/* From now on the task goes by its second lane alone; false where it has none that is open. */
bool lane_fall_back(struct run *run, uint32_t task);
/* What it is done by then. */
enum engine lane_fallback_engine(const struct run *run, uint32_t task);

#endif

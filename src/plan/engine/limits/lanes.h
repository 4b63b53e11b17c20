/*
 * struct lanes: the lanes of a run, and the lane that each task uses now. A pure value: callers
 * report events, and the lanes open and close themselves in the scheduler.
 *
 * A lane is all work that one engine does with one account, which may meet a usage limit. Then the
 * lane is closed until the limit resets: none of its tasks starts. One task goes first, the probe.
 * When it shows that the limit is over, the others follow one by one. A task may have a fallback
 * lane, which it uses while its own one is closed.
 *
 * Times are ms since 1970. `random` is any number: it spreads the starts of tasks that wait for the
 * same reset.
 */
#ifndef PLAN_ENGINE_LANES_H
#define PLAN_ENGINE_LANES_H

#include "plan/schedule/sched.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum lane_state {
    LANE_OPEN,
    LANE_CLOSED,
    LANE_TRIED,    /* one task may start, or has started */
    LANE_FOLLOWED, /* the limit is over, and waiting tasks start one by one */
};

struct lane {
    enum lane_state state;
    int64_t until; /* end of the last pause */
    int pauses;    /* number of pauses without a known reset, since the limit was last over */
    int64_t probe; /* the task that goes first, or -1 */
};

struct lanes {
    struct sched *sched;
    struct lane *list;
    size_t count;
    int32_t *used; /* per task: the lane of its current or last attempt; its own lane before that */
};

/* Creates n open lanes without tasks. */
void lanes_init(struct lanes *l, struct sched *sched, size_t n);
void lanes_done(struct lanes *l);

/* Sets the lanes of a task that has not started; fallback: -1: none. */
void lanes_assign(struct lanes *l, uint32_t task, int32_t own, int32_t fallback);

/* The attempt of a task met a limit. A reset in the past is unknown. If several attempts meet a
 * limit together, the first one sets the pause, but we believe a later reset. Returns true if this
 * closed the lane, or closed it for longer. */
bool lanes_meet_limit(struct lanes *l, uint32_t task, int64_t reset, int64_t now, uint32_t random);

/* Closes the lane of a task again, as a dead engine left it. Returns false if it is closed for as
 * long already, or the time is over. */
bool lanes_recall(struct lanes *l, uint32_t task, int64_t until, int64_t now);

/* An attempt starts, in the lane that the scheduler chose. */
void lanes_enter(struct lanes *l, uint32_t task);

/* The attempt's agent has shown that there is no limit. Returns true if it was the probe: the limit
 * is over. */
bool lanes_prove(struct lanes *l, uint32_t task);

/* The attempt has ended. If it was the probe and has shown nothing, another one goes first. */
void lanes_leave(struct lanes *l, uint32_t task);

/* Moves the task to its fallback lane for good. Returns false if it has none, uses it already, or
 * it is closed. */
bool lanes_fall_back(struct lanes *l, uint32_t task, int32_t fallback);

/* The next attempts of the task use its current lane: a session belongs to one engine and one
 * account. */
void lanes_keep(struct lanes *l, uint32_t task);

/* Time has passed: lets a probe start, or the next task that follows. */
void lanes_wake(struct lanes *l, int32_t lane, int64_t now);

/* Milliseconds until the next lanes_wake(), after each event that returned true and after
 * lanes_wake(); -1: not needed. */
int64_t lanes_wake_after(const struct lanes *l, int32_t lane, int64_t now, uint32_t random);

#endif

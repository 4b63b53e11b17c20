/*
 * The life of a task: its states, and the table of the events that lead from one to the next.
 *
 *     waiting -> ready -> preparing -> running -> committing -> landing <-> verifying
 *        |         |          |           |            |            |
 *     skipped      +----------+-----------+------------+------------+--> failed, or waiting again
 *                                         |                         |
 *                                       done              landed | conflicted
 *
 * A resumed session has no preparation. Work that is done already needs no agent: its task goes
 * from preparing to landing. A person can bring each ended task back to waiting.
 */
#ifndef PLAN_ENGINE_TASK_LIFE_H
#define PLAN_ENGINE_TASK_LIFE_H

#include "plan/engine/task_state.h"

#include <stdbool.h>

enum life_event {
    LIFE_DUE,        /* the time until its next attempt is over */
    LIFE_BEGAN,      /* an attempt began to prepare its workspace */
    LIFE_STARTED,    /* its agent started */
    LIFE_FINISHED,   /* its agent is done: we commit its work */
    LIFE_QUEUED,     /* it waits for its turn to land */
    LIFE_MERGED,     /* its commit is merged with the tip: we verify the result */
    LIFE_LANDED,     /* its commit is in the tip, or an earlier landing stays */
    LIFE_UNCHANGED,  /* it ended well with nothing to land */
    LIFE_CONFLICTED, /* its commit conflicts with the tip: a person resolves that */
    LIFE_FAILED,
    LIFE_WAITS,   /* it waits for its next attempt: a time, a limit, a worker or a person */
    LIFE_SKIPPED, /* a task that it needs did not succeed, or a person skipped it */
    LIFE_EVENT_COUNT_,
};

/* Sets *state to the next state. Returns false, and changes nothing, if no row of the table leads
 * from this state. */
bool task_life_advance(enum task_state *state, enum life_event event);

/* True if the task has ended; it may live again. */
bool task_has_ended(enum task_state state);

/* True if the task has ended well: tasks that need it can start. */
bool task_has_succeeded(enum task_state state);

#endif

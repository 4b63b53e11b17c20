/*
 * Retries of a task: how often each class of failure is retried, and how long the task waits before
 * that.
 */
#ifndef PLAN_ENGINE_ATTEMPT_RETRY_H
#define PLAN_ENGINE_ATTEMPT_RETRY_H

#include "plan/plan.h"

struct retries {
    const struct retry *plan; /* from the plan */
    int used[FAILURE_COUNT_]; /* by failure class */
    bool no_wait;             /* the user does not want to wait for limits */
    bool reverts;             /* the last attempt would have undone landed work of others */
    bool budget_spent;        /* of the task or of the run */
};

/* The number of retries if the plan does not set it. */
int retry_default_times(enum failure failure);

/* The number of retries that the task has in all, and whether one is left. */
int retry_times(const struct retries *r, enum failure failure);
bool retry_is_left(const struct retries *r, enum failure failure);

/* True if the task waits for the reset of a limit. */
bool retry_parks(const struct retries *r);

/* Milliseconds before a retry; grows with `times`, the number of earlier pauses. */
int64_t retry_backoff(enum failure failure, int times, uint32_t random);

/* Adds or subtracts up to a quarter, so that tasks that failed together do not retry together. The
 * middle of the random numbers, RETRY_MIDDLE, changes nothing. */
#define RETRY_MIDDLE 0x80000000U
int64_t retry_spread(int64_t ms, uint32_t random);

#endif

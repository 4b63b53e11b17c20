/*
 * Parking: a task that has met a usage limit waits for its reset, without a worker, and without
 * spending a retry where the reset is known. Where its engine can go on with the session, its
 * workspace stays as it is; elsewhere it begins again.
 */
#ifndef RUN_LIMITS_PARK_H
#define RUN_LIMITS_PARK_H

#include "run/run_private.h"

/* When the limit that the attempt met resets, as far as its agent has said so; 0: it has not. */
int64_t park_reset(const struct attempt *job);

/* Decides for an attempt that has met a limit, whose reason is set; its lane is closed from then
 * on. Sets job->parks and job->keeps. Returns ms until the lane is tried again, or -1: the task
 * does not wait for that. */
int64_t park(struct attempt *job);

/* The session that it goes on in. */
const char *park_session(const struct attempt *job);

/* The attempt is over, and the task waits. */
void park_wait(struct attempt *job);

/* The run is stopped: what is in workspaces of tasks that wait is saved; they stay for those who go
 * on with the run. */
void park_save_all(struct run *run);

#endif

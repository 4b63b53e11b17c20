/*
 * Parks a task that has met a usage limit. The task waits for the reset without a worker, and
 * without using a retry if the reset is known. If its engine can resume the session, the workspace
 * stays as it is; otherwise the task restarts from scratch.
 */
#ifndef RUN_LIMITS_PARK_H
#define RUN_LIMITS_PARK_H

#include "plan/engine/attempt/failure_outcome.h"

struct attempt;
struct run;

/* Decides how an attempt that has met a limit, and whose reason is set, waits for it; moves the
 * task to its fallback, or closes its lane. */
struct failure_outcome park_decide(struct attempt *attempt);

/* Ends the attempt and parks its task. */
void park_wait(struct attempt *attempt);

/* Saves the work of parked tasks when the run stops. Their workspaces stay for a resume. */
void park_save_all(struct run *run);

#endif

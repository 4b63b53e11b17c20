/*
 * The commands that a plan names, in a task's workspace: workspace.setup and teardown, verify.
 */
#ifndef RUN_ATTEMPT_PLAN_COMMAND_H
#define RUN_ATTEMPT_PLAN_COMMAND_H

#include "run/run_private.h"

bool plan_command_is_set(const struct plan_command *cmd);

/* Starts one under guard, with logs NAME.out and NAME.err; `next` follows when it has ended, and is
 * to call plan_command_ended(). It may take as long as the agent, or `least` ms where that is more.
 */
int plan_command_start(struct attempt *job, const struct plan_command *cmd, const char *name,
                       int64_t least, void (*next)(struct attempt *, int), struct err *err);

/* False where it was ended because it took too long. */
bool plan_command_ended(struct attempt *job);

#endif

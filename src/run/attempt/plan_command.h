/*
 * The commands that a plan names, in a task's workspace: workspace.setup and teardown, verify.
 */
#ifndef RUN_ATTEMPT_PLAN_COMMAND_H
#define RUN_ATTEMPT_PLAN_COMMAND_H

#include "run/run_private.h"

bool command_is_set(const struct plan_command *cmd);

/* Starts one under guard, with logs NAME.out and NAME.err; `next` follows when it has ended, and is
 * to call command_ended(). It may take as long as the agent, or `least` ms where that is more. */
int command_start(struct job *job, const struct plan_command *cmd, const char *name, int64_t least,
                  void (*next)(struct job *, int), struct err *err);

/* False where it was ended because it took too long. */
bool command_ended(struct job *job);

#endif

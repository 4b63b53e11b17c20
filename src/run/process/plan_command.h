/*
 * Runs commands of the plan in a task's workspace: workspace.setup and teardown, verify.
 */
#ifndef RUN_PROCESS_PLAN_COMMAND_H
#define RUN_PROCESS_PLAN_COMMAND_H

#include "base/err.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stdint.h>

struct attempt;

bool plan_command_is_set(const struct plan_command *cmd);

/* Starts a command under guard, with logs NAME.out and NAME.err. Calls `next` when it has ended,
 * which must call plan_command_ended(). Its timeout is that of the agent, or `least` ms if that is
 * longer. */
int plan_command_start(struct attempt *attempt, const struct plan_command *cmd, const char *name,
                       int64_t least, void (*next)(struct attempt *, int), struct err *err);

/* Returns false if we ended the command at its timeout. */
bool plan_command_ended(struct attempt *attempt);

#endif

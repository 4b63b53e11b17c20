/*
 * What an attempt is given: its environment, its prompt, its commit message.
 */
#ifndef RUN_ATTEMPT_INPUTS_H
#define RUN_ATTEMPT_INPUTS_H

#include "run/run_private.h"

/* Our own environment without what points git elsewhere, the task's variables, and ours. */
int attempt_environment(struct attempt *job, struct strv *env, struct err *err);

/* The prompt, with what the last attempt's failure adds to it, as a file. */
int attempt_write_prompt(struct attempt *job, const char *path, struct err *err);

/* Appends a text with its {id}, {title}, {run} and {engine} replaced. */
void attempt_expand(const struct attempt *job, const char *s, struct buf *out);

char *attempt_message(struct attempt *job);

/* The call of a command of the plan's; always 0. */
int attempt_command(const struct plan_command *cmd, const char *dir, struct agent_call *call);

#endif

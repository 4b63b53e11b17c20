/*
 * What an attempt is given: its environment, its prompt, its commit message.
 */
#ifndef RUN_ATTEMPT_INPUTS_H
#define RUN_ATTEMPT_INPUTS_H

#include "run/run_private.h"

/* Our own environment without what points git elsewhere, the task's variables, and ours. */
int job_environment(struct job *job, struct strv *env, struct err *err);

/* The prompt, with what the last attempt's failure adds to it, as a file. */
int job_write_prompt(struct job *job, const char *path, struct err *err);

/* Appends a text with its {id}, {title}, {run} and {engine} replaced. */
void job_expand(const struct job *job, const char *s, struct buf *out);

char *job_message(struct job *job);

/* The call of a command of the plan's; always 0. */
int job_command(const struct plan_command *cmd, const char *dir, struct agent_call *call);

#endif

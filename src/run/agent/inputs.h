/*
 * The inputs of an attempt: environment, prompt and commit message.
 */
#ifndef RUN_AGENT_INPUTS_H
#define RUN_AGENT_INPUTS_H

#include "agent/agent.h"
#include "base/buf.h"
#include "base/err.h"

struct attempt;

/* Builds the environment: ours without variables that redirect git, the task's variables, and the
 * ANABRANCH_ ones. */
int attempt_environment(struct attempt *attempt, struct strv *env, struct err *err);

/* Writes the prompt to a file, with the feedback about the last attempt. */
int attempt_write_prompt(struct attempt *attempt, const char *path, struct err *err);

/* Appends a text and replaces {id}, {title}, {run} and {engine} in it. */
void attempt_expand(const struct attempt *attempt, const char *s, struct buf *out);

char *attempt_message(struct attempt *attempt);

/* Builds the call for a command of the plan; always returns 0. */
int attempt_command(const struct plan_command *cmd, const char *dir, struct agent_call *call);

#endif

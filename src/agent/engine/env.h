/*
 * The environment of a child process: entries NAME=VALUE, each name once.
 */
#ifndef AGENT_ENGINE_ENV_H
#define AGENT_ENGINE_ENV_H

#include "base/err.h"
#include "base/strv.h"
#include "plan/plan.h"

#include <stdbool.h>

/* Sets or replaces a variable: if a name had two entries, a program could read either. */
void env_set(struct strv *env, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* True if the variable is set. */
bool env_has(const struct strv *env, const char *name);

/* Sets a variable of a task. ERR_INPUT if it takes the value of one of our variables that is not
 * set. */
int env_set_planned(struct strv *env, const struct env_var *var, struct err *err);

#endif

/*
 * The environment of what is started: entries NAME=VALUE, each name once.
 */
#ifndef AGENT_ENGINE_ENV_H
#define AGENT_ENGINE_ENV_H

#include "base/err.h"
#include "base/strv.h"
#include "plan/plan.h"

#include <stdbool.h>

/* Sets a variable, also where it is set already: of two with one name programs see either. */
void env_set(struct strv *env, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Whether it is there. */
bool env_has(const struct strv *env, const char *name);

/* Sets one of a task's; ERR_INPUT where it is to have the value of one of ours that is not set. */
int env_set_planned(struct strv *env, const struct env_var *var, struct err *err);

#endif

/*
 * Environment variables of a task: which names there are, and which a plan may not set.
 */
#ifndef PLAN_DECODE_ENV_NAMES_H
#define PLAN_DECODE_ENV_NAMES_H

#include "plan/decode/keys.h"

#include <stdbool.h>

/* struct env_vars; what is there already (from the defaults) stays, and is replaced by name. */
read_fn read_env;

bool env_name_valid(const char *name);

/* Whether setting it could make a program load or run something else, or belongs to us. */
bool env_name_dangerous(const char *name);

#endif

/*
 * Environment variables of a task: valid names, and names that a plan may not set.
 */
#ifndef PLAN_DECODE_ENV_NAMES_H
#define PLAN_DECODE_ENV_NAMES_H

#include "plan/decode/keys.h"

#include <stdbool.h>

/* Adds to a struct env_vars: keeps variables from the defaults, and replaces those of the same
 * name. */
read_fn read_env;

bool env_name_valid(const char *name);

/* True if the variable could make a program load or run something else, or is reserved for us. */
bool env_name_dangerous(const char *name);

#endif

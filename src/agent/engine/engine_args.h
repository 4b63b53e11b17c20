/*
 * Options that a plan may set for an engine: `effort`, `max_turns`, and options of the engine's
 * own, `engine_args`. Each engine's definition says which it supports, and denies options that
 * would change what we rely on: its output, its session, its permissions, its folder.
 */
#ifndef AGENT_ENGINE_ENGINE_ARGS_H
#define AGENT_ENGINE_ENGINE_ARGS_H

#include "base/node/problem.h"
#include "base/strv.h"
#include "plan/plan.h"

#include <stdbool.h>

/* Options that `engine_args` must not contain. */
struct denied_option {
    const char *names;   /* "--resume -r", separated by blanks; NULL at the end of a list */
    const char *instead; /* the plan's key for them; NULL: only we may set them */
    const char *setting; /* denied only if the value sets this; NULL: always */
    bool reading;        /* denied only if the task may only read: they would permit more */
};

/* How an engine reads its arguments, and which are denied. */
struct engine_args_rules {
    const char *engine;                        /* its name */
    const struct denied_option *denied;        /* NULL: it supports no `engine_args` */
    const struct denied_option *shared_denied; /* or NULL */
    bool abbreviates;                          /* it accepts "--mess" for "--message" */
};

/* Adds an error for each denied argument of the task. */
void engine_args_check(const struct task *t, const struct engine_args_rules *rules,
                       struct problems *ps);

/* Appends them to a command. */
void engine_args_push(const struct task *t, struct strv *argv);

/* Appends an option and its value, unless the value is NULL. */
void engine_option_push(struct strv *argv, const char *option, const char *value);

/* The word of the task's effort; NULL: it has none. */
const char *engine_effort(const struct task *t);

/* True if the agent may only read. */
bool engine_only_reads(const struct task *t);

#endif

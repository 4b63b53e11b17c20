/*
 * What a plan may tell an engine beyond what all engines have in common: `effort`, `max_turns`, and
 * options of its own, `engine_args`. Each engine's definition says what it takes, and which options
 * a plan may not give it, since they would change what we rely on: its output, its session, what it
 * is permitted, where it works.
 */
#ifndef AGENT_ENGINE_ENGINE_ARGS_H
#define AGENT_ENGINE_ENGINE_ARGS_H

#include "base/node/problem.h"
#include "base/strv.h"
#include "plan/plan.h"

#include <stdbool.h>

/* An option that may not be among the arguments. */
struct denied_option {
    const char *name;    /* "--resume" or "-r"; NULL at the end of a list */
    const char *instead; /* the plan's key for it; NULL: it is ours alone */
    const char *setting; /* denied only where its value sets this; NULL: whatever its value is */
    bool reading;        /* denied only where the task may only read: it would permit more */
};

/* How an engine reads its arguments, and what of them is not the plan's. */
struct engine_args_rules {
    const char *engine;                     /* its word */
    const struct denied_option *denied;     /* NULL: it takes no arguments */
    const struct denied_option *denied_too; /* or NULL */
    bool abbreviates;                       /* "--mess" is "--message" to it */
};

/* Adds an error for each argument of the task's that is denied. */
void engine_args_check(const struct task *t, const struct engine_args_rules *rules,
                       struct problems *ps);

/* Appends them to a command. */
void engine_args_push(const struct task *t, struct strv *argv);

#endif

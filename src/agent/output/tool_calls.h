/*
 * struct tool_calls: the tools that an agent is using, by the ids that its output gives to the
 * calls: each has begun and not ended yet. While one of them works, a silent agent has not
 * stalled.
 */
#ifndef AGENT_OUTPUT_TOOL_CALLS_H
#define AGENT_OUTPUT_TOOL_CALLS_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct tool_call {
    uint64_t id;
    char *action;  /* the tool, and its target */
    int64_t since; /* monotonic ms */
    bool helper;   /* it is an agent itself, whose own tools show that it works */
    bool asks;     /* it waits for a person's answer, so it does not count as work */
};

struct tool_calls {
    VEC(struct tool_call) list; /* oldest first */
};
void tool_calls_done(struct tool_calls *t);

/* Memory is bounded: if there are too many, we forget the oldest. */
void tool_calls_begin(struct tool_calls *t, const char *id, const char *action, bool asks);
/* Ignores an unknown id. */
void tool_calls_end(struct tool_calls *t, const char *id);
void tool_calls_helps(struct tool_calls *t, const char *id); /* marks it as a helper */

/* A hash to compare ids, which may be of any length. */
uint64_t tool_calls_hash(const char *id);

/* True if one of them works; a helper or a question does not count. */
bool tool_calls_work(const struct tool_calls *t);

/* The newest one of those that ask a person, or of the others; NULL if there is none. */
const struct tool_call *tool_calls_last(const struct tool_calls *t, bool asks);

#endif

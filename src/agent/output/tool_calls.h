/*
 * struct tool_calls: the tools that an agent uses just now, by the ids that its output has for the
 * calls: each was begun, and has not answered so far. As long as one of them works, an agent that
 * says nothing has not stopped.
 */
#ifndef AGENT_OUTPUT_TOOL_CALLS_H
#define AGENT_OUTPUT_TOOL_CALLS_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct tool_call {
    uint64_t id;
    char *action;  /* the tool, and what it is used on */
    int64_t since; /* monotonic ms */
    bool helper;   /* it is an agent itself, which is heard of by what it does */
    bool asks;     /* it asks a person, and works for nobody */
};

struct tool_calls {
    VEC(struct tool_call) list; /* the oldest first */
};
void tool_calls_done(struct tool_calls *t);

/* Memory is bounded: where there are too many, the oldest is forgotten. */
void tool_calls_begin(struct tool_calls *t, const char *id, const char *action, bool asks);
/* One that is not there is none. */
void tool_calls_end(struct tool_calls *t, const char *id);
void tool_calls_helps(struct tool_calls *t, const char *id); /* it is a helper */

/* By what an id is told from others, which may be of any length. */
uint64_t tool_calls_hash(const char *id);

/* Whether one of them works, which a helper by itself does not. */
bool tool_calls_work(const struct tool_calls *t);

/* The one that was begun last, of those that ask a person or of the others; NULL: there is none. */
const struct tool_call *tool_calls_last(const struct tool_calls *t, bool asks);

#endif

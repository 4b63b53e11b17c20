/*
 * struct agent_tools: the tools that an agent uses just now, by the ids that its output has for the
 * calls: each was begun, and has not answered so far. As long as one of them works, an agent that
 * says nothing has not stopped.
 */
#ifndef AGENT_OUTPUT_TOOL_CALLS_H
#define AGENT_OUTPUT_TOOL_CALLS_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct agent_tool {
    uint64_t id;
    char *action;  /* the tool, and what it is used on */
    int64_t since; /* monotonic ms */
    bool helper;   /* it is an agent itself, which is heard of by what it does */
    bool asks;     /* it asks a person, and works for nobody */
};

struct agent_tools {
    VEC(struct agent_tool) list; /* the oldest first */
};
void agent_tools_done(struct agent_tools *t);

/* Memory is bounded: where there are too many, the oldest is forgotten. */
void agent_tools_begin(struct agent_tools *t, const char *id, const char *action, bool asks);
/* One that is not there is none. */
void agent_tools_end(struct agent_tools *t, const char *id);
void agent_tools_helps(struct agent_tools *t, const char *id); /* it is a helper */

/* By what an id is told from others, which may be of any length. */
uint64_t agent_tools_hash(const char *id);

/* Whether one of them works, which a helper by itself does not. */
bool agent_tools_work(const struct agent_tools *t);

/* The one that was begun last, of those that ask a person or of the others; NULL: there is none. */
const struct agent_tool *agent_tools_last(const struct agent_tools *t, bool asks);

#endif

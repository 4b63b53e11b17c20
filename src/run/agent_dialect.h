/*
 * The dialects: readers of what engines print, one file each. A line that is not of the dialect is
 * passed over.
 */
#ifndef RUN_AGENT_DIALECT_H
#define RUN_AGENT_DIALECT_H

#include "run/agent.h"

typedef void dialect_fn(struct agent_report *report, const char *line, size_t len);

dialect_fn dialect_sim;    /* anabranch __sim */
dialect_fn dialect_claude; /* claude --output-format stream-json */

/* Parses a line that is a JSON mapping; NULL where it is not. The tree lives in the arena. */
struct node *dialect_parse(struct arena *a, const char *line, size_t len);

/* Sets a text of the report, cut to a length that screens can take, and marks it as changed. */
void dialect_set(struct agent_report *report, struct buf *slot, const char *text);

void dialect_fail(struct agent_report *report, enum failure failure, const char *reason);

#endif

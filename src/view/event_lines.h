/*
 * A run as plain lines: time, task, event. For logs, pipes and CI.
 */
#ifndef VIEW_EVENT_LINES_H
#define VIEW_EVENT_LINES_H

#include "base/buf.h"
#include "plan/schedule/event.h"

#include <stdbool.h>
#include <stdint.h>

/* Appends what happened, without time, task and line end; false: nothing to print. */
bool event_text(const struct event *ev, struct buf *out);

/* Appends the line of an event, or nothing if it is not important. quiet: problems only. */
void event_line(const struct event *ev, int64_t run_started, bool quiet, struct buf *out);

#endif

/*
 * A run as plain lines: time, task, what happened. For logs, pipes and CI.
 */
#ifndef VIEW_EVENT_LINES_H
#define VIEW_EVENT_LINES_H

#include "base/buf.h"
#include "plan/schedule/event.h"

#include <stdbool.h>
#include <stdint.h>

/* Appends the line for an event, or nothing where it is not worth one. quiet: only what went wrong.
 */
void event_line(const struct event *ev, int64_t run_started, bool quiet, struct buf *out);

#endif

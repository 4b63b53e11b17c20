/*
 * Events of the engine as lines of text, for the journal of a run. A line has the name of the
 * event, and the members that it uses, in a fixed order:
 *
 *     attempt-opened task=3
 *     lane-due now=1717149600000 random=77 lane=0
 *     found task=3 state=landed in=1200 out=40 usd=0.25 retries=verify:1,setup:2 at-tip=no ...
 *
 * Linear in the length of the line. Numbers come back exactly.
 */
#ifndef PLAN_ENGINE_ENGINE_LINE_H
#define PLAN_ENGINE_ENGINE_LINE_H

#include "base/buf.h"
#include "base/err.h"
#include "plan/engine/engine_event.h"

/* Appends the line and its newline. */
void engine_line_write(struct buf *out, const struct engine_event *ev);

/* Reads a line without its newline. The members that the event does not use are zero; task: -1. It
 * fails unless the text is exactly what engine_line_write() makes of the event. */
int engine_line_read(const char *line, size_t len, struct engine_event *ret, struct err *err);

/* The parts of a line, for other lines of the journal. */
struct engine_cursor {
    const char *at, *end;
};
void engine_line_add_number(struct buf *out, int64_t n);
bool engine_line_skip(struct engine_cursor *c, const char *text);
bool engine_line_read_number(struct engine_cursor *c, int64_t min, int64_t max, int64_t *ret);

#endif

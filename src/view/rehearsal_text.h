/*
 * What a rehearsal showed, for people.
 */
#ifndef VIEW_REHEARSAL_TEXT_H
#define VIEW_REHEARSAL_TEXT_H

#include "base/buf.h"
#include "run/rehearse/rehearse.h"
#include "run/run.h"

/* Tells the time in which some agent was at work from that in which only the machinery was. */
struct rehearsal_clock {
    size_t agents; /* at work */
    int64_t last;  /* when that last changed */
    int64_t machinery, total;
};
void rehearsal_clock_event(void *ctx, const struct event *ev); /* ctx: the clock, zero at first */

/* Appends a line for each task, and what follows from all of them. */
void rehearsal_text(const struct rehearsal *r, const struct run *run, const struct plan_file *pf,
                    const struct rehearsal_clock *clock, struct buf *out);

#endif

/*
 * The result of a rehearsal, for people.
 */
#ifndef VIEW_REHEARSAL_TEXT_H
#define VIEW_REHEARSAL_TEXT_H

#include "base/buf.h"
#include "run/rehearse/rehearse.h"
#include "run/run.h"

/* Separates the time with agents running from the time without. */
struct rehearsal_clock {
    size_t agents; /* running now */
    int64_t last;  /* time of the last event */
    int64_t machinery, total;
};
void rehearsal_clock_event(void *ctx, const struct event *ev); /* ctx: the clock, zero at first */

/* Appends a line for each task, and the totals. */
void rehearsal_text(const struct rehearsal *r, const struct run *run, const struct plan_file *pf,
                    const struct rehearsal_clock *clock, struct buf *out);

#endif

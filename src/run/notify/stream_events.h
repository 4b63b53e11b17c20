/*
 * What becomes of streams, as events of their own (parallel_start and so on), which are also told
 * to the program that the plan names under `log`, or that the run was given.
 *
 * That program is called once for each, one call behind the other, and is never waited for while
 * the run has anything else to do. One that hangs is ended; what it ends with is its own business.
 */
#ifndef RUN_NOTIFY_STREAM_EVENTS_H
#define RUN_NOTIFY_STREAM_EVENTS_H

#include "run/run.h"

struct parallel;

/* Observes the run from now on; NULL where it is not one of streams. */
struct parallel *stream_events_new(struct run *run);

/* The run has begun. To be called for a new one alone. */
void stream_events_begin(struct parallel *p);

/* Nothing is left to do; rc says whether the program itself could go on until here. */
void stream_events_end(struct parallel *p, int rc);

/* Gives the calls that are not yet over a little time, and ends them. */
void stream_events_finish(struct parallel *p);
void stream_events_free(struct parallel *p);

#endif

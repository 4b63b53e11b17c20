/*
 * Records the progress of streams as events (parallel_start and so on). Passes them to the logger,
 * which is the program that the plan names under `log`, or that the run was given.
 *
 * We call the logger once for each event, one call after the other. When the run has ended, it
 * waits a little for calls, then kills them. We kill a logger that hangs, and ignore its exit code.
 */
#ifndef RUN_NOTIFY_STREAM_EVENTS_H
#define RUN_NOTIFY_STREAM_EVENTS_H

#include "run/run.h"

struct parallel;

/* Starts to observe the run; NULL if the run has no streams. */
struct parallel *stream_events_new(struct run *run);

/* Records the start of a run. Not for a resumed run. */
void stream_events_begin(struct parallel *p);

/* Records the end; rc is -1 if the program itself failed. */
void stream_events_end(struct parallel *p, int rc);
void stream_events_free(struct parallel *p);

#endif

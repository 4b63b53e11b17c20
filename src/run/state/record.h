/*
 * The journal of a run. We write events and rows to the store before we tell observers. If a write
 * fails, the run ends.
 */
#ifndef RUN_STATE_RECORD_H
#define RUN_STATE_RECORD_H

#include "plan/schedule/event.h"

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct err;
struct node;
struct run;

void record(struct run *run, enum event_kind kind, int64_t task, const struct node *data);
void record_task(struct run *run, uint32_t task);
/* For steps that a resume depends on: writes row and event together. Both are on disk on return. */
void record_step(struct run *run, enum event_kind kind, uint32_t task, const struct node *data);
/* Writes row and event together, as one write; a power failure may lose both. */
void record_task_event(struct run *run, enum event_kind kind, uint32_t task,
                       const struct node *data);
/* The steps between these two calls become one transaction. */
void record_together(struct run *run);
void record_end_of_group(struct run *run);
/* Writes the row alone, before we do what it says. If this fails, do not do it. */
int record_intent(struct run *run, uint32_t task, struct err *err);
void record_error(struct run *run, int64_t task, const struct err *err); /* reported, not fatal */
/* Appends lines of STORE_LANDED: tasks whose landing is in the base or the tip. This copy helps if
 * the store is lost. */
void record_landed(struct run *run, const struct buf *lines);
/* The same for STORE_COMMITTED: the commit of a task whose agent is done. */
void record_committed(struct run *run, uint32_t task);
int record_begin(struct run *run, struct err *err); /* writes the run and its tasks */
int record_end(struct run *run, const char *state, int exit_code, struct err *err);
void record_last_events(struct run *run); /* of the engine, after that */

#endif

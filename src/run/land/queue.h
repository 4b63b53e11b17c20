/*
 * The ends of the landing queue: an attempt enters it, and a landing is recorded.
 */
#ifndef RUN_LAND_QUEUE_H
#define RUN_LAND_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

struct attempt;
struct run;

void land_queue(struct attempt *attempt);

/* Records that the task has landed: `on_base`, or so far only in the run's tip. */
void land_tell(struct run *run, uint32_t task, bool on_base);

#endif

/*
 * Starts the next attempt of a task, as the engine decided.
 */
#ifndef RUN_ATTEMPT_START_H
#define RUN_ATTEMPT_START_H

#include "plan/engine/engine_event.h"

struct run;

void attempt_start(struct run *run, uint32_t task, enum task_start start);

#endif

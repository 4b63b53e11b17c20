/*
 * Answers questions about a run and its tasks.
 */
#ifndef RUN_STATE_STATUS_H
#define RUN_STATE_STATUS_H

#include "plan/plan.h"
#include "run/run.h"

#include <stdbool.h>
#include <stdint.h>

/* The engine that serves a task now, and its name. */
enum agent_engine run_engine(const struct run *run, uint32_t task);
const char *run_engine_name(const struct run *run, uint32_t task);

/* The program to start instead of the engine's usual one, or NULL. */
const char *run_program(const struct run *run, enum agent_engine engine);

/* The number of a task's lane in events. */
int32_t run_lane(const struct run *run, uint32_t task);

bool run_uses_fallback(const struct run *run, uint32_t task);
enum agent_engine run_fallback_engine(const struct run *run, uint32_t task);

/* Returns the idle timeout of a task in ms: from the plan or the engine; 0: none. */
int64_t run_idle_timeout(const struct run *run, uint32_t task);

/* True if tasks are left that this run will not start. */
bool run_is_unfinished(const struct run *run);

/* Like run_result(), but counts all tasks, even those that this process was not asked to run. */
struct run_result run_whole_result(const struct run *run);

#endif

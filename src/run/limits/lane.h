/*
 * Finds the lanes of a run by engine, account and model, records when they close and open, and
 * wakes them in time. plan/engine/limits/lanes.h decides.
 */
#ifndef RUN_LIMITS_LANE_H
#define RUN_LIMITS_LANE_H

#include "plan/engine/engine.h"
#include "plan/plan.h"
#include "sys/proc/loop.h"

#include <stdbool.h>
#include <stdint.h>

struct run;

struct lane_account {
    struct run *run;
    int32_t lane; /* in run->engine->lanes, the scheduler and events */
    enum agent_engine engine;
    char *key; /* engine, account, model; used only to compare */
    struct watch *timer;
};

/* Assigns the tasks to lanes; needs the scheduler. */
void lane_assign_all(struct run *run);
void lane_free_all(struct run *run);

/* Carries out an action of the engine about a lane. */
void do_lane(struct run *run, const struct action *a, const struct engine_event *ev);

/* Reports an event to the engine that may close a lane for this reason. Returns what follows for
 * the attempt that met the limit. */
struct failure_outcome lane_report(struct run *run, const struct engine_event *ev,
                                   const char *reason);

/* Closes the lane of a task whose agent meets a limit now, if the task would wait for it. reset: ms
 * since 1970; 0: unknown. */
void lane_close(struct run *run, uint32_t task, int64_t reset, const char *reason);

/* Restores the state in which a dead engine left the lane. */
void lane_recall(struct run *run, uint32_t task, int64_t until, const char *reason);

/* The agent of the task has shown that there is no limit. */
void lane_prove(struct run *run, uint32_t task);

#endif

/*
 * struct engine: all that a run has decided about its tasks. A pure value without time, files, git
 * or processes: the shell (src/run) reports events, and carries out the actions that the engine
 * answers. The same events lead to the same actions.
 *
 * The members are values of their own: who may start, who lands next, what a limit or a budget
 * stops. Only engine_event() changes them after the set-up; everybody may read them.
 */
#ifndef PLAN_ENGINE_ENGINE_H
#define PLAN_ENGINE_ENGINE_H

#include "plan/engine/engine_event.h"
#include "plan/engine/landing.h"
#include "plan/engine/limits/budget.h"
#include "plan/engine/limits/lanes.h"
#include "plan/engine/run_phase.h"
#include "plan/engine/task_life.h"
#include "plan/schedule/sched.h"

/* One task, over all its attempts. */
struct engine_task {
    enum task_state state;
    enum task_start start;
    enum repair repair;               /* the kind of repair that the next attempt is */
    int retries_used[FAILURE_COUNT_]; /* by failure class */
    int32_t lane, fallback_lane;      /* the fallback serves while the other is closed; -1: none */
    struct spent counted;             /* usage of the open attempt that the budgets have counted */
    uint64_t merged_tip;   /* the number of the tip with which its commit is merged; 0: none */
    bool reverts;          /* the last attempt would have undone landed work of others */
    bool parked;           /* it waits until its lane opens again */
    bool in_conflict;      /* its agent resolves the conflict between its commit and the tip */
    bool has_message;      /* a message from a person waits for its agent */
    bool start_at_tip;     /* it landed before, or conflicted */
    bool follows_landing;  /* a person resumed its agent after it landed */
    bool follow_up_failed; /* ... and that work failed */
};

struct engine {
    const struct plan *plan;
    struct engine_task *tasks;
    struct sched sched;
    struct lanes lanes;
    struct budgets budgets;
    struct landing landing;
    enum run_phase phase;
    size_t attempts; /* open attempts and deletions */
    uint64_t tip;    /* the number of the tip: grows with each commit that it moves to */
    bool publishing; /* the base is being moved */
    bool no_wait;    /* the user does not want to wait for limits */
    bool draining;   /* start nothing new; let running attempts end */
    bool stopping;   /* a person stopped the run */
    bool failed;     /* the program itself cannot continue */
    bool paused;     /* start no task until a person continues the run */
};

void engine_init(struct engine *e, const struct plan *plan, bool no_wait);
void engine_done(struct engine *e);

/* The tasks of the run are known (`wanted`, NULL: all). */
void engine_schedule(struct engine *e, struct graph *graph, struct claims *claims, size_t workers,
                     const bool *wanted);

/* After that: the run has n lanes. The lanes of each task; fallback -1: none. */
void engine_make_lanes(struct engine *e, size_t n);
void engine_set_lanes(struct engine *e, uint32_t task, int32_t lane, int32_t fallback);

/* Changes the engine, and appends the actions that follow. This is the only way. */
void engine_event(struct engine *e, const struct engine_event *ev, struct actions *ret);

/* "lands-next", ...: in messages and in the journal. */
const char *engine_event_name(enum engine_event_kind kind);

/* True if the run starts no more tasks. A user may raise the budget while attempts run. */
bool engine_is_draining(const struct engine *e);

/* True if the run ends: failed attempts are not retried, and finished work lands in any order. */
bool engine_is_ending(const struct engine *e);

/* True if something landed that the base lacks, and the base is not being moved. */
bool engine_can_publish(const struct engine *e);

/* The retries of a task. */
struct retries engine_retries(const struct engine *e, uint32_t task);

#endif

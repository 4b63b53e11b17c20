/*
 * struct sched: decides which task may start next. A pure value: callers report events and ask; it
 * starts nothing itself.
 *
 * A task is ready if all its dependencies are done. Among the ready tasks, the one with the longest
 * path to the end of the plan goes first, then file order. The scheduler counts workers and groups,
 * so a task that waits for its group occupies no worker. With `overlap: serialise` a task also
 * waits for running tasks that share a path with it. Logarithmic per event, no recursion.
 *
 * A lane can be closed for a time, like the account of an agent program that has met its limit: its
 * tasks then wait without a worker or a place in their group. A task may have a spare lane, which
 * it uses while the first one is closed.
 */
#ifndef PLAN_SCHEDULE_SCHED_H
#define PLAN_SCHEDULE_SCHED_H

#include "base/vec.h"
#include "plan/plan.h"
#include "plan/schedule/claims.h"
#include "plan/schedule/graph.h"
#include "plan/schedule/path_locks.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sched_state {
    SCHED_WAITING, /* for its dependencies */
    SCHED_READY,   /* may start when a worker is free */
    SCHED_HELD,    /* ready, but its group is full or a task locks one of its paths */
    SCHED_SHUT,    /* ready, but its lane is closed */
    SCHED_RUNNING, /* has a worker */
    SCHED_ASIDE,   /* neither ready nor running: waits for a retry, a landing or a limit */
    SCHED_DONE,
    SCHED_FAILED,  /* or the user cancelled it */
    SCHED_SKIPPED, /* a dependency has failed or was skipped */
};

/* A heap of tasks, the most urgent on top. */
struct sched_heap {
    VEC(uint32_t) tasks;
};

struct sched_lane {
    bool closed, room;      /* room: closed, but one task may start */
    struct sched_heap shut; /* tasks that wait for it; some entries may be outdated */
};

struct sched {
    const struct plan *plan;
    const struct graph *graph;
    size_t workers, running;
    enum sched_state *state;
    uint32_t *open;   /* number of dependencies that are not done */
    int64_t *urgency; /* weight of the longest path from the task to the end of the plan */
    int32_t *group;   /* index in plan->groups, or -1 */
    struct sched_heap ready;
    struct sched_heap *held;     /* per group: waiting tasks */
    int64_t *in_group;           /* per group: number of running tasks */
    struct path_locks locks;     /* empty unless overlap is serialised */
    struct sched_heap *awaiting; /* per path: waiting tasks; NULL unless overlap is serialised */
    struct sched_lane *lanes;
    size_t lane_count;
    int32_t *lane, *spare; /* per task: its lanes, or -1 */
    int32_t *via;          /* per task: the lane of its last start, or -1 */
    size_t left;           /* number of tasks that are neither done, failed nor skipped */
};

/* `wanted` selects the tasks to run (NULL: all); the others count as done. Uses `claims` only with
 * `overlap: serialise`. */
void sched_init(struct sched *s, const struct plan *plan, struct graph *graph,
                struct claims *claims, size_t workers, const bool *wanted);
void sched_done(struct sched *s);

/* Creates n open lanes without tasks. Call it at most once. */
void sched_make_lanes(struct sched *s, size_t n);

/* Sets the lanes of a task; -1: none. */
void sched_set_lanes(struct sched *s, uint32_t task, int32_t lane, int32_t spare);

/* Closes the lane: its tasks do not start; running ones continue. */
void sched_close(struct sched *s, int32_t lane);

/* Opens the lane; with `probe` only for one task, the first that starts. */
void sched_open(struct sched *s, int32_t lane, bool probe);

/* True if a task waits for the lane. */
bool sched_is_waited_for(struct sched *s, int32_t lane);

/* Returns the task to start now and marks it as running; false if there is none or no worker is
 * free. */
bool sched_next(struct sched *s, uint32_t *ret_task);

/* A running task releases its worker and its group without being finished. */
void sched_set_aside(struct sched *s, uint32_t task);

/* The same for a task that has not started: it waits for something else than its turn. */
void sched_hold(struct sched *s, uint32_t task);

/* A task that was set aside may run again. */
void sched_ready(struct sched *s, uint32_t task);

/* The task is done: its dependants may become ready. It may have been running or aside. */
void sched_finish(struct sched *s, uint32_t task);

/* The task has failed for good. Skips all tasks that depend on it, directly or not, and appends
 * them to ret_skipped, nearest first. Tasks that have already ended stay unchanged. */
struct sched_list {
    VEC(uint32_t) tasks;
};
void sched_fail(struct sched *s, uint32_t task, struct sched_list *ret_skipped);

/* True if a dependency of the task has failed or was skipped; returns it in *ret_need. */
bool sched_lacks(const struct sched *s, uint32_t task, uint32_t *ret_need);

/* Retries a failed task: it is now aside. Tasks that were skipped because of it and have no other
 * failed dependency wait again; appends them to ret_freed, nearest first. */
void sched_take_back(struct sched *s, uint32_t task, struct sched_list *ret_freed);

#endif

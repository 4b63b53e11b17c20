/*
 * struct sched: which task may start next. A pure value: it is told what happened and answers what
 * may happen; it starts nothing.
 *
 * A task is ready when all its dependencies are done. Of the ready ones the one with the longest
 * way to the end of the plan goes first, then the order of the file. Workers and groups are counted
 * here, so a task that waits for its group does not hold a worker. With `overlap: serialise` a task
 * also waits for those that run and share a path with it. Logarithmic per event, no recursion.
 *
 * A lane is what may be closed for a time, as an agent program's account that has met its limit:
 * its tasks wait without a worker or a place in their group. Each may have a second lane, which it
 * goes by while the first is closed.
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
    SCHED_READY,   /* may start as soon as there is room */
    SCHED_HELD,    /* ready, but its group is full or a task locks one of its paths */
    SCHED_SHUT,    /* ready, but its lane is closed */
    SCHED_RUNNING, /* has a worker */
    SCHED_ASIDE,   /* neither ready nor running: waits for a retry, a landing, a limit */
    SCHED_DONE,
    SCHED_FAILED,  /* or a person does not want it */
    SCHED_SKIPPED, /* one that it needs has failed, or was skipped */
};

/* Tasks, the most urgent on top. */
struct sched_heap {
    VEC(uint32_t) tasks;
};

struct sched_lane {
    bool closed, room;      /* room: one may start all the same */
    struct sched_heap shut; /* those that wait for it; some may have gone another way since */
};

struct sched {
    const struct plan *plan;
    const struct graph *graph;
    size_t workers, running;
    enum sched_state *state;
    uint32_t *open;   /* dependencies that are not done */
    int64_t *urgency; /* weight of the longest way from the start of the task to the end */
    int32_t *group;   /* place in plan->groups, or -1 */
    struct sched_heap ready;
    struct sched_heap *held;     /* per group: those that wait for it */
    int64_t *in_group;           /* per group: those that run */
    struct path_locks locks;     /* empty where overlap is refused */
    struct sched_heap *awaiting; /* per path: those that wait for it; NULL likewise */
    struct sched_lane *lanes;
    size_t lane_count;
    int32_t *lane, *spare; /* per task: its lanes, or -1 */
    int32_t *via;          /* per task: the lane by which it was started last, or -1 */
    size_t left;           /* tasks that are neither done, failed nor skipped */
};

/* `wanted` (may be NULL: all) says which tasks are to be run; the others count as done. claims are
 * only looked at with `overlap: serialise`. */
void sched_init(struct sched *s, const struct plan *plan, struct graph *graph,
                struct claims *claims, size_t workers, const bool *wanted);
void sched_done(struct sched *s);

/* Makes that many lanes, all open; tasks are in none of them. To be called once at most. */
void sched_make_lanes(struct sched *s, size_t n);

/* The lanes of a task from now on; -1: none. */
void sched_set_lanes(struct sched *s, uint32_t task, int32_t lane, int32_t spare);

/* Nothing of the lane starts; what runs goes on. */
void sched_close(struct sched *s, int32_t lane);

/* The lane is open again; with probe for one task alone, whichever starts first. */
void sched_open(struct sched *s, int32_t lane, bool probe);

/* Whether a task waits for the lane. */
bool sched_is_waited_for(struct sched *s, int32_t lane);

/* The task that should start now, which is running from then on; false where there is none or no
 * room. */
bool sched_next(struct sched *s, uint32_t *ret_task);

/* A running task gives its worker and its group back, without being at its end. */
void sched_set_aside(struct sched *s, uint32_t task);

/* The same for one that has not begun: it waits for something else than its turn. */
void sched_hold(struct sched *s, uint32_t task);

/* A task that was set aside wants to run again. */
void sched_ready(struct sched *s, uint32_t task);

/* The task is done: its dependants may become ready. It may be running or aside. */
void sched_finish(struct sched *s, uint32_t task);

/* The task has failed for good. All that depend on it, directly or not, are failed too; they are
 * appended to ret_skipped, nearest first. One that has come to its end before stays as it is. */
struct sched_list {
    VEC(uint32_t) tasks;
};
void sched_fail(struct sched *s, uint32_t task, struct sched_list *ret_skipped);

/* Whether one that the task needs has failed or was skipped, and which. */
bool sched_lacks(const struct sched *s, uint32_t task, uint32_t *ret_need);

/* A task that has failed is tried again after all: it is aside from then on. All that were skipped
 * for its sake and lack nothing else wait again; they are appended to ret_freed, nearest first. */
void sched_take_back(struct sched *s, uint32_t task, struct sched_list *ret_freed);

#endif

/*
 * struct landing: the queue of tasks that wait to land, and the time at which the base branch
 * follows. A pure value: callers report events and ask; it moves no ref. Logarithmic per event.
 *
 * A task lands at the tip of the run. Tasks with an order land in that order. Tasks without one do
 * not wait, and no task waits for them. A task has its place in the history as soon as it is at the
 * tip, or when it has ended in another way: we do not wait until the base has it.
 *
 * One publication moves the base to the tip for all tasks that landed meanwhile. If nobody waits
 * for it, we spend at most a tenth of the time on publications: moving a base that is checked out
 * takes longer the more files there are.
 */
#ifndef PLAN_ENGINE_LANDING_H
#define PLAN_ENGINE_LANDING_H

#include "base/vec.h"
#include "plan/schedule/graph.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct landing_task {
    int64_t order;    /* never behind a dependant's; INT64_MAX: none */
    uint64_t arrival; /* counts the tasks that began to wait; 0: this one does not wait */
    uint32_t place;   /* index in by_order; UINT32_MAX: none */
    bool settled;     /* it has its place in the history */
};

/* Waiting tasks, the next one on top; some entries may be outdated. */
struct landing_entry {
    int64_t order;
    uint64_t arrival;
    uint32_t task;
};

struct landing_heap {
    VEC(struct landing_entry) entries;
};

struct landing {
    const struct graph *graph;
    struct landing_task *tasks;
    uint32_t *by_order; /* tasks with an order, lowest first */
    size_t order_count;
    size_t open;                            /* index there of the first task that is not settled */
    struct landing_heap ordered, unordered; /* the tasks that wait */
    size_t waiting;                         /* their number */
    uint64_t arrivals;
    VEC(uint32_t) unpublished; /* at the tip, in the order in which they landed */
    VEC(uint32_t) publishing;  /* in the base once the running publication succeeds */
    size_t awaited;            /* number of unpublished tasks that have dependants */
    int64_t publishing_since;  /* start of the last publication */
    int64_t next_publication;  /* earliest start of the next one, unless somebody waits for it */
};

/* `wanted` selects the tasks of the run (NULL: all). Nobody waits for the others. */
void landing_init(struct landing *l, const struct plan *plan, const struct graph *graph,
                  const bool *wanted);
void landing_done(struct landing *l);

/* A task begins to wait. landing_leave() takes it out of the queue; false if it does not wait. */
void landing_queue(struct landing *l, uint32_t task);
bool landing_leave(struct landing *l, uint32_t task);

/* True if the task waits to land. */
bool landing_has(const struct landing *l, uint32_t task);

/* The task for which the tasks behind it in the order wait; false if there is none. */
bool landing_find_open(struct landing *l, uint32_t *ret_task);

/* The task has ended: nobody waits for it any more, until a retry takes that back. */
void landing_settle(struct landing *l, uint32_t task);
void landing_unsettle(struct landing *l, uint32_t task);

/* Takes the next task that may land now out of the queue. in_any_order: tasks that come first in
 * the order may never start. */
bool landing_next(struct landing *l, bool in_any_order, uint32_t *ret_task);

/* The task is at the tip. landing_undo() takes the last one back and returns it. */
void landing_land(struct landing *l, uint32_t task);
uint32_t landing_undo(struct landing *l);

/* Nothing is known yet about the time that a publication takes. The caller passes the size of the
 * index of the checkout that has the base; 0: none. */
bool landing_needs_estimate(const struct landing *l);
void landing_estimate(struct landing *l, int64_t index_bytes, int64_t now);

/* Returns ms until the next publication; 0: now, -1: there is nothing to publish. `attempts` counts
 * the running attempts: at the end of the run nothing else is left to wait for. */
int64_t landing_publish_in(const struct landing *l, size_t attempts, bool stopping, int64_t now);

/* `publishing` holds the tasks between these two calls. */
void landing_begin_publication(struct landing *l, int64_t now);
void landing_end_publication(struct landing *l, int64_t now);

#endif

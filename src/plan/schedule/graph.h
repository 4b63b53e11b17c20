/*
 * struct graph: the dependencies of a plan's tasks, in arrays, and facts derived from them. Built
 * once, in time linear in tasks and dependencies. No function recurses.
 */
#ifndef PLAN_SCHEDULE_GRAPH_H
#define PLAN_SCHEDULE_GRAPH_H

#include "base/arena.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct graph {
    struct arena arena;
    const struct plan *plan;
    size_t n;

    uint32_t *dependents;    /* dependents of task t: [dependents_at[t], dependents_at[t + 1]) */
    uint32_t *dependents_at; /* n + 1 indexes */

    uint32_t *order; /* all tasks, dependencies first, else in file order */
    uint32_t *rank;  /* index of each task in `order` */
    uint32_t *stage; /* per task: 0 without dependencies, else 1 + the highest stage of its
                      * dependencies */
    uint32_t stages; /* number of stages */
    uint32_t width;  /* number of tasks in the widest stage */

    int64_t weight_default;  /* weight in ms of a task without an estimate; 1 if no task has one */
    bool estimated;          /* some task has an estimate */
    int64_t total, critical; /* sum of all weights, and of those on the critical path */
    uint32_t *critical_path; /* tasks, first to last; equals in file order */
    size_t critical_len;

    /* Labels and scratch space for graph_reaches(). */
    uint32_t *low, *post, *pre, *last;
    uint32_t *seen, epoch, *todo;
};

/* Builds the graph of a plan whose references are resolved. Reports each cycle once, as a path, and
 * then returns -1. Call graph_done() in every case. */
int graph_init(struct graph *g, const struct plan *plan, struct problems *ps);
void graph_done(struct graph *g);

int64_t graph_weight(const struct graph *g, uint32_t task);

/* True if `to` depends on `from`, directly or not. Constant time for most pairs: it compares stages
 * and two interval labels of a depth-first walk, and searches only if these do not decide. */
bool graph_reaches(struct graph *g, uint32_t from, uint32_t to);

/* True if one of the two depends on the other. */
bool graph_ordered(struct graph *g, uint32_t a, uint32_t b);

#endif

/*
 * struct graph: what depends on what, in arrays, and what follows from it. Built once; every
 * question is answered without recursion, and building is linear in tasks and dependencies.
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

    uint32_t *dependents;    /* those of task t: [dependents_at[t], dependents_at[t + 1]) */
    uint32_t *dependents_at; /* n + 1 places */

    uint32_t *order; /* all tasks, dependencies first, else in file order */
    uint32_t *rank;  /* place of each task in `order` */
    uint32_t *stage; /* of each task: 0 without dependencies, else 1 + that of the latest one */
    uint32_t stages; /* how many there are */
    uint32_t width;  /* tasks of the widest stage */

    int64_t
        weight_default; /* ms that a task without an estimate counts for; 1 where none has one */
    bool estimated;     /* some task has an estimate */
    int64_t total, critical; /* sum of all weights, and of those on the critical path */
    uint32_t *critical_path; /* tasks, first to last; of equals by place in file */
    size_t critical_len;

    /* For graph_reaches(); see there. */
    uint32_t *low, *post, *pre, *last;
    uint32_t *seen, epoch, *todo;
};

/* Builds the graph of a plan whose references are resolved. A cycle is an error, printed as a path,
 * each cycle once; then -1. To be released with graph_done() in every case. */
int graph_init(struct graph *g, const struct plan *plan, struct problems *ps);
void graph_done(struct graph *g);

int64_t graph_weight(const struct graph *g, uint32_t task);

/* Whether `to` depends on `from`, directly or not. Constant time for most pairs: the levels, two
 * interval labels of a depth-first walk, and a search between the two only where those leave it
 * open. */
bool graph_reaches(struct graph *g, uint32_t from, uint32_t to);

/* Whether one of the two depends on the other. */
bool graph_ordered(struct graph *g, uint32_t a, uint32_t b);

#endif

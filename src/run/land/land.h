/*
 * Landing: we merge a task's commit with the tip outside every checkout, verify the result, and
 * make it the new tip.
 */
#ifndef RUN_LAND_LAND_H
#define RUN_LAND_LAND_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct action;
struct clean_tree;
struct engine_event;
struct plan_command;
struct run;

/* Part of an attempt: the commit that is to become the tip. */
struct candidate {
    struct buf commit;                       /* the commit that we verify */
    struct buf base;                         /* the tip on which we made it */
    struct clean_tree *clean_tree;           /* a tree with the commit alone, or NULL */
    const struct plan_command *verification; /* the running verification command */
    int step;                                /* verification commands started so far */
    bool broken; /* its verification could not start: another attempt would not help */
};
#define CANDIDATE_INIT                                                                             \
    {                                                                                              \
        .commit = BUF_INIT, .base = BUF_INIT                                                       \
    }

void land_turn(struct run *run);

/* Called after land_turn() and after new attempts have started: moves the base to the tip, if it is
 * time. */
void land_publish(struct run *run);

/* These carry out actions of the engine. */
void do_publish(struct run *run, const struct action *a, const struct engine_event *ev);
void do_publish_later(struct run *run, const struct action *a, const struct engine_event *ev);

#endif

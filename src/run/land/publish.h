/*
 * The base branch follows the tip, and the tip includes commits that others put on the base.
 */
#ifndef RUN_LAND_PUBLISH_H
#define RUN_LAND_PUBLISH_H

#include "base/buf.h"
#include "base/err.h"
#include "plan/engine/publication.h"
#include "run/checkout/base_lock.h"
#include "run/checkout/checkout_lock.h"
#include "sys/proc/loop.h"
#include "sys/proc/stuck_watch.h"

struct run;

/* Moves the base branch to the run's tip; struct publication decides how. */
struct publisher {
    struct publication publication;
    struct base_lock lock;
    struct watch *child,
        *wait; /* the git that moves the base; a timer while we wait for the next try */
    struct stuck_watch *stuck; /* ends that git if it would wait forever */
    pid_t git;                 /* leader of its own process group while `child` is set */
    struct watch *limit;       /* ends the wait for that git */
    struct buf base_seen;      /* the base commit that we saw last */
    bool fast_forward_marked,
        fast_forward_noted; /* we wrote the marks of the current fast-forward */
    struct checkout_lock checkout;
    bool git_seen;      /* another git was at work in the checkout when we had locked it */
    bool may_be_undone; /* the user may take the base back by aborting an operation */
    char *target;
    char *moved_from; /* the ref of the base has moved from this commit, without a checkout */
    void (*after_move)(struct run *run, bool moved); /* called when that git has ended */
    void (*after)(struct run *run);
    struct watch *pause; /* ends the wait for more landings before we publish */
};

/* Moves the ref of the run's tip. Only we own it, so we override an agent that moved it. */
int run_move_tip(struct run *run, const char *to, const char *why, struct err *err);
int publish_follow(struct run *run, struct err *err); /* merges others' new commits on the base */

/* Moves the base to the tip, if possible, then calls `then`. Do not call it while a publication
 * runs. */
void publish(struct run *run, void (*then)(struct run *));
int publish_finish(struct run *run,
                   struct err *err); /* keeps unpublished work on a branch, with advice */

/* Ends every wait for others: landed work stays on a branch. */
void publish_give_up(struct run *run);
void publisher_done(struct publisher *p);

#endif

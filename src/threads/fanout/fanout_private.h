/*
 * What the parts of fanning out share.
 */
#ifndef THREADS_FANOUT_FANOUT_PRIVATE_H
#define THREADS_FANOUT_FANOUT_PRIVATE_H

#include "git/batch.h"
#include "run/attempt/guarded.h"
#include "sys/ports.h"
#include "threads/fanout/fanout.h"
#include "workspace/workspace.h"

struct making;

/* One thread that is being made. */
struct maker {
    struct making *all;
    struct thread *thread;
    struct workspace ws;
    bool has_ws;
    struct guarded errand;
    char *cwd, *log, *excludes, *brought;
};

/* All of them. */
struct making {
    struct fanout *f;
    struct err *err;
    struct loop *loop;
    struct watch *signals[3];
    struct git_batch *batch;
    struct ports ports;
    struct buf excludes; /* the user's own */
    char *hooks;         /* the folder of the user's, as his settings name it, or NULL */
    struct maker *makers;
    size_t next, running, limit;
    bool failed;   /* *err says why */
    bool switched; /* the extension was off */
    char *folder;  /* the highest folder above the worktrees that was not there, or NULL */
};

/* Gives a thread its block of ports. */
int maker_take_ports(struct maker *w, struct err *err);

/* Starts as many as may be at work; ends the loop when none is any more. */
void makers_start(struct making *m);

/* Ends those that are at work, early. */
void makers_stop(struct making *m);

/* Whether nothing is in the way of the fresh threads; changes nothing. */
int fanout_check(const struct fanout *f, struct err *err);

/* Whether what is at a thread's place is what a fanout left that was killed: its worktree has not
 * become a thread, so nobody was told of it. */
bool fanout_is_half_made(const struct thread *t);

#endif

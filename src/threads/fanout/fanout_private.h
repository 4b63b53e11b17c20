/*
 * Shared by the files of `fanout`.
 */
#ifndef THREADS_FANOUT_FANOUT_PRIVATE_H
#define THREADS_FANOUT_FANOUT_PRIVATE_H

#include "git/batch.h"
#include "run/process/guarded.h"
#include "sys/ports.h"
#include "threads/fanout/fanout.h"
#include "workspace/workspace.h"

struct fanout_job;

/* One thread that we are making. */
struct thread_maker {
    struct fanout_job *all;
    struct thread *thread;
    struct workspace ws;
    bool has_ws;
    struct guarded child;
    char *cwd, *log, *excludes, *brought;
};

/* All of them. */
struct fanout_job {
    struct fanout *f;
    struct err *err;
    struct loop *loop;
    struct watch *signals[3];
    struct git_batch *batch;
    struct ports ports;
    struct buf excludes; /* the user's own patterns */
    char *user_hooks;    /* the folder of hooks in the user's settings, or NULL */
    struct thread_maker *makers;
    size_t next, running, limit;
    bool failed;            /* *err has the reason */
    bool enabled_extension; /* we have enabled extensions.worktreeConfig */
    char *made_folder;      /* the topmost folder that we had to make for the worktrees, or NULL */
};

/* Gives a thread its block of ports. */
int maker_reserve_ports(struct thread_maker *w, struct err *err);

/* Starts as many as may run at once. Stops the loop if none is running. */
void makers_start(struct fanout_job *m);

/* Stops those that are running. */
void makers_stop(struct fanout_job *m);

/* Checks for obstacles to the new threads; changes nothing. */
int fanout_check(const struct fanout *f, struct err *err);

/* True if a fanout that was killed left the thing at a thread's place. Its worktree has not become
 * a thread, so nobody knows of it. */
bool fanout_is_half_made(const struct thread *t);

#endif

/*
 * A checkout brought forward like in a run (checkout_move.h), for callers that wait until it is
 * done.
 */
#ifndef RUN_LAND_CHECKOUT_MOVE_NOW_H
#define RUN_LAND_CHECKOUT_MOVE_NOW_H

#include "git/git.h"
#include "run/land/checkout_lock.h"

/* A branch and where it moves. */
struct forward_move {
    const char *ref, *from, *to;
    const char *why; /* for the reflog */
};

/* Locks the checkout at `path`, whose branch is about to move; only for who has the turn. Another
 * git's lock is waited for. Where it stays, or a signal wants us to stop, l->lock stays NULL and
 * `words` says so as git does. has_ref: the checkout has the branch, or it does not; *ret_ready is
 * false where that has changed. */
int checkout_move_now_lock(struct checkout_lock *l, const struct git_repo *repo, const char *path,
                           const char *ref, bool has_ref, bool *ret_ready, struct buf *words,
                           struct err *err);

/* Moves files, index and branch of a checkout that is locked, and prepared with `env`
 * (checkout_lock_prepare()). *ret_status is that of git, whose words are added to `words` (or
 * NULL). */
int checkout_move_now(const struct checkout_lock *l, const struct git_place *at,
                      const struct forward_move *move, const struct strv *env, struct buf *words,
                      int *ret_status, bool *ret_moved, struct err *err);

#endif

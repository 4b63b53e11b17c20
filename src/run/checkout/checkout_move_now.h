/*
 * Moves a checkout as a run does (checkout_move.h), for callers that block until it is done.
 */
#ifndef RUN_CHECKOUT_CHECKOUT_MOVE_NOW_H
#define RUN_CHECKOUT_CHECKOUT_MOVE_NOW_H

#include "base/err.h"
#include "git/git.h"
#include "run/checkout/checkout_lock.h"

/* A branch and its move. */
struct forward_move {
    const char *ref, *from, *to;
    const char *why; /* for the reflog */
};

/* Locks the checkout at `path` before its branch moves. The caller holds the base lock. Waits
 * while another git has the checkout locked. If that lock stays, or a signal stops us, l->lock
 * stays NULL and `words` says so as git does. has_ref: the checkout must have the branch checked
 * out, or must not; *ret_ready is false if that has changed. */
int checkout_move_now_lock(struct checkout_lock *l, const struct git_repo *repo, const char *path,
                           const char *ref, bool has_ref, bool *ret_ready, struct buf *words,
                           struct err *err);

/* Moves files, index and branch of a locked checkout, with the `env` of checkout_lock_prepare(). If
 * the user has left the branch meanwhile, takes back files and index (checkout_take_back.h).
 * *ret_status is the exit status of git, whose output is added to `words` (or NULL). */
int checkout_move_now(const struct checkout_lock *l, const struct git_place *at,
                      const struct forward_move *move, const struct strv *env, struct buf *words,
                      int *ret_status, bool *ret_moved, struct err *err);

#endif

/*
 * Brings a checkout to the commit to which its branch has moved. A `git switch` that began in
 * another work tree just before we moved the branch writes files and index of the commit before:
 * the checkout shows the new commits as deleted.
 */
#ifndef RUN_CHECKOUT_REPAIR_CHECKOUT_FOLLOW_H
#define RUN_CHECKOUT_REPAIR_CHECKOUT_FOLLOW_H

#include "git/git.h"
#include "run/checkout/checkout_move_now.h"

/* *ret_yes: the index shows part of the move, that is, a path that the move changes has its new
 * entry. */
int checkout_index_shows_move(const struct git_repo *there, const char *from, const char *to,
                              bool *ret_yes, struct err *err);

/* We hold the lock of the checkout `there`, and the branch has moved. Does nothing if the checkout
 * is on another branch, or shows part of the move. git refuses to overwrite a change of the user:
 * then this is an error that says how to bring the files in. */
int checkout_follow(const struct checkout_lock *l, const struct git_repo *there,
                    const struct forward_move *move, struct err *err);

#endif

/*
 * git's lock on the index of a checkout, held while git brings the checkout forward. That git works
 * aside: with an index and a HEAD of its own, which is at the commit where the branch was. When it
 * is done its index takes the place of the user's, the branch moves, and the lock goes. So no other
 * git comes in between: one that begins meanwhile is refused by the lock. Whatever we die of, the
 * files are there first, the index is second, and the branch is last.
 *
 * A git that was at work before, or that begins before we let go, may have read the index or HEAD
 * already, and would write back what it has read: then files that have landed would look deleted,
 * or the branch would be where it was. So nothing is begun, and the lock is not given up, as long
 * as another git is at work there; for a while only, as there are gits that stay.
 */
#ifndef RUN_LAND_CHECKOUT_LOCK_H
#define RUN_LAND_CHECKOUT_LOCK_H

#include "base/err.h"
#include "base/strv.h"

#include <stdbool.h>

struct checkout_lock {
    char *lock; /* its path; NULL where it is not held */
    char *git_dir, *root;
    char *aside;   /* the folder in which git works */
    bool was_left; /* we took it over from one of us who is dead */
};
#define autolock own_cleanup(checkout_lock_release)

/* Only for who has the turn (base_lock.h). A lock that one of us left who is dead becomes ours: no
 * other git gets in between. *ret_taken is false where another git has the lock. `git_dir` is that
 * of the work tree at `root`; the folder `aside` is made anew. */
int checkout_lock_take(struct checkout_lock *l, const char *git_dir, const char *root,
                       const char *aside, bool *ret_taken, struct err *err);

/* Prepares the folder for a git that begins at a commit, and adds what it has to have in its
 * environment. */
int checkout_lock_prepare(const struct checkout_lock *l, const char *common, const char *commit,
                          struct strv *env, struct err *err);

/* Whether no git but ours is at work in the checkout. */
bool checkout_lock_is_quiet(const struct checkout_lock *l);

/* Waits up to a second for that; false where it is not so then. */
bool checkout_lock_await_quiet(const struct checkout_lock *l);

/* The index that git has written becomes that of the checkout. */
int checkout_lock_install(const struct checkout_lock *l, struct err *err);

/* Gives it up, if it is held. */
void checkout_lock_release(struct checkout_lock *l);

/* Forgets it and leaves the file, as if we had died: the next of us takes it over. */
void checkout_lock_leave(struct checkout_lock *l);

/* Whether the lock in a git_dir is one that was left like that; and removes such a lock, for who
 * has the turn and knows that no half of a move is below it. */
bool checkout_lock_is_left(const char *git_dir);
void checkout_lock_clear(const char *git_dir);

#endif

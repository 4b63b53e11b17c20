/*
 * The lock on the index of a checkout, held while git moves the checkout forward. That git works
 * aside: it has its own index, and its own HEAD at the commit where the branch was. When it is
 * done, we replace the user's index by its index, move the branch, and release the lock. So no
 * other git comes in between: one that starts meanwhile fails on the lock. Wherever we die, the
 * files change first, the index second, and the branch last.
 *
 * A git that was at work before, or that starts before we release the lock, may have read the index
 * or HEAD already. It would write back the old state: files that have landed would look deleted, or
 * the branch would go back. So we neither start nor release the lock while another git is at work
 * in the checkout. We wait only for a while, because some gits stay.
 */
#ifndef RUN_CHECKOUT_CHECKOUT_LOCK_H
#define RUN_CHECKOUT_CHECKOUT_LOCK_H

#include "base/err.h"
#include "base/strv.h"

#include <stdbool.h>

struct checkout_lock {
    char *lock; /* its path; NULL: not held */
    char *git_dir, *root;
    char *aside;   /* the folder in which our git works */
    bool was_left; /* we took it over from a dead process of ours */
};
#define autolock own_cleanup(checkout_lock_release)

/* The caller holds the base lock (base_lock.h). We take over a lock that a dead process of ours
 * left: no other git gets in between. *ret_taken is false if another git has the lock. `git_dir`
 * belongs to the work tree at `root`. checkout_lock_prepare() creates the folder `aside` anew. */
int checkout_lock_take(struct checkout_lock *l, const char *git_dir, const char *root,
                       const char *aside, bool *ret_taken, struct err *err);

/* Prepares the folder `aside` for a git that starts at `commit`, and adds the variables that
 * this git needs to `env`. */
int checkout_lock_prepare(const struct checkout_lock *l, const char *common, const char *commit,
                          struct strv *env, struct err *err);

/* True if no git but ours is at work in the checkout. */
bool checkout_lock_is_quiet(const struct checkout_lock *l);

/* Waits up to a second until checkout_lock_is_quiet(). Returns false on timeout. */
bool checkout_lock_await_quiet(const struct checkout_lock *l);

/* Replaces the checkout's index by the one that our git wrote. */
int checkout_lock_install(const struct checkout_lock *l, struct err *err);

/* Releases the lock, if we hold it. */
void checkout_lock_release(struct checkout_lock *l);

/* Forgets the lock and leaves its file, as if we had died: the next process of ours takes it
 * over. */
void checkout_lock_leave(struct checkout_lock *l);

/* True if the lock in `git_dir` was left by a dead process of ours, or by checkout_lock_leave().
 * checkout_lock_clear() removes such a lock: the caller holds the base lock and knows that no
 * unfinished move depends on it. */
bool checkout_lock_is_left(const char *git_dir);
void checkout_lock_clear(const char *git_dir);

#endif

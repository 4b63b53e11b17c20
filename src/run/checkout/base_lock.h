/*
 * The base lock: only the process that holds it moves a base branch, be it a run or another command
 * that lands. The lock is on the file `turn` of the repository. Before its holder moves the branch,
 * it writes a mark into that file. A process that takes the lock and finds a mark knows that the
 * last holder, or its git, was killed during a move and may have left git locks behind.
 */
#ifndef RUN_CHECKOUT_BASE_LOCK_H
#define RUN_CHECKOUT_BASE_LOCK_H

#include "base/err.h"
#include "git/git.h"

#include <stdbool.h>

struct base_lock {
    int fd;      /* has the lock; -1: we do not hold it */
    bool marked; /* we wrote the mark for this move */
};
#define BASE_LOCK_INIT                                                                             \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/* turn->fd stays -1 if another process holds the lock. */
int base_lock_take(struct base_lock *turn, const char *state_dir, struct err *err);

/* Blocks until we hold the lock; `waiting` as for dirs_await_lock(). */
int base_lock_await(struct base_lock *turn, const char *state_dir,
                    void (*waiting)(const char *whom), struct err *err);

/* Removes the locks that a killed git of ours left on the base branch, and on index and HEAD if
 * the base is checked out here. Removes only locks that nobody else can own: they are not older
 * than the unfinished move, and the only gits at work there are those of runs, which do not hold
 * the base lock. */
void base_lock_clear(const struct base_lock *turn, const struct git_repo *repo, const char *ref);

/* Removes our mark and releases the lock, though a git of ours may still be at work. */
void base_lock_leave(struct base_lock *turn);

/* base_lock_mark() comes before the move; base_lock_unmark() comes after it, if git ended by
 * itself. */
int base_lock_mark(struct base_lock *turn, struct err *err);
void base_lock_unmark(struct base_lock *turn, bool moved);

/* Releases the lock and keeps a mark. */
void base_lock_done(struct base_lock *turn);
#define autobase_lock own_cleanup(base_lock_done)

#endif

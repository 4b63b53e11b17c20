/*
 * Whose turn it is to move a base branch: one process at a time has the file `turn` of the
 * repository locked, a run or who else lands, and says in it that the branch is being moved. Who
 * gets the turn and finds that said comes after one that was killed, or whose git was, and may have
 * left locks behind.
 */
#ifndef RUN_LAND_BASE_LOCK_H
#define RUN_LAND_BASE_LOCK_H

#include "git/git.h"

#include <stdbool.h>

struct base_lock {
    int fd;      /* has the lock; -1: it is not our turn */
    bool marked; /* the mark is of this move */
};
#define BASE_TURN_INIT                                                                             \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/* The folder is that of the state. turn->fd stays -1 where another has it. */
int base_lock_take(struct base_lock *turn, const char *state_dir, struct err *err);

/* The same for who can do nothing else meanwhile; `waiting` as for dirs_await_lock(). */
int base_lock_await(struct base_lock *turn, const char *state_dir,
                    void (*waiting)(const char *whom), struct err *err);

/* Takes away the locks that a git of ours has left on the base branch, and on index and HEAD where
 * it is checked out here. Only where they can be nobody else's: they are not older than the move
 * that came to no end, and no git is at work there but those of runs, whose turn it is not. */
void base_lock_clear(const struct base_lock *turn, const struct git_repo *repo, const char *ref);

/* Others may have it, though a git of ours may still be at work. */
void base_lock_leave(struct base_lock *turn);

/* Before the move, and after it where git has ended by itself. */
int base_lock_mark(struct base_lock *turn, struct err *err);
void base_lock_unmark(struct base_lock *turn, bool moved);

/* Gives it up as it is: a mark stays. */
void base_lock_done(struct base_lock *turn);
#define autoturn own_cleanup(base_lock_done)

#endif

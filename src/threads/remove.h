/*
 * Removes threads completely. The caller first checks that nothing is lost.
 */
#ifndef THREADS_REMOVE_H
#define THREADS_REMOVE_H

#include "threads/thread.h"

/* Removes the worktree with its administrative folder, and the branch if it is at `tip` (NULL: keep
 * the branch). Missing parts are no error. */
int thread_remove(const struct thread *t, const struct git_repo *repo, const char *tip,
                  struct err *err);

/* Call this with a removed thread after all removals. Removes the folder that it was in, if that is
 * empty. With the last thread of the repository it also resets the configuration that we changed
 * for threads. */
int threads_leave(const struct git_repo *repo, const struct thread *gone, struct err *err);

/* The same if there is no thread: a fanout may have changed the configuration and died before it
 * made one. */
int threads_leave_none(const struct git_repo *repo, struct err *err);

/* Locks the making and removal of threads: waits if necessary, and reports that to `waiting`
 * (dirs_await_lock()). Closing the descriptor unlocks it. */
int threads_lock(const struct git_repo *repo, void (*waiting)(const char *whom), int *ret_fd,
                 struct err *err);

/* Unlocks after the removal of the last thread. Also removes our folder in the repository, which
 * contains the lock, unless runs have files in it. */
void threads_unlock_last(const struct git_repo *repo, int *fd);

#endif

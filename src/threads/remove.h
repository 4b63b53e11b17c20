/*
 * Taking threads away, so that nothing of them is left. What they hold is for the caller to look at
 * before.
 */
#ifndef THREADS_REMOVE_H
#define THREADS_REMOVE_H

#include "threads/thread.h"

/* Takes away the worktree with its administrative folder, and the branch if it is at `tip` (NULL:
 * the branch stays). Parts that are not there any more are fine. */
int thread_remove(const struct thread *t, const struct git_repo *repo, const char *tip,
                  struct err *err);

/* To be called when all that were to go are gone, with one of them: takes away the folder that it
 * was in, if that is empty, and with the last thread of the repository what was switched on for
 * them in its configuration. */
int threads_leave(const struct git_repo *repo, const struct thread *gone, struct err *err);

/* The same where there is no thread: takes back what one switched on who was killed before he had
 * made any. */
int threads_leave_none(const struct git_repo *repo, struct err *err);

/* Threads are made and taken away by one at a time: waits for that, and says so to `waiting`
 * (dirs_await_lock()). The lock goes with the descriptor. */
int threads_lock(const struct git_repo *repo, void (*waiting)(const char *whom), int *ret_fd,
                 struct err *err);

/* The same end for who has taken the last one away: our folder in the repository, which the lock is
 * in, goes as well, unless there is something of runs in it. */
void threads_unlock_last(const struct git_repo *repo, int *fd);

#endif

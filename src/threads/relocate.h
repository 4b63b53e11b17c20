/*
 * If a repository is moved together with its threads, the links between it and the worktrees and
 * the settings for our hooks break: all of them are absolute paths.
 */
#ifndef THREADS_RELOCATE_H
#define THREADS_RELOCATE_H

#include "git/git.h"
#include "threads/thread.h"

/* Finds the new place of a thread's worktree. Returns false if it is intact, or if we do not know
 * where it is. */
bool thread_is_moved(const struct thread *t, struct buf *ret_path);

/* Explains why git does not check the paths of a thread's commits. NULL: it does. */
const char *thread_hooks_off(const struct thread *t);

/* True if its hooks are off because our own settings name the old place. */
bool thread_hooks_are_stale(const struct thread *t);

/* Repairs the links of moved worktrees, like `git worktree repair`, and our own settings that name
 * an old place. Updates the paths of the threads. Does not touch the user's settings. */
int threads_relocate(struct threads *ts, const struct git_repo *repo, struct err *err);

#endif

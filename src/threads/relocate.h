/*
 * A repository that was moved with its threads: the links between both, and the settings by which a
 * worktree finds its hooks, are absolute paths, and lead nowhere then.
 */
#ifndef THREADS_RELOCATE_H
#define THREADS_RELOCATE_H

#include "git/git.h"
#include "threads/thread.h"

/* Where a thread's worktree is now; false where it is not known to have moved, or is in order. */
bool thread_is_moved(const struct thread *t, struct buf *ret_path);

/* Why commits of a thread are not held against its paths, in words; NULL: they are. */
const char *thread_hooks_off(const struct thread *t);

/* Whether its hooks are off because the settings, which are ours, lead to where it was before. */
bool thread_hooks_are_stale(const struct thread *t);

/* Puts right the links of worktrees that have moved, as `git worktree repair` does, and our own
 * settings of those that lead elsewhere; the threads say where they are then. A setting that is the
 * user's stays. */
int threads_relocate(struct threads *ts, const struct git_repo *repo, struct err *err);

#endif

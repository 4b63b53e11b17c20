/*
 * What holds a thread to its paths while it works: git's hooks of its worktree, and for Claude Code
 * a hook that is asked before a file is written.
 *
 * core.hooksPath of the worktree alone leads to a folder in its administrative one. Its pre-commit
 * asks `anabranch __own-commit`; where the program is gone it says so and lets the commit pass.
 * Every hook then goes on to the user's own of that name, with the same arguments and standard
 * input. Which folder those are in is asked each time, so that hooks which come later are run as
 * well; but for those that git calls very often or whose being there changes what git does
 * (reference-transaction, post-index-change, the ones of receiving): they have to be there when the
 * thread is made.
 */
#ifndef THREADS_HOOKS_H
#define THREADS_HOOKS_H

#include "git/git.h"
#include "threads/thread.h"

/* The folder of hooks that the settings of all worktrees name, as they do, for the caller to free;
 * NULL where they name none. One process, for any number of threads. */
int thread_hooks_find(const struct git_repo *repo, char **ret, struct err *err);

/* Installs them; again, too. `shared` is what thread_hooks_find() said. extensions.worktreeConfig
 * is on (git/config/worktree_config.h), and the worktree filled. Claude Code's are left out where
 * its local settings are not the worktree's own (threads/claude_settings.h), or the thread is for
 * another engine. */
int thread_hooks_install(const struct git_repo *repo, const struct thread *t, const char *shared,
                         struct err *err);

/* Takes them away, and brings back what was there before, but for a pattern in the worktree's own
 * file of excludes. For who leaves the worktree where it is: else they go with it. */
int thread_hooks_remove(const struct thread *t, struct err *err);

#endif

/*
 * Hooks that hold a thread to its paths while it works: git hooks of its worktree, and a hook of
 * Claude Code that runs before Claude Code writes a file.
 *
 * core.hooksPath of this worktree names a folder in its administrative folder. The pre-commit hook
 * in it runs `anabranch __own-commit`. If the program is gone, the hook says so and lets the commit
 * pass. Every hook then runs the user's hook of the same name, with the same arguments and standard
 * input. It looks up the user's folder each time, so that it finds hooks that the user adds later.
 * Some hooks must exist when the thread is made, because git calls them very often or works
 * differently with them: reference-transaction, post-index-change, and those that run on receiving.
 */
#ifndef THREADS_HOOKS_H
#define THREADS_HOOKS_H

#include "git/git.h"
#include "threads/thread.h"

/* Finds the folder of hooks that the settings of all worktrees name, unchanged; NULL if they name
 * none. The caller frees it. It takes one process, for any number of threads. */
int thread_hooks_find(const struct git_repo *repo, char **ret, struct err *err);

/* Installs or updates the hooks. `shared` is the result of thread_hooks_find().
 * extensions.worktreeConfig must be on (git/config/worktree_config.h), and the worktree filled. We
 * leave out the hook of Claude Code if its local settings are not the worktree's own
 * (threads/claude_settings.h), or if the thread has another engine. */
int thread_hooks_install(const struct git_repo *repo, const struct thread *t, const char *shared,
                         struct err *err);

#endif

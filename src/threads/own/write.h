/*
 * Judging a write before it happens, for the hooks of agents (cli/threads/cmd_own_hook.c).
 */
#ifndef THREADS_OWN_WRITE_H
#define THREADS_OWN_WRITE_H

#include "threads/own/own.h"

/* Whether a thread may write to a file (absolute, or relative to dir): it is in its worktree, not
 * git's own nor the settings that hold the hook, and own_judge() has it inside, or git ignores it.
 * Symlinks are followed, and the place that they are at counts as well. Where it may not, why is
 * appended, harmless to print; *ret_request is the path in the worktree, or NULL where asking for
 * it is of no use. */
int own_write(const struct git_repo *repo, const struct threads *all, const struct thread *t,
              const char *dir, const char *file, bool *ret_may, struct buf *why, char **ret_request,
              struct err *err);

#endif

/*
 * Judges a write before it happens, for the hooks of agents (cli/threads/cmd_own_hook.c).
 */
#ifndef THREADS_OWN_WRITE_H
#define THREADS_OWN_WRITE_H

#include "threads/own/own.h"

/* Checks if a thread may write to a file (absolute, or relative to dir). It must be in the thread's
 * worktree, belong neither to git nor to the settings with our hook, and own_judge() must find it
 * inside, or git must ignore it. If it is a symlink, both the link and its target must pass. If not
 * allowed, it appends the reason, safe to print; *ret_request is the path in the worktree, or NULL
 * if a request cannot help. */
int own_write(const struct git_repo *repo, const struct threads *all, const struct thread *t,
              const char *dir, const char *file, bool *ret_may, struct buf *why, char **ret_request,
              struct err *err);

#endif

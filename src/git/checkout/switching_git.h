/*
 * Finds gits of the user that may check out a branch, or have it checked out and may write back an
 * older state. Such a git reads the branch first. It locks the index for a part of its work only,
 * and writes HEAD or the branch last. If the branch moves in between, the checkout shows the new
 * commits as deleted, or the branch loses them.
 *
 * A git that waits in an editor does not count: it has no such step left, or its operation has left
 * signs (branch_use.h).
 */
#ifndef GIT_CHECKOUT_SWITCHING_GIT_H
#define GIT_CHECKOUT_SWITCHING_GIT_H

#include "base/buf.h"
#include "git/git.h"

/* The command of a git if it may check out `branch` (short name): "switch", "rebase"; otherwise
 * NULL. `arguments`: each ends with a NUL. Counts a git that checks out something else if its
 * arguments do not show that. */
const char *switching_git_to(const struct buf *arguments, const char *branch);

/* The command of a git if it may write back an older state of the branch that is checked out, such
 * as "reset"; otherwise NULL. */
const char *switching_git_back(const struct buf *arguments);

/* Finds a git that may check out the branch with this full name, in any work tree of the
 * repository. If the branch is checked out at `path` (not NULL), finds one there that may write
 * back an older state. Skips gits of runs, and worktrees whose name begins with `ours` (or NULL).
 * *ret_command is NULL if there is none, or if the system does not tell. */
int switching_git_find(const struct git_repo *repo, const char *ref, const char *path,
                       const char *ours, const char **ret_command, struct err *err);

#endif

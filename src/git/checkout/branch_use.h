/*
 * Finds an unfinished operation of the user on a branch, in any worktree of a repository: a rebase,
 * a merge, a cherry-pick, a revert, `git am` or a bisection. Until it ends nobody else may move the
 * branch: git would undo the move when the user aborts, or refuse to finish.
 *
 * A rebase and a bisection detach HEAD; git then notes the branch in a file of the worktree.
 */
#ifndef GIT_CHECKOUT_BRANCH_USE_H
#define GIT_CHECKOUT_BRANCH_USE_H

#include "base/err.h"

#include <stdbool.h>

/* The state files of one worktree. A string is the first line of a file; NULL: the file does not
 * exist. */
struct branch_signs {
    const char *head;    /* HEAD */
    const char *rebased; /* rebase-merge/head-name or rebase-apply/head-name */
    const char *updated; /* rebase-merge/update-refs, the whole file */
    const char *bisect;  /* BISECT_START */
    bool rebase, am, merge, pick, revert, sequencer; /* the file or folder exists */
};

/* The operation that uses a branch (full name), such as "a rebase"; NULL if there is none. */
const char *branch_operation(const struct branch_signs *signs, const char *ref);

/* Finds the operation in the first worktree that has one. *ret_where is the administrative folder
 * of that worktree, to be freed, or NULL. Skips worktrees whose name begins with `ours`. Starts no
 * process. Ignores anything that is not a regular file, because an agent may have put it there. */
int branch_use_find(const char *common, const char *ref, const char *ours,
                    const char **ret_operation, char **ret_where, struct err *err);

/* Finds the commit to which the user takes the branch back by aborting that operation, to be freed;
 * NULL: there is none. */
int branch_use_origin(const char *common, const char *ref, const char *ours, char **ret_commit,
                      struct err *err);

/* *ret_yes: a worktree has the branch checked out. Skips worktrees whose name begins with `ours`.
 * Starts no process. */
int branch_has_checkout(const char *common, const char *ref, const char *ours, bool *ret_yes,
                        struct err *err);

/* True if the worktree with this administrative folder has the branch checked out. */
bool branch_is_checked_out(const char *git_dir, const char *ref);

#endif

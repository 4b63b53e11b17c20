/*
 * What the user is in the middle of with a branch, in any worktree of a repository: a rebase, a
 * merge, a cherry-pick, a revert, `git am` or a bisection. As long as that lasts nobody else may
 * move the branch: git would take the move back when the user aborts, or refuse to finish.
 *
 * A rebase and a bisection detach HEAD; git then notes the branch in a file of the worktree.
 */
#ifndef GIT_CHECKOUT_BRANCH_USE_H
#define GIT_CHECKOUT_BRANCH_USE_H

#include "base/err.h"

#include <stdbool.h>

/* The signs of one worktree. A string is the first line of a file; NULL: there is no such file. */
struct branch_signs {
    const char *head;    /* HEAD */
    const char *rebased; /* rebase-merge/head-name or rebase-apply/head-name */
    const char *updated; /* rebase-merge/update-refs, all of it */
    const char *bisect;  /* BISECT_START */
    bool rebase, am, merge, pick, revert, sequencer; /* the file or folder is there */
};

/* The operation that uses a branch (full name), in words: "a rebase"; NULL where there is none. */
const char *branch_operation(const struct branch_signs *signs, const char *ref);

/* The same, in the first worktree that has one. *ret_where is the administrative folder of that
 * worktree, to be freed, or NULL. `ours`: worktrees whose name begins so are not looked at. Starts
 * no process. What an agent may have put in place of a file counts as not there. */
int branch_use_find(const char *common, const char *ref, const char *ours,
                    const char **ret_operation, char **ret_where, struct err *err);

/* Whether one worktree, by its administrative folder, has the branch checked out. */
bool branch_is_checked_out(const char *git_dir, const char *ref);

#endif

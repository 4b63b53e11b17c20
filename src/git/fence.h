/*
 * The fence (sys/contain/fence.h) that our gits are in when they work in a workspace: the work tree
 * and the repository. There is none where they may start a program of the user's, as for a filter,
 * which makes files wherever it likes.
 */
#ifndef GIT_FENCE_H
#define GIT_FENCE_H

#include "git/git.h"
#include "sys/contain/fence.h"

/* Notes what belongs to a repository that was just opened: its folder, and what that has symlinks
 * to as long as no agent is at work. */
void git_fence_note(const struct git_repo *repo);

/* The fence of a git that works in an open tree of that repository; NULL: none. */
const struct fence *git_fence(const char *common, const int *tree, struct fence *store);

#endif

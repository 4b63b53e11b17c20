/*
 * The fence (sys/contain/fence.h) around our gits when they work in a workspace: it contains the
 * work tree and the repository. There is no fence if git may start a program of the user, such as a
 * filter, because that program may write anywhere.
 */
#ifndef GIT_FENCE_H
#define GIT_FENCE_H

#include "git/git.h"
#include "sys/contain/fence.h"

/* Notes the folders of a repository that was just opened: its own folder, and the targets of
 * symlinks in it. Call this while no agent is running. */
void git_fence_note(const struct git_repo *repo);

/* The fence for a git that works in an open tree of that repository; NULL: none. */
const struct fence *git_fence(const char *common, const int *tree, struct fence *store);

#endif

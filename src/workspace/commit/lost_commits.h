/*
 * Finds commits that exist only in a workspace: an agent made them there and then switched
 * branches, reset, or replaced them.
 */
#ifndef WORKSPACE_COMMIT_LOST_COMMITS_H
#define WORKSPACE_COMMIT_LOST_COMMITS_H

#include "workspace/workspace.h"

#include <stdbool.h>

/* Appends the lost commits: those that cannot be reached from the commits `kept` (NULL at the
 * end), nor from any ref other than the workspace's branch. Lists only the last commit of each
 * line of history. Amended or rebased commits count only if `replaced` is set, because their
 * author has replaced them. */
int lost_commits_find(const struct workspace *ws, const char *const *kept, bool replaced,
                      struct strv *ret, struct err *err);

/* Makes one commit with all of them as parents. */
int lost_commits_tie(const struct git_place *at, const struct strv *strays, const char *message,
                     struct buf *ret_commit, struct err *err);

#endif

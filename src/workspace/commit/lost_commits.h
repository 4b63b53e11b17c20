/*
 * Commits that only a workspace knows of: made there, and then left for another branch, reset away
 * or replaced.
 */
#ifndef WORKSPACE_COMMIT_LOST_COMMITS_H
#define WORKSPACE_COMMIT_LOST_COMMITS_H

#include "workspace/workspace.h"

#include <stdbool.h>

/* Appends those that neither the commits `kept` (NULL at the end) nor any ref other than the
 * workspace's branch lead to; of each line of them the last. What was amended or rebased counts
 * only where `replaced` is set: its author has put something else in its place. */
int lost_commits_find(const struct workspace *ws, const char *const *kept, bool replaced,
                      struct strv *ret, struct err *err);

/* One commit that leads to all of them. */
int lost_commits_tie(const struct git_place *at, const struct strv *strays, const char *message,
                     struct buf *ret_commit, struct err *err);

#endif

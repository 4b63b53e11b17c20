/*
 * Saves the commits in a workspace's submodules. git gives each linked worktree its own clones and
 * deletes them with it, so we copy the commits to a repository that stays.
 */
#ifndef WORKSPACE_FILL_SUBMODULES_H
#define WORKSPACE_FILL_SUBMODULES_H

#include "base/err.h"
#include "workspace/workspace.h"

/* Fetches the commits that are checked out in the workspace's submodules and are on no remote.
 * They go to the repository's clone of the same submodule (or to the repository itself if there is
 * none), under refs/anabranch/modules/<workspace>/<commit>: several attempts use one workspace
 * after another. ERR_INPUT if a tracked file in a submodule has uncommitted changes, which we
 * cannot save. `index` is the index in which the work tree was staged. */
int submodules_save(const struct workspace *ws, const char *index, struct err *err);

#endif

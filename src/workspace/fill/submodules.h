/*
 * Submodules of a workspace: git gives each linked worktree clones of its own, which go when it
 * goes. What was committed in them is brought to where it stays.
 */
#ifndef WORKSPACE_FILL_SUBMODULES_H
#define WORKSPACE_FILL_SUBMODULES_H

#include "base/err.h"
#include "workspace/workspace.h"

/* Fetches what is checked out in the workspace's submodules, and that no remote has, to the
 * repository's clone of the same submodule (its own objects where there is none), under
 * refs/anabranch/modules/<workspace>/<commit>: attempts have the workspace after one another.
 * ERR_INPUT where a tracked file was changed in one and not committed there: that cannot be saved.
 * `index` is where the work tree was staged. */
int submodules_save(const struct workspace *ws, const char *index, struct err *err);

#endif

/*
 * Checks the work of an attempt before any of it becomes history.
 *
 * An agent can merge or rebase and lose landed work of others: with `git merge -s ours`, a bad
 * resolution, `git checkout OLD -- PATH`, or a reset to an older commit. Then its commit would undo
 * others' work when it lands. own_work_reverts() finds that (plan/revert.h).
 *
 * The agent's own commits become history together with its final tree. We keep them if each one
 * changes only what the final tree changes too, and none contains anything worse. Otherwise we
 * replace them by one commit (own_work_is_dirty()).
 */
#ifndef RUN_COMMIT_OWN_WORK_H
#define RUN_COMMIT_OWN_WORK_H

#include "base/err.h"
#include "workspace/commit/commit.h"

#include <stdbool.h>

struct attempt;

/* Appends the paths where the task would undo landed work of others. */
int own_work_reverts(const struct attempt *attempt, const struct commit_draft *draft,
                     struct strv *ret, struct err *err);

/* True if we must squash the agent's own commits. A commit is dirty if it has a path that the
 * result does not change and that is new or not the task's to change, an included file, a path that
 * git would refuse, or a secret that the result does not have. Too many commits to check are dirty
 * as well. */
int own_work_is_dirty(const struct attempt *attempt, const struct commit_draft *draft,
                      bool *ret_dirty, struct err *err);

/* Appends the paths that the commit changes, each followed by a NUL. */
int own_work_paths(const struct attempt *attempt, const struct commit_draft *draft,
                   const char *commit, struct buf *out, struct err *err);

#endif

/*
 * Finds the paths of a merge conflict that an agent has not resolved (run/rework/repair.h).
 */
#ifndef RUN_COMMIT_UNRESOLVED_H
#define RUN_COMMIT_UNRESOLVED_H

#include "base/buf.h"
#include "base/err.h"
#include "git/git.h"

#include <stdbool.h>

struct attempt;

/* Appends the staged paths that are still in conflict. */
int unresolved_find(struct attempt *attempt, struct buf *ret_paths, struct err *err);

/* Appends the file `path` of a tree, or of a stage of the index (":0"), if it is there. */
int unresolved_read_blob(const struct git_place *at, const char *tree, const char *path,
                         struct buf *out, bool *ret_found, struct err *err);

#endif

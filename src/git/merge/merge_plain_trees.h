/*
 * Merges the simple cases: no entry was changed by both sides in different ways, and no folder that
 * both sides changed has lost an entry. So renames play no part.
 * In these cases git would produce the same tree, and we need only a few questions to a running
 * process, not a process of our own. git merges all other cases.
 */
#ifndef GIT_MERGE_MERGE_PLAIN_TREES_H
#define GIT_MERGE_MERGE_PLAIN_TREES_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

struct git_batch;

/* Merges the trees of two commits with the tree of a third as their base. If git must do it,
 * *ret_plain is false; otherwise appends the id of the merged tree. */
int merge_plain_trees(struct git_batch *batch, const char *base, const char *ours,
                      const char *theirs, struct buf *ret_tree, bool *ret_plain, struct err *err);

#endif

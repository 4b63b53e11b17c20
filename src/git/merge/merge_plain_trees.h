/*
 * The merges that need no judgement: no folder has an entry that both sides changed in different
 * ways, and none that both changed, be it in the same way, lacks an entry that it had, so that no
 * rename can be in play.
 * There git would come to the same tree, and it takes a few questions to a process that is there
 * already instead of a process of its own. Everything else is git's to merge.
 */
#ifndef GIT_MERGE_MERGE_PLAIN_TREES_H
#define GIT_MERGE_MERGE_PLAIN_TREES_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

struct git_batch;

/* Merges the trees of two commits by that of a third. *ret_plain is false where git must do it;
 * else the merged tree's id is appended. */
int merge_plain_trees(struct git_batch *batch, const char *base, const char *ours,
                      const char *theirs, struct buf *ret_tree, bool *ret_plain, struct err *err);

#endif

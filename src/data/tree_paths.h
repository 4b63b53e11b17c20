/*
 * Which paths differ between two commits: what `git diff-tree -r --no-renames` lists, without a
 * process.
 */
#ifndef DATA_TREE_PATHS_H
#define DATA_TREE_PATHS_H

#include "base/buf.h"
#include "base/err.h"

struct git_batch;

/* Appends each path that is only in one of them, or not the same in both, with a NUL behind it; an
 * object id stands for a commit or a tree. */
int tree_paths(struct git_batch *batch, const char *from, const char *to, struct buf *out,
               struct err *err);

#endif

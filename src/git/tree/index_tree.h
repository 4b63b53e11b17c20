/*
 * Writes the tree of an index, like `git write-tree` but without a process. Leaves some indexes to
 * git: split or sparse ones, those with conflicts, and those with many folders to ask about.
 */
#ifndef GIT_TREE_INDEX_TREE_H
#define GIT_TREE_INDEX_TREE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct git_batch;

/* Appends the id of the tree; all its objects exist. *ret_done is false if git must do it. id_len
 * is the length of an id in hexadecimal digits. */
int index_tree(struct git_batch *batch, const char *path, size_t id_len, struct buf *ret_tree,
               bool *ret_done, struct err *err);

#endif

/*
 * The tree of an index: what `git write-tree` gives, without a process. An index of a kind that is
 * not read here (split, sparse, with conflicts in it), or with many folders to ask about, is left
 * to git.
 */
#ifndef GIT_TREE_INDEX_TREE_H
#define GIT_TREE_INDEX_TREE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct git_batch;

/* Appends the id of the tree, of which every object exists. *ret_done is false where git must do
 * it. id_len is that of an id in hexadecimal digits. */
int index_tree(struct git_batch *batch, const char *path, size_t id_len, struct buf *ret_tree,
               bool *ret_done, struct err *err);

#endif

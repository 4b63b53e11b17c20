/*
 * Writes a tree with some files changed, based on existing trees: it reads and writes only the
 * folders above a change, however large the rest is.
 */
#ifndef GIT_TREE_TREE_EDIT_H
#define GIT_TREE_TREE_EDIT_H

#include "base/buf.h"
#include "base/err.h"
#include "git/tree/index_edit.h"

#include <stdbool.h>

struct git_batch;

/* Appends the id of the changed tree. The changes are sorted by path; their stat data is ignored. A
 * path with a slash at the end removes a folder and its contents; the following changes in it
 * become its whole content. Folders without a file vanish. If git must do it, appends nothing and
 * *ret_done is false: a removed path does not exist, a name would be both a file and a folder, git
 * would now write an entry in another form, or the object of a file is missing. */
int tree_edit(struct git_batch *batch, const char *tree, const struct index_change *changes,
              size_t n, struct buf *ret_tree, bool *ret_done, struct err *err);

#endif

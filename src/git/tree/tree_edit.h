/*
 * A tree with some of its files changed, made of the trees that are there: only the folders on the
 * way to a change are read and written, however large the rest is.
 */
#ifndef GIT_TREE_TREE_EDIT_H
#define GIT_TREE_TREE_EDIT_H

#include "base/buf.h"
#include "base/err.h"
#include "git/tree/index_edit.h"

#include <stdbool.h>

struct git_batch;

/* Appends the id of what a tree is with the changes, which are sorted by path; their stat data is
 * not looked at. A path with a slash behind it is a folder that goes, with all that was in it; what
 * is changed in it then is all there is. Folders without a file vanish. *ret_done is false, and
 * nothing is appended, where git must do it: something is to go that is not there, or a name would
 * be a file and a folder, or an entry is of a kind that git writes in another way now, or one of
 * the files' objects is not there. */
int tree_edit(struct git_batch *batch, const char *tree, const struct index_change *changes,
              size_t n, struct buf *ret_tree, bool *ret_done, struct err *err);

#endif

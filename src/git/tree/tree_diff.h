/*
 * Compares the paths of two trees, like `git diff-tree -r --no-renames`, and finds the entry at a
 * path; without a process.
 */
#ifndef GIT_TREE_TREE_DIFF_H
#define GIT_TREE_TREE_DIFF_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

struct git_batch;
struct tree_entry;

/* Calls `found` for each file or folder that differs or is only on one side; a folder comes before
 * its contents. The missing side is NULL. A failure of `found` ends the walk. `from` and `to` are
 * ids of commits or trees. */
typedef int tree_diff_found(void *ctx, const char *path, const struct tree_entry *from,
                            const struct tree_entry *to, struct err *err);
int tree_diff_each(struct git_batch *batch, const char *from, const char *to,
                   tree_diff_found *found, void *ctx, struct err *err);

/* Appends the path of each such file. A NUL follows each. */
int tree_diff(struct git_batch *batch, const char *from, const char *to, struct buf *out,
              struct err *err);

/* Appends the id of the entry at a path in a tree, given the tree's id; *ret_found is false if
 * there is none. git itself would read the whole tree for each question. */
int tree_find(struct git_batch *batch, const char *tree, const char *path, struct buf *ret_id,
              bool *ret_found, struct err *err);

#endif

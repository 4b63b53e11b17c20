/*
 * Paths in trees: which differ between two commits, as `git diff-tree -r --no-renames` lists them,
 * and what is at one; without a process.
 */
#ifndef GIT_TREE_TREE_DIFF_H
#define GIT_TREE_TREE_DIFF_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

struct git_batch;
struct tree_entry;

/* Calls `found` for each file, and each folder before what is in it, that is only in one of them,
 * or not the same in both: NULL stands for the side that has nothing there. What fails ends it; an
 * object id stands for a commit or a tree. */
typedef int tree_diff_found(void *ctx, const char *path, const struct tree_entry *from,
                            const struct tree_entry *to, struct err *err);
int tree_diff_each(struct git_batch *batch, const char *from, const char *to,
                   tree_diff_found *found, void *ctx, struct err *err);

/* Appends the path of each such file, with a NUL behind it. */
int tree_diff(struct git_batch *batch, const char *from, const char *to, struct buf *out,
              struct err *err);

/* Appends the id of what a tree, by its own id, has at a path; *ret_found is false where that is
 * nothing. git itself would read the whole tree for each question. */
int tree_find(struct git_batch *batch, const char *tree, const char *path, struct buf *ret_id,
              bool *ret_found, struct err *err);

#endif

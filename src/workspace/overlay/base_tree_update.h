/*
 * Bringing a pristine tree forward without git, where little is to be written: git would go through
 * all that the tree has.
 */
#ifndef WORKSPACE_OVERLAY_BASE_TREE_UPDATE_H
#define WORKSPACE_OVERLAY_BASE_TREE_UPDATE_H

#include "workspace/overlay/base_tree.h"

#include <stdbool.h>

struct git_batch;

/* Writes the files of a draft, which has those of another commit, and its index. Only for who has
 * seen that git takes contents as they are, but for attributes in the commits. False where git must
 * do it: the difference is large, folders come or go, there are more than files. Where something
 * failed half-way git will refuse to go on with it, too. */
bool base_tree_update(const struct base_tree_draft *d, struct git_batch *batch);

#endif

/*
 * Updates a base tree without git if few files differ: git would go through all files of the tree.
 */
#ifndef WORKSPACE_OVERLAY_BASE_TREE_UPDATE_H
#define WORKSPACE_OVERLAY_BASE_TREE_UPDATE_H

#include "workspace/overlay/base_tree.h"

#include <stdbool.h>

struct git_batch;

/* Writes the files and the index of a draft that has the files of another commit. Call it only
 * after you have checked that git writes contents unchanged, except for attributes in the commits.
 * Returns false if git must do it: the difference is large, folders appear or disappear, or there
 * are entries other than files. If we failed half-way, git will also refuse to update this draft.
 */
bool base_tree_update(const struct base_tree_draft *d, struct git_batch *batch);

#endif

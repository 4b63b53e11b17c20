/*
 * A delta: what makes the files of one commit those of another, in a folder that is put over them
 * (workspace/overlay/overlayfs.h): files, and marks for those that are gone.
 */
#ifndef WORKSPACE_OVERLAY_BASE_TREE_DELTA_H
#define WORKSPACE_OVERLAY_BASE_TREE_DELTA_H

#include <stdbool.h>
#include <stddef.h>

/* A file is gone, whose folder is there, below the descriptor of the delta's top. */
bool base_tree_delta_hide(int root, const char *path);

/* Whether a delta is still what it was made: over the files that the index `below` has, it gives
 * those of `index`. The ids have so many digits. */
bool base_tree_delta_fits(const char *tree, const char *index, const char *below, size_t digits);

#endif

/*
 * A delta: a folder that turns the files of one commit into those of another when an overlay
 * mounts it over them (workspace/overlay/overlayfs.h). It contains the files that differ, and
 * whiteouts for files that are gone.
 */
#ifndef WORKSPACE_OVERLAY_BASE_TREE_DELTA_H
#define WORKSPACE_OVERLAY_BASE_TREE_DELTA_H

#include <stdbool.h>
#include <stddef.h>

/* Writes a whiteout for a deleted file. Its folder must exist below `root`, the top folder of the
 * delta. */
bool base_tree_delta_hide(int root, const char *path);

/* True if nobody has changed a delta: over the files of the index `below` it must show exactly
 * those of `index`. Ids have that many digits. */
bool base_tree_delta_fits(const char *tree, const char *index, const char *below, size_t digits);

#endif

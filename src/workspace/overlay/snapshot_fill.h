/*
 * Workspaces that are snapshots of a base tree (workspace/overlay/base_tree.h). The file system
 * makes one at once, and git's index of the original also says "unchanged" for the files of the
 * copy (sys/fs/btrfs.h). To everyone else they are ordinary folders.
 *
 * The kernel caches the files of a snapshot apart from those of the original. So the first look at
 * all of them takes as long as on a disk that was just mounted. For this reason run/prepare/pool.h
 * reuses large snapshots.
 *
 * The file system first writes its cached data to disk before it makes a snapshot. That may take
 * long, so another process does it. Several snapshots at once cost as much as one.
 */
#ifndef WORKSPACE_OVERLAY_SNAPSHOT_FILL_H
#define WORKSPACE_OVERLAY_SNAPSHOT_FILL_H

#include "base/err.h"
#include "base/strv.h"
#include "workspace/overlay/base_tree.h"
#include "workspace/workspace.h"

/* Prepares a new workspace that contains nothing but its `.git`: appends the paths of the base
 * tree and of its copy. The caller then makes the copy with btrfs_snapshot(). */
int snapshot_begin(const struct workspace *ws, const struct base_tree *p, struct strv *ret_paths,
                   struct err *err);

/* Call this after the copy was made: moves it into the workspace's place. */
int snapshot_finish(struct workspace *ws, const struct base_tree *p, struct err *err);

/* Call this if one of these steps failed: restores the workspace as it was before. */
void snapshot_undo(struct workspace *ws);

#endif

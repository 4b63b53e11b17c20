/*
 * Workspaces that are snapshots of a pristine tree (workspace/overlay/base_tree.h): made in no
 * time, with files that git's index of the original holds for unchanged, as they are
 * (sys/fs/btrfs.h). To everyone they are ordinary folders.
 *
 * A file in one is not the same to the kernel as in the original: the first look at all of them
 * takes as long as it does on a disk that was just mounted, which is why run/prepare/pool.h
 * uses large ones again.
 *
 * The file system makes one after it has written what it had in memory: that may take as long as
 * the disk wants, and is for another process. Several at once cost what one does.
 */
#ifndef WORKSPACE_OVERLAY_SNAPSHOT_FILL_H
#define WORKSPACE_OVERLAY_SNAPSHOT_FILL_H

#include "base/err.h"
#include "base/strv.h"
#include "workspace/overlay/base_tree.h"
#include "workspace/workspace.h"

/* For a workspace that was made just now, and has nothing in it but its `.git`: appends the paths
 * of the tree and of its copy, for the caller to have that made with btrfs_snapshot(). */
int snapshot_begin(const struct workspace *ws, const struct base_tree *p, struct strv *ret_paths,
                   struct err *err);

/* That was done: puts the copy in the workspace's place. */
int snapshot_finish(struct workspace *ws, const struct base_tree *p, struct err *err);

/* One of these failed: the workspace is what it was before. */
void snapshot_undo(struct workspace *ws);

#endif

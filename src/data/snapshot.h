/*
 * Workspaces that are snapshots of a pristine tree (data/pristine.h): made in no time, with files
 * that git's index of the original holds for unchanged, as they are (sys/subvolume.h). To everyone
 * they are ordinary folders.
 */
#ifndef DATA_SNAPSHOT_H
#define DATA_SNAPSHOT_H

#include "base/err.h"
#include "data/pristine.h"
#include "data/workspace.h"

/* Fills a workspace that was made just now, and has nothing in it but its `.git`. Where it fails
 * the workspace is as it was. */
int snapshot_fill(const struct workspace *ws, const struct pristine *p, struct err *err);

#endif

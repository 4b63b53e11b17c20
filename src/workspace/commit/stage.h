/*
 * What `git add -A` does in a work tree, without a process, where that is plain: some files were
 * written, changed or deleted, the settings and attributes have git take files as they are, and
 * nobody staged anything. All else is left to git. Of that the tree is made, of those of the
 * folders that were not touched; an index, which is as large as the repository has files, only
 * where someone will want it.
 */
#ifndef WORKSPACE_COMMIT_STAGE_H
#define WORKSPACE_COMMIT_STAGE_H

#include "base/buf.h"
#include "base/err.h"
#include "git/config/core_settings.h"
#include "git/tree/work_scan.h"
#include "workspace/workspace.h"

#include <stdbool.h>

/* In a workspace's administrative folder: another name of the index that it was filled with, where
 * someone has given it one. The work tree is held against that, whatever was done to its own. */
#define STAGE_FILLED "anabranch.index"

enum {
    STAGE_FILES_MAX = 4 * WORK_SCAN_MAX, /* above that one process is quicker */
    STAGE_BYTES_MAX = 8 << 20,           /* read here while everybody waits */
};

struct stage_job {
    const struct workspace *ws;
    const struct git_core *core;
    const char *tree;     /* what was checked out, and still is by the workspace's index */
    const char *excludes; /* the file of patterns that takes the place of the user's own, or NULL */
    const char *index;    /* where the index of what is staged is written: no file yet. NULL: the
                           * tree is made instead */
    const struct work_scan *scan; /* what may have changed, where the caller knows, and that nobody
                                   * staged anything; NULL: the work tree is looked at */
    struct work_scan *found;      /* else: what that has found, where it is staged; or NULL */
    struct strv *ignored; /* gets the files and folders that are ignored and so not staged, a
                           * slash behind the folders; or NULL */
};

/* Appends the tree's id, where no index is asked for. *ret_done is false where it is left to git.
 */
int stage_plainly(const struct stage_job *job, struct buf *ret_tree, bool *ret_done,
                  struct err *err);

#endif

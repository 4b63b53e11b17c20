/*
 * Does the work of `git add -A` without starting git, in plain cases: some files were written,
 * changed or deleted; git takes files as they are, by settings and attributes; and nobody has
 * staged anything. We leave all other cases to git. From the changes and the unchanged folders we
 * make a tree. We write an index, which is as large as the repository has files, only if the
 * caller needs it.
 */
#ifndef WORKSPACE_COMMIT_STAGE_H
#define WORKSPACE_COMMIT_STAGE_H

#include "base/buf.h"
#include "base/err.h"
#include "git/config/core_settings.h"
#include "git/tree/work_scan.h"
#include "workspace/workspace.h"

#include <stdbool.h>

/* In a workspace's administrative folder: a hard link to the index with which the workspace was
 * filled, if somebody made one. We compare the work tree with it, whatever the agent has done to
 * its own index. */
#define STAGE_FILLED "anabranch.index"

enum {
    STAGE_FILES_MAX = 4 * WORK_SCAN_MAX, /* if there are more, git is faster */
    STAGE_BYTES_MAX = 8 << 20,           /* we read these while the whole run waits */
};

struct stage_job {
    const struct workspace *ws;
    const struct git_core *core;
    const char *tree;     /* the tree that was checked out; the workspace's index still has it */
    const char *excludes; /* file of ignore patterns that replaces the user's own, or NULL */
    const char *index;    /* where to write the index, no file yet; NULL: make the tree instead */
    const struct work_scan *scan; /* paths that may have changed, if the caller knows them and knows
                                     that nobody has staged anything; NULL: we scan the work tree */
    struct work_scan
        *found;           /* without `scan`: gets the result of our scan if we staged it; or NULL */
    struct strv *ignored; /* gets the ignored files and folders, which are not staged, folders with
                             a slash at the end; or NULL */
};

/* Appends the tree's id if no index is wanted. *ret_done is false if git has to do it. */
int stage_plainly(const struct stage_job *job, struct buf *ret_tree, bool *ret_done,
                  struct err *err);

#endif

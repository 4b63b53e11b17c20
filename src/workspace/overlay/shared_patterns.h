/*
 * Which folders workspace.share names, of those that can be kept for later runs
 * (workspace/overlay/shared_folders.h).
 *
 * A pattern names a folder where it has no wildcards, and folders where it has and ends with a
 * slash and two stars. Such a folder can be kept where git ignores it as a whole and has no file in
 * it, so that nothing in there is ever committed whatever becomes of it; where no symlink leads to
 * it; and where it is no repository or worktree, and no workspaces are made in it.
 */
#ifndef WORKSPACE_OVERLAY_SHARED_PATTERNS_H
#define WORKSPACE_OVERLAY_SHARED_PATTERNS_H

#include "base/err.h"
#include "base/strv.h"

#include <stddef.h>

struct shared_patterns {
    const char *root, *prefix, *work; /* as in workspace/fill/include.h */
    const char *const *patterns;
    size_t pattern_count;
};

/* Appends those folders, by their paths below root with a slash at the end, sorted and none inside
 * another; and the patterns that name something else as well, or that something else may be
 * wrong with. */
int shared_patterns_find(const struct shared_patterns *s, struct strv *ret_folders,
                         struct strv *ret_rest, struct err *err);

#endif

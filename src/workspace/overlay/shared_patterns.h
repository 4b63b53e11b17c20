/*
 * Finds the folders that workspace.share names and that later runs can reuse
 * (workspace/overlay/shared_folders.h).
 *
 * A pattern without wildcards names one folder. A pattern with wildcards names folders if it ends
 * with a slash and two stars. We can share a folder only if all of this is true: git ignores it as
 * a whole and tracks no file in it, so that nothing in it is ever committed; no symlink leads to
 * it; it is not a repository or worktree; and it contains no workspaces.
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

/* Appends the folders to ret_folders: paths below root with a slash at the end, sorted, none
 * inside another. Appends to ret_rest the patterns that also name something else, or that we
 * cannot judge fully. */
int shared_patterns_find(const struct shared_patterns *s, struct strv *ret_folders,
                         struct strv *ret_rest, struct err *err);

#endif

/*
 * Copies included files into a workspace: files of the user's checkout that are ignored or
 * untracked, but that a task needs. They are
 *
 * - the ignored files that `.worktreeinclude` at the root matches (gitignore syntax);
 * - the files that the plan's patterns match (git's `:(glob)` syntax, relative to the project);
 * - `.claude` at the root and in the project, except what runs leave in it. If agents start at the
 *   top of the workspace, they also find the contents of the project's `.claude` in `.claude`
 * there.
 *
 * Files that the workspace already has stay as they are. We never copy from outside the root, from
 * other worktrees, or through a symlink; see sys/fs/copy.h. Two files make sure that none of the
 * included files is committed: patterns for git, and the same paths as plain text for included.h.
 *
 * Shared folders can stay in the repository for later runs instead of being copied; the two files
 * list them too.
 */
#ifndef WORKSPACE_FILL_INCLUDE_H
#define WORKSPACE_FILL_INCLUDE_H

#include "base/err.h"
#include "sys/fs/copy.h"

#include <stdbool.h>
#include <stddef.h>

/* The included files, and how many of them were already there from an earlier run. */
struct include_count {
    struct copy_count all;
    int64_t kept; /* files */
};

typedef void include_progress_fn(void *ctx, const struct include_count *so_far);

/* How to share folders (workspace/overlay/shared_folders.h). */
struct include_keep {
    const char *state;  /* our folder in the repository */
    const char *run;    /* the run that uses them ... */
    const char *folder; /* ... as long as this folder exists */
    const char *list;   /* file to make: the paths of the shared trees */
    const char *left;   /* file to make: paths to delete, each followed by a NUL */
};

struct include {
    const char *root;   /* of the user's checkout */
    const char *prefix; /* the project below it; "" at the root */
    bool at_top;        /* agents start at the top of the workspace, not in the project */
    const char *work;   /* folder of the workspaces: nothing in it is included */
    const char *to;     /* the workspace */
    const char *const *patterns;
    size_t pattern_count;
    const char *const *shares; /* patterns too */
    size_t share_count;
    const struct include_keep
        *keep; /* shares the folders that `shares` names, if possible; or NULL */
    const char
        *excludes; /* file to make: the user's own core.excludesFile, and the included paths */
    const char *brought;           /* file to make: the included paths, each followed by a NUL */
    include_progress_fn *progress; /* called after each file */
    void *ctx;
};

/* True if there may be files to include; needs only a few lstat() calls. */
bool include_is_needed(const char *root, const char *prefix, size_t pattern_count);

/* Copies the files; takes long if they are large. */
int include_run(const struct include *b, struct include_count *ret, struct err *err);

#endif

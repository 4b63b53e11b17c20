/*
 * Bringing along what git does not: files of the user's checkout that are ignored or untracked, and
 * that a task's workspace needs all the same. They are
 *
 * - what `.worktreeinclude`, at the root, matches (gitignore syntax) and git ignores;
 * - what the plan's patterns match: those of git's `:(glob)`, relative to the project;
 * - `.claude` at the root and in the project, less what runs leave in it; where agents begin at the
 *   top of the workspace, all that the project's has is put into `.claude` there as well.
 *
 * What the workspace has already stays as it is. Nothing is ever brought from outside the root,
 * from other worktrees, or through a symlink; see sys/fs/copy.h. That nothing of it is committed is
 * seen to by two files: patterns for git, and the same paths as they are, for included.h.
 *
 * Folders that are to be shared can be kept for later runs instead of being copied to where the
 * rest is; the lists have them too.
 */
#ifndef WORKSPACE_FILL_INCLUDE_H
#define WORKSPACE_FILL_INCLUDE_H

#include "base/err.h"
#include "sys/fs/copy.h"

#include <stdbool.h>
#include <stddef.h>

/* What is there, and how much of that was from an earlier run. */
struct include_count {
    struct copy_count all;
    int64_t kept; /* files */
};

typedef void include_progress_fn(void *ctx, const struct include_count *so_far);

/* Where folders are kept, and for whom (workspace/overlay/shared_folders.h). */
struct include_keep {
    const char *state;  /* our folder in the repository */
    const char *run;    /* who uses them ... */
    const char *folder; /* ... as long as this is there */
    const char *list;   /* file to make: where they are */
    const char *left;   /* file to make: what is to be deleted, each path with a NUL behind it */
};

struct include {
    const char *root;   /* of the user's checkout */
    const char *prefix; /* the project below it; "" at the root */
    bool at_top;        /* agents begin at the top of the workspace, not in the project */
    const char *work;   /* where workspaces are made: nothing in there is brought */
    const char *to;     /* the workspace */
    const char *const *patterns;
    size_t pattern_count;
    const char *const *shares; /* patterns too */
    size_t share_count;
    const struct include_keep *keep; /* what `shares` names is kept, where it can be; or NULL */
    const char *excludes; /* file to make: the user's own core.excludesFile, and what is brought */
    const char *brought;  /* file to make: paths, each with a NUL behind it */
    include_progress_fn *progress; /* called after each file */
    void *ctx;
};

/* Whether there may be anything to bring: a few looks at the disk. */
bool include_is_needed(const char *root, const char *prefix, size_t pattern_count);

/* Takes as long as the files are large. */
int include_run(const struct include *b, struct include_count *ret, struct err *err);

#endif

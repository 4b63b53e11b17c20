/*
 * Workspaces: linked worktrees, one for each task, each on its own branch.
 *
 * We make one in two parts. First we write the metadata (branch, administrative folder) under the
 * repository's lock: we build the administrative folder elsewhere and rename it into place,
 * because git fails on an incomplete one. Then we fill the tree. That takes long in a large
 * repository and needs no lock: the caller runs the command that workspace_fill() gives, and can
 * do other work at the same time.
 */
#ifndef WORKSPACE_WORKSPACE_H
#define WORKSPACE_WORKSPACE_H

#include "base/err.h"
#include "base/strv.h"
#include "git/git.h"

#include <stdbool.h>

struct workspace {
    char *path;                  /* the work tree */
    char *admin;                 /* its administrative folder in the repository */
    char *common;                /* the repository's common git folder */
    char *branch;                /* full name of its ref */
    struct git_batch *batch;     /* a process of the repository, or NULL; not owned */
    struct workspace_hold *hold; /* identifies these folders (workspace_hold.h); NULL: unknown */
};

/* Makes a workspace. The branch (full ref name) must not exist yet; we make it at `commit`,
 * without an upstream. From then on the workspace's folders are held. */
int workspace_create(struct workspace *ws, const struct git_repo *repo, const char *path,
                     const char *branch, const char *commit, struct git_batch *batch,
                     struct err *err);
void workspace_done(struct workspace *ws);

/* Describes the workspace of an earlier run, as far as it still exists. Its path is `path`; or, if
 * that is NULL, the path that its administrative folder records; or else `otherwise`. The last two
 * parts of the path name the administrative folder. */
void workspace_adopt(struct workspace *ws, const struct git_repo *repo, const char *path,
                     const char *otherwise, const char *branch, struct git_batch *batch);

/* True if there is a tree. An interrupted removal may leave an empty folder, which does not count.
 */
bool workspace_has_tree(const struct workspace *ws);

/* True if the tree, its administrative folder and HEAD exist, point to each other, and are those
 * that we made. */
bool workspace_is_whole(const struct workspace *ws);

/* Makes the administrative folder of an adopted workspace anew, and also the tree's folder if it
 * is gone. Files in the tree stay. The branch must exist. */
int workspace_restore(struct workspace *ws, struct err *err);

struct git_place workspace_place(const struct workspace *ws);

/* Sets the workspace's tree as the work tree of `at`. */
void workspace_set_tree(const struct workspace *ws, struct git_place *at);

/* Removes entries from its administrative folder that would block git: FIFOs, sockets, devices and
 * links in the place of files, and files that are too large. git would wait for them or read
 * without end. Restores a missing HEAD, pointing to the branch. Call this after an agent has
 * worked there. */
void workspace_unclog(const struct workspace *ws);

/* The commit at the workspace's own HEAD; ERR_INPUT if the agent left none that we can read. */
int workspace_head(const struct workspace *ws, struct buf *out, struct err *err);

/* argv and environment of the command that fills the tree. */
void workspace_fill(const struct workspace *ws, struct strv *argv, struct strv *env);

/* Makes the administrative folder of a work tree that has lost it. HEAD is the branch or, if that
 * is gone too, `commit`. */
int workspace_repair(struct workspace *ws, const char *commit, struct err *err);

/* True if deleting it takes so long that another process should do it. */
bool workspace_is_large(const struct workspace *ws);

/* A larger index belongs to a large work tree: about 2,500 files. */
enum { WORKSPACE_LARGE_INDEX = 256 << 10 };

/* Removes the tree, of whatever kind, so that it can be filled again. */
int workspace_clear(const struct workspace *ws, struct err *err);

/* Leaves the worktree to the user: removes the lock, so that git's own commands work on it. Does
 * nothing if only we can see the tree (workspace/overlay/layers.h). */
void workspace_release(const struct workspace *ws);

/* Removes the worktree; the branch stays. Call it only if everything in the worktree is reachable
 * from a ref. Renames large parts away first, so that git never sees an incomplete worktree. */
int workspace_remove(struct workspace *ws, struct err *err);

/* Removes only the administrative folder of a worktree whose tree is gone: git no longer knows the
 * worktree. */
int workspace_forget(const struct workspace *ws, struct err *err);

/* The name of the administrative folder of the workspace at a path: the last two parts of the
 * path. */
char *workspace_admin_name(const char *path);

/* Only the quick part of workspace_remove(): git no longer knows the worktree, and its path is
 * free. Appends the two folders that are left to delete, the administrative one first
 * (sys/fs/known_folder.h). */
int workspace_retire(struct workspace *ws, struct strv *ret_left, struct err *err);

#endif

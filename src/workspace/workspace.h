/*
 * Workspaces: linked worktrees, one for each task, on a branch of its own.
 *
 * Making one has two parts. The metadata (branch, administrative folder) is written here, under the
 * repository's lock: the administrative folder is built aside and renamed in, because git's own
 * readers die on a half-made one. Filling the tree takes long in a large repository and needs no
 * lock: the caller runs the command that workspace_fill() gives, beside others.
 */
#ifndef WORKSPACE_WORKSPACE_H
#define WORKSPACE_WORKSPACE_H

#include "base/err.h"
#include "base/strv.h"
#include "git/git.h"

#include <stdbool.h>

struct workspace {
    char *path;                  /* the work tree */
    char *admin;                 /* its folder in the repository */
    char *common;                /* the repository's folder */
    char *branch;                /* full name of its ref */
    struct git_batch *batch;     /* of the repository, or NULL; not owned */
    struct workspace_hold *hold; /* which folders these are (workspace_hold.h); NULL: not known */
};

/* The branch (full ref name) must not exist yet; it is made at `commit`, untracked. The workspace's
 * folders are held from then on. */
int workspace_create(struct workspace *ws, const struct git_repo *repo, const char *path,
                     const char *branch, const char *commit, struct git_batch *batch,
                     struct err *err);
void workspace_done(struct workspace *ws);

/* Takes over the workspace of a run that is gone, as far as it is there: with that path, or else
 * (NULL) where its administrative folder says, or else `otherwise`, whose last two parts name it.
 */
void workspace_adopt(struct workspace *ws, const struct git_repo *repo, const char *path,
                     const char *otherwise, const char *branch, struct git_batch *batch);

/* Whether there is a tree: of one that was just being removed an empty folder may be left. */
bool workspace_has_tree(const struct workspace *ws);

/* Whether the tree, its administrative folder and its branch's name are there and go together, and
 * are those that we made. */
bool workspace_is_whole(const struct workspace *ws);

/* Makes the administrative folder of an adopted workspace anew, and the tree's folder where that is
 * gone. Files in it stay; the branch must be there. */
int workspace_restore(struct workspace *ws, struct err *err);

struct git_place workspace_place(const struct workspace *ws);

/* Has git use its tree at a place of the repository. */
void workspace_set_tree(const struct workspace *ws, struct git_place *at);

/* Removes from its administrative folder what is no file where git wants one (a FIFO, a socket, a
 * device, a link) and what is too large to be one: they hold nothing, and git would wait for them,
 * or read them without an end. A HEAD that is gone is made again, of the branch. To be called when
 * an agent has worked there. */
void workspace_unclog(const struct workspace *ws);

/* The commit that is checked out in the workspace, by its own HEAD; ERR_INPUT where the agent left
 * none that can be read. */
int workspace_head(const struct workspace *ws, struct buf *out, struct err *err);

/* argv and environment of the command that fills the tree. */
void workspace_fill(const struct workspace *ws, struct strv *argv, struct strv *env);

/* Makes the administrative folder again of a work tree that has lost it, with the branch or, where
 * that is gone too, with `commit` checked out. */
int workspace_repair(struct workspace *ws, const char *commit, struct err *err);

/* Whether deleting it takes long enough for another process to do it. */
bool workspace_is_large(const struct workspace *ws);

/* An index of more bytes is that of a large work tree: about 2,500 files. */
enum { WORKSPACE_LARGE_INDEX = 256 << 10 };

/* Takes away what there is of the tree, of any kind, for it to be filled again. */
int workspace_clear(const struct workspace *ws, struct err *err);

/* The worktree is for a person now: git's own commands may do with it what they do. Not while it is
 * one that only we see (workspace/overlay/layers.h). */
void workspace_release(const struct workspace *ws);

/* Takes the worktree away; the branch stays. To be called only when all that it holds is reachable
 * from a ref. What is in the way of a quick end is renamed aside first, so that git never sees half
 * of it. */
int workspace_remove(struct workspace *ws, struct err *err);

/* Takes away the administrative folder alone, of a worktree whose tree is gone: git knows it no
 * more. */
int workspace_forget(const struct workspace *ws, struct err *err);

/* The name of the administrative folder of a workspace at a path: its last two parts. */
char *workspace_admin_name(const char *path);

/* The quick part of that alone: git does not know it any more, and its place is free. What is left
 * to delete is appended. */
int workspace_retire(struct workspace *ws, struct strv *ret_left, struct err *err);

#endif

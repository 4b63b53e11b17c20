/*
 * Kept trees: folders of the user's checkout that workspace.share names, as they were brought along
 * for the last run that did, for all workspaces that are overlays to show. In the repository's
 * folder of ours:
 *
 *     shared/<key>/tree     the folder, at its place; nothing in it changes while anyone uses it
 *     shared/<key>/path     whose it is
 *     shared/<key>/done     when it was last looked at, and changed; without it it is half made
 *     shared/uses/<run>     which of them a run uses
 *     shared/lock           held by who looks for one, changes one or takes one away
 *
 * A key is made of the folder's path and of the lock files of package managers beside it, so that
 * who goes back to another branch finds what he had there. That is all the key is for: before one
 * is used it is held against the folder as that is now (sys/fs/dir_sync.h). Where a run that uses
 * it would see it change, another is made beside it, with a number behind the key.
 *
 * A run uses them as long as the folder of what was brought for it is there, also where it is dead
 * and might be gone on with; and as long as anyone sees one of its workspaces.
 */
#ifndef WORKSPACE_OVERLAY_SHARED_FOLDERS_H
#define WORKSPACE_OVERLAY_SHARED_FOLDERS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/strv.h"
#include "sys/fs/dir_sync.h"

#include <stdbool.h>

struct shared_folders {
    char *state, *dir;
    int lock;
    struct arena arena; /* holds the names in: */
    struct map used;    /* by others */
    struct strv taken;  /* names of those that were brought up to date */
};

/* Waits until nobody else is at it. What `run`, which may be NULL, used before does not count. */
int shared_folders_open(struct shared_folders *k, const char *state_dir, const char *run,
                        struct err *err);
void shared_folders_close(struct shared_folders *k);
#define autokept own_cleanup(shared_folders_close)

typedef void shared_folders_progress_fn(void *ctx, const struct dir_sync_count *so_far);

/* Brings the tree of a folder, by its path below root, to what that is now. */
int shared_folders_bring(struct shared_folders *k, const char *root, const char *path,
                         shared_folders_progress_fn *progress, void *ctx,
                         struct dir_sync_count *ret, struct err *err);

/* Notes that a run uses all that were taken, as long as `folder` is there. Where `list` is, their
 * trees are to be found: shared_folders_trees() reads it. */
int shared_folders_note(const struct shared_folders *k, const char *run, const char *folder,
                        const char *list, struct err *err);

/* Appends the trees that such a list names. Where there is none, there are none. */
int shared_folders_trees(const char *list, struct strv *ret, struct err *err);

/* Puts aside those that nobody uses, but for the last few of each folder that is there; they are
 * appended to ret_left, for the caller to delete. */
int shared_folders_trim(struct shared_folders *k, struct strv *ret_left, struct err *err);

/* Takes the folder of all of them away where none is left; the next one makes it again. */
void shared_folders_vacate(struct shared_folders *k);

/* Keeps what a run uses from being changed as long as *ret_fd is open. -1: it uses nothing. */
int shared_folders_hold(const char *state_dir, const char *run, int *ret_fd, struct err *err);

/* Forgets what dead runs used, unless somebody else is at it. */
void shared_folders_tidy(const char *state_dir);

/* Whether an entry of the folder `shared` has that name because it is one of them. */
bool shared_folders_is_name(const char *name);

/* Whether somebody uses it, and whether there is no such folder any more. */
bool shared_folders_is_used(const struct shared_folders *k, const char *name);
bool shared_folders_is_orphan(const struct shared_folders *k, const char *name);

#endif

/*
 * Shared folders: copies of the folders of the user's checkout that workspace.share names. All
 * overlay workspaces show them, and later runs update and reuse them. They are in our folder of
 * the repository:
 *
 *     shared/<key>/tree     the copy; nothing in it changes while anyone uses it
 *     shared/<key>/path     the path of the original folder
 *     shared/<key>/done     when we last compared and changed it; without it the copy is incomplete
 *     shared/uses/<run>     the shared folders that a run uses
 *     shared/lock           held by the process that looks up, changes or removes one
 *
 * A key is a hash of the folder's path and of the package managers' lock files beside it: a user
 * who switches back to another branch finds the copy for that branch. The key has no other
 * purpose, because we compare each copy with the original before we use it (sys/fs/dir_sync.h). If
 * a run that uses the copy would see it change, we make another one with a number after the key.
 *
 * A run uses its shared folders as long as its folder of included files exists, because a dead run
 * may be resumed, and as long as anyone sees one of its workspaces.
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
    struct arena arena; /* holds the keys of `used` */
    struct map used;    /* names of copies that other runs use */
    struct strv taken;  /* names of copies that we have updated for this run */
};

/* Waits for the lock. Forgets the earlier uses of `run`, which may be NULL. */
int shared_folders_open(struct shared_folders *k, const char *state_dir, const char *run,
                        struct err *err);
void shared_folders_close(struct shared_folders *k);
#define autokept own_cleanup(shared_folders_close)

typedef void shared_folders_progress_fn(void *ctx, const struct dir_sync_count *so_far);

/* Updates the copy of a folder, given by its path below root, to the folder's present contents. */
int shared_folders_bring(struct shared_folders *k, const char *root, const char *path,
                         shared_folders_progress_fn *progress, void *ctx,
                         struct dir_sync_count *ret, struct err *err);

/* Records that a run uses all taken copies as long as `folder` exists. Writes their trees to the
 * file `list`, which shared_folders_trees() reads. */
int shared_folders_note(const struct shared_folders *k, const char *run, const char *folder,
                        const char *list, struct err *err);

/* Appends the trees that such a list names; none if there is no list. */
int shared_folders_trees(const char *list, struct strv *ret, struct err *err);

/* Moves copies that nobody uses aside and appends them to ret_left, for the caller to delete.
 * Keeps the last few of each folder that still exists. */
int shared_folders_trim(struct shared_folders *k, struct strv *ret_left, struct err *err);

/* Removes the folder `shared` if no copy is left; shared_folders_open() makes it again. */
void shared_folders_vacate(struct shared_folders *k);

/* Prevents changes of the copies that a run uses while *ret_fd is open. -1: it uses none. */
int shared_folders_hold(const char *state_dir, const char *run, int *ret_fd, struct err *err);

/* Forgets what dead runs used, unless another process holds the lock. */
void shared_folders_tidy(const char *state_dir);

/* True if a name in the folder `shared` is the name of a copy. */
bool shared_folders_is_name(const char *name);

/* Tells if somebody uses a copy, and if its original folder is gone. */
bool shared_folders_is_used(const struct shared_folders *k, const char *name);
bool shared_folders_is_orphan(const struct shared_folders *k, const char *name);

#endif

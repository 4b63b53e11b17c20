/*
 * Layers: an overlay workspace. It owns only the files that were changed in it. The workspace's
 * folder "<task>" is empty for every process outside its namespace
 * (workspace/overlay/overlayfs.h). The folder ".<task>.layers" beside it contains:
 *
 *     upper/   the changed files, and the workspace's `.git`
 *     work/    the kernel's work folder
 *     commit   the commit of the base tree below (workspace/overlay/base_tree.h); without this
 *              file the rest is waste
 *     by       pid and start time of the process in whose namespace the workspace is mounted
 *     lock     everyone who enters the workspace holds a shared lock on this file
 *
 * The folder ".+brought" beside the workspaces contains the included files of the run, once for
 * all its workspaces. Its `tree` is a layer below the commit's files; below that are the shared
 * folders that its list `kept` names (workspace/overlay/shared_folders.h).
 *
 * The contents of a workspace outlive the processes that see it: a later process mounts it again.
 */
#ifndef WORKSPACE_OVERLAY_LAYERS_H
#define WORKSPACE_OVERLAY_LAYERS_H

#include "base/err.h"
#include "sys/fs/beneath.h"
#include "workspace/overlay/base_tree.h"
#include "workspace/workspace.h"

#include <stdbool.h>

/* The path of a workspace's layers; they need not exist. */
char *layers_path(const char *workspace);

/* The name of the workspace to which a layers folder of that name belongs; the caller frees it.
 * NULL for any other name. */
char *layers_whose(const char *name);

/* True if the workspace at a path has layers. */
bool layers_there(const char *workspace);

/* True if the base tree below the workspace is the one of that commit. */
bool layers_are_of(const char *workspace, const char *commit);

/* The path of its upper folder. */
char *layers_upper(const char *workspace);

/* The path of the included files of a run; they need not exist. */
char *layers_brought(const char *run_folder);

/* Gives a new workspace the files of a commit. If `index` is not NULL, it is the path of a copy of
 * the base tree's index that nobody needs any more: we move it instead of copying the index. */
int layers_make(struct workspace *ws, const struct base_tree *p, const char *index,
                struct err *err);

/* Locks to hold while we see a workspace: nobody changes the trees below it, and nobody else
 * mounts it. */
struct layers_hold {
    int below, own, kept; /* locks, or -1 */
};
#define LAYERS_HOLD_INIT                                                                           \
    {                                                                                              \
        .below = -1, .own = -1, .kept = -1                                                         \
    }
void layers_hold_done(struct layers_hold *h);

/* Makes the contents of a workspace of any kind visible to us and our children. If another process
 * has mounted it, or still sees it (such as an agent that briefly outlives its engine), we enter
 * the namespace of that process. Otherwise we mount it here. */
int layers_see(const char *workspace, const char *common, struct layers_hold *ret, struct err *err);

/* The same for a process that resumes a dead run: it holds the run's lock, and the processes of
 * that run have ended (sys/guard/leftover_processes.h). So we mount the workspace here, and fail
 * with ERR_ENV if another process sees it. A caller that takes several workspaces passes the same
 * `below` each time, so that we check the base tree only once. */
int layers_take(const char *workspace, const char *common, struct base_tree *below,
                struct layers_hold *ret, struct err *err);

/* The same for a single command: appends the words that must precede its argv; then the command
 * runs in the workspace's folder. Appends nothing for an ordinary workspace. */
void layers_reach(const char *workspace, const char *common, struct strv *argv);

/* True if so few files were changed that we can delete them at once. */
bool layers_are_few(const char *workspace);

/* Moves the layers to `gone`, for the caller to delete, and removes the workspace's folder. *ret_id
 * identifies the layers. ERR_ENV if another folder has their name. */
int layers_retire(const char *workspace, const char *common, const char *gone,
                  struct file_id *ret_id, struct err *err);

/* Turns the workspace, which we must see, into an ordinary worktree: copies each file. */
int layers_materialise(struct workspace *ws, struct err *err);

/* Copies the contents of a workspace, which we hold (workspace_enter()), into a folder, which may
 * exist. `to` is absolute. */
int layers_copy(const struct workspace *ws, const char *to, struct err *err);

/* True if a living process other than ours has mounted the workspace or sees it. */
bool layers_are_in_use(const char *workspace);

/* In the folder of a run that is dead or over: deletes layers that were only half made or half
 * removed, and the included files if no layers remain. Leaves everything that is not recorded as
 * ours (workspace/folder_record.h). */
int layers_tidy(const char *run_folder, const char *common, struct err *err);

#endif

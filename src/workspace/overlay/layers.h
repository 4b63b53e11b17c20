/*
 * Layers: a workspace that has no files of its own but those that were changed in it. Beside the
 * workspace's folder "<task>", which is empty for all who are outside
 * (workspace/overlay/overlayfs.h), is the folder
 * ".<task>.layers":
 *
 *     upper/   what was changed, the workspace's `.git` among it
 *     work/    the kernel's
 *     commit   whose files are below (workspace/overlay/base_tree.h); without it the rest is
 * nothing but waste by       the process in whose namespace it is mounted, by its pid and start
 * time lock     shared by those who look into it
 *
 * Below all of a run's workspaces is what was brought along for them, once, in the folder
 * ".+brought" beside them: its `tree` shows where the commit has nothing, and then the trees that
 * its list `kept` names (workspace/overlay/shared_folders.h).
 *
 * All that is in a workspace outlives the processes that see it: who comes later mounts it again.
 */
#ifndef WORKSPACE_OVERLAY_LAYERS_H
#define WORKSPACE_OVERLAY_LAYERS_H

#include "base/err.h"
#include "workspace/overlay/base_tree.h"
#include "workspace/workspace.h"

#include <stdbool.h>

/* The folder of the workspace at a path, there or not. */
char *layers_path(const char *workspace);

/* The name of the workspace whose layers have that name, to be freed; NULL for any other name. */
char *layers_whose(const char *name);

/* Whether the workspace at a path is of this kind. */
bool layers_there(const char *workspace);

/* Whether the files below those that were changed in it are the ones of that commit. */
bool layers_are_of(const char *workspace, const char *commit);

/* Its upper folder, where it is. */
char *layers_upper(const char *workspace);

/* The folder of what was brought along for all workspaces of a run, there or not. */
char *layers_brought(const char *run_folder);

/* Gives a workspace that was made just now the files of a commit. Their index is a copy, or that at
 * the path `index`, which is a copy that nobody has any more; or NULL. */
int layers_make(struct workspace *ws, const struct base_tree *p, const char *index,
                struct err *err);

/* What is held as long as a workspace is seen: nobody changes what is below it, and nobody else
 * mounts it. */
struct layers_hold {
    int below, own, kept; /* locks, or -1 */
};
#define LAYERS_HOLD_INIT                                                                           \
    {                                                                                              \
        .below = -1, .own = -1, .kept = -1                                                         \
    }
void layers_hold_done(struct layers_hold *h);

/* Makes what is in a workspace of any kind visible to us and all that we start: enters the
 * namespace of the process that has it mounted, or of another one that still sees it, such as an
 * agent that outlives its engine for a moment; or mounts it here, where there is none. */
int layers_see(const char *workspace, const char *common, struct layers_hold *ret, struct err *err);

/* The same for who goes on with the work of a run that is dead, of which he has the lock, and whose
 * processes have ended (sys/guard/leftover_processes.h): mounted here or not at all. ERR_ENV where
 * someone else sees it. `below` is kept from call to call, by who takes several: what is below them
 * is looked at once. */
int layers_take(const char *workspace, const char *common, struct base_tree *below,
                struct layers_hold *ret, struct err *err);

/* The same for one command: appends the beginning of the argv that runs it so, in the folder that
 * it is run in; nothing where the workspace is an ordinary one. */
void layers_reach(const char *workspace, const char *common, struct strv *argv);

/* Whether what was changed is so little that it is deleted in no time. */
bool layers_are_few(const char *workspace);

/* Takes the layers away; `gone` is where they are put, for the caller to delete. The workspace's
 * folder goes as well. */
int layers_retire(const char *workspace, const char *gone, struct err *err);

/* Makes an ordinary worktree of the workspace, which we must see: each file is copied. */
int layers_materialise(struct workspace *ws, struct err *err);

/* Copies all that is in a folder into another, which may be there. */
int layers_copy(const char *from, const char *to, struct err *err);

/* Whether a process lives, other than us, that has it mounted or sees it. */
bool layers_are_in_use(const char *workspace);

/* Deletes, in the folder of a run that is dead or over, what is left of layers that were half made
 * or half taken away, and what was brought along where no other are left. */
int layers_tidy(const char *run_folder, struct err *err);

#endif

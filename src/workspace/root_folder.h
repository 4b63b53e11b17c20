/*
 * The folder that contains the workspaces, in one folder for each run. By default it is
 * `.anabranch/worktrees`.
 */
#ifndef WORKSPACE_ROOT_FOLDER_H
#define WORKSPACE_ROOT_FOLDER_H

#include "base/err.h"

/* Writes an ignore file into it, so that users need no entry in their own ignore files. Call it
 * when the folder is not empty: a run that ends may remove an empty one. */
int root_folder_hide(const char *work, struct err *err);

/* Removes the folder of a run, and then the root folder itself, if they are empty. A folder that
 * contains a workspace stays. `lock` is the file that everyone who makes workspaces locks. */
void root_folder_tidy(const char *lock, const char *work, const char *run);

#endif

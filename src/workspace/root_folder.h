/*
 * The folder in which workspaces are made, one folder in it for each run: `.anabranch/worktrees`
 * where the plan does not say otherwise.
 */
#ifndef WORKSPACE_ROOT_FOLDER_H
#define WORKSPACE_ROOT_FOLDER_H

#include "base/err.h"

/* It ignores itself, so that it needs no entry in anyone's ignore file. To be called when there is
 * something in it: empty, it may be taken away by a run that ends. */
int root_folder_hide(const char *work, struct err *err);

/* Takes away the folder of a run, and then itself, where they are empty. What holds a workspace
 * stays. `lock` is the file by which those who make workspaces wait for each other. */
void root_folder_tidy(const char *lock, const char *work, const char *run);

#endif

/*
 * The folder in which workspaces are made, one folder in it for each run: `.anabranch/worktrees`
 * where the plan does not say otherwise.
 */
#ifndef DATA_WORKDIR_H
#define DATA_WORKDIR_H

#include "base/err.h"

/* It ignores itself, so that it needs no entry in anyone's ignore file. */
int workdir_hide(const char *work, struct err *err);

/* Makes it, with the folder of a run, for whose sake it stays. `lock` is a file by which those who
 * make and tidy wait for each other. */
int workdir_make(const char *lock, const char *work, const char *run, struct err *err);

/* Takes away the folder of a run, and then itself, where they are empty. What holds a workspace
 * stays. */
void workdir_tidy(const char *lock, const char *work, const char *run);

#endif

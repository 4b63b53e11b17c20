/*
 * Fills workspaces. If the pool has a tree of an earlier task, we use that (run/prepare/pool.h).
 * Otherwise a process fills each workspace: git, or in large repositories a process of ours, which
 * copies the files of the user's checkout and leaves the rest to git (workspace/fill/copy_fill.h).
 *
 * Many tasks start at the base's commit: all that depend on no other task. git fills the first of
 * their workspaces. In small repositories the others wait for that and are filled from a copy of it
 * in memory (workspace/fill/memory_fill.h).
 */
#ifndef RUN_PREPARE_FILL_H
#define RUN_PREPARE_FILL_H

#include "base/err.h"

struct attempt;
struct run;

/* Calls prepare_filled() when the workspace is filled, or when filling has failed. That may be
 * before this function returns. */
int fill_workspace(struct attempt *attempt, struct err *err);

/* The same, but always by such a process: the branch may have moved. */
int fill_by_git(struct attempt *attempt, struct err *err);

/* Handles the end of that process. */
void fill_by_git_done(struct attempt *attempt, int exit_code);

/* Fills the workspaces of the attempts that waited for another one (`waiting`), in whatever way
 * is possible. */
void fill_waiting(struct run *run);

void fill_done(struct run *run);

#endif

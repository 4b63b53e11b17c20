/*
 * Filling workspaces: a process for each does it, where no tree of a task that is over can be used
 * again (run/prepare/pool.h): git, or in large repositories one of ours that copies the files
 * of the user's checkout and leaves to git what these are not good for
 * (workspace/fill/copy_fill.h). Of those that begin at the base's commit, as all tasks do that
 * depend on no other, git fills the first; in small repositories the others wait for that, and are
 * then filled from what git made of it (workspace/fill/memory_fill.h).
 */
#ifndef RUN_PREPARE_FILL_H
#define RUN_PREPARE_FILL_H

#include "run/run_private.h"

/* prepare_filled() is called when it is done, or has failed; that may be before this returns. */
int fill_workspace(struct attempt *job, struct err *err);

/* The same by such a process in any case: the branch may be elsewhere by now. */
int fill_by_git(struct attempt *job, struct err *err);

/* It has done so, or failed. */
void fill_by_git_done(struct attempt *job, int exit_code);

/* Jobs that waited for another's filling (`waiting`) are filled now, in whatever way there is. */
void fill_waiting(struct run *run);

void fill_done(struct run *run);

#endif

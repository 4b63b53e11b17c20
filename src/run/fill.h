/*
 * Filling workspaces: git does it, in a process for each, where no tree of a task that is over can
 * be used again (run/pool.h). Of those that begin at the base's commit, as all tasks do that depend
 * on no other, git fills the first; the others wait for that, and are then filled from what git
 * made of it, where that is small (data/mould.h).
 */
#ifndef RUN_FILL_H
#define RUN_FILL_H

#include "run/run_private.h"

/* prepare_filled() is called when it is done, or has failed; that may be before this returns. */
int fill_workspace(struct job *job, struct err *err);

/* The same by git alone: the branch may be elsewhere by now. */
int fill_by_git(struct job *job, struct err *err);

/* git has done so, or failed. */
void fill_by_git_done(struct job *job, int exit_code);

/* Jobs that waited for another's filling (`waiting`) are filled now, in whatever way there is. */
void fill_waiting(struct run *run);

void fill_done(struct run *run);

#endif

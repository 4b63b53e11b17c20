/*
 * The pool: work trees of tasks that are over, snapshots among them, for those that begin. Bringing
 * such a tree to another commit takes git a tenth of the time that filling an empty one does, and
 * deleting it takes none.
 *
 * With each tree goes the index that git wrote when it had filled it: what an agent did to a file
 * since shows in the file's stat data, whatever it did to its own index. Files that were changed
 * are written anew, and all that is not tracked is deleted, ignored or not. Where that was held
 * against the files when the agent's work was committed, it is known what that takes, and where the
 * next task begins at the same files no process is needed for it (workspace/reset.h).
 *
 * What is in the pool is named as what is to be deleted is (*.gone), so that there is nothing to
 * remember when the run is killed. It holds no more trees than there are workers, and than there
 * are tasks that have not begun.
 */
#ifndef RUN_PREPARE_POOL_H
#define RUN_PREPARE_POOL_H

#include "run/run_private.h"

/* git has filled the job's workspace just now: its tree may come into the pool later. */
void pool_note(struct attempt *job);

/* Whether the tree of a job whose workspace goes would be taken. */
bool pool_wants(const struct attempt *job);

/* Takes the tree of a job that is out of use into the pool; false where it is not wanted, or not
 * fit. `admin` is its administrative folder. Both are where workspace_retire() has put them. */
bool pool_keep(struct attempt *job, const char *admin, const char *tree);

/* Whether there is one. */
bool pool_has(const struct run *run);

/* Fills the job's workspace with one, as fill_by_git() does with an empty one. */
int pool_fill(struct attempt *job, struct err *err);

/* The run is over: begins to delete what is left. */
void pool_empty(struct run *run);
void pool_done(struct run *run);

#endif

/*
 * The shared state of the repository, watched while others work in it: refs, HEADs, the stash,
 * configuration, hooks (git/checkout/shared_state.h), and of the user's checkout the tracked files
 * (git/checkout/user_files.h), all others (git/checkout/untracked.h) and the index
 * (git/checkout/staged.h). It is looked at when the run begins and when a process of a task's has
 * ended: its agent, its setup, its verification, its teardown. What is seen then is told as
 * `git.state_changed`, under the task's name where it was the only one that had a process since the
 * last look, else with the names of all that had. Nobody can say whether it was not the user
 * himself; so nothing is put back but
 *
 * - core.bare switched on, or core.worktree set, in the repository's configuration, and a
 *   configuration that git cannot read any more: no git works there with those;
 * - settings that name programs which our own git calls would run (git_setting_is_program()). The
 *   task fails if no other can have done it.
 *
 * - saved work, under refs/anabranch/salvage, branches of tasks in conflict, and the ref of the
 *   run's tip.
 *
 * What is put back is saved in the run's folder first. A commit that no ref leads to any more, of a
 * branch that was deleted or rewritten or of a stash that was dropped, is kept under
 * refs/anabranch/salvage. All else is told with the command that undoes it.
 *
 * In the usual case this starts no process, and takes as long as the stat data of the loose refs.
 * The files of the checkout are looked at as often as a fiftieth of the time allows, and when the
 * run ends.
 */
#ifndef RUN_WATCH_WATCH_H
#define RUN_WATCH_WATCH_H

#include "run/run_private.h"

int repo_watch_begin(struct run *run, struct err *err); /* outside a repository: nothing to do */
void repo_watch_free(struct repo_watch *shared);

/* A branch that the run makes itself; below anabranch/ they are known. */
void repo_watch_own(struct run *run, const char *ref);

/* A ref that keeps saved work was made: whoever takes it away is noticed, however soon. */
void repo_watch_saved(struct run *run, const char *ref, const char *commit);

/* The branch of a task stays for a person, who resolves its conflict: where it is deleted before
 * its work is in the base, we restore it. */
void shared_conflicted(struct run *run, uint32_t task);

/* Puts the ref of the run's tip back where somebody has moved or deleted it, and tells of it. */
void repo_watch_restore_tip(struct run *run);

void repo_watch_enter(struct attempt *job); /* a process of the task's is about to begin */

/* It has ended. job->tampered says why the task is to fail, or is NULL. */
void repo_watch_leave(struct attempt *job);

/* The base was found to be elsewhere than the run put it. */
void repo_watch_followed(struct run *run, const char *from, const char *to);

/* All tasks have ended. */
void repo_watch_finish(struct run *run);

/* The hook that is not what it was when the run began, so that we do not run any; or NULL. */
const char *repo_watch_changed_hook(const struct run *run);

#endif

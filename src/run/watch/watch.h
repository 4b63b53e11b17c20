/*
 * Watches the shared state of the repository while agents work in it: refs, HEADs, the stash,
 * configuration, hooks (git/checkout/shared_state.h). In the user's checkout it watches tracked
 * files (git/checkout/user_files.h), other files (git/checkout/untracked.h) and the index
 * (git/checkout/staged.h).
 *
 * We look when the run starts, and when a process of a task has ended: its agent, setup,
 * verification or teardown. We record each change as `git.state_changed`. The event names the task
 * if no other task had a process since the last look; otherwise it names every task that had one.
 * The user may have made the change, and nobody can tell. So we restore only:
 *
 * - the repository's configuration if core.bare was switched on, if core.worktree was set, or if
 *   git can no longer read it: then no git works there;
 * - settings that name programs which our own git calls would run (git_setting_is_program()); the
 *   task fails if no other task can have changed them;
 * - saved work under refs/anabranch/salvage, branches of tasks in conflict, and the ref of the
 *   run's tip.
 *
 * Before we restore something, we save its current state in the run's folder. If a branch was
 * deleted or rewritten, or a stash was dropped, and no ref leads to a commit of it any more, we
 * keep that commit under refs/anabranch/salvage. For all other changes the event has the command
 * that undoes them.
 *
 * Usually a look starts no process: it costs only the stat data of the loose refs. The files of the
 * checkout are looked at in at most a fiftieth of the time, and when the run ends.
 */
#ifndef RUN_WATCH_WATCH_H
#define RUN_WATCH_WATCH_H

#include "base/err.h"

#include <stdint.h>

struct attempt;
struct run;
struct repo_watch;

int repo_watch_begin(struct run *run, struct err *err); /* does nothing outside a repository */
void repo_watch_free(struct repo_watch *shared);

/* For a dry run: reads the state of the checkout, and watches nothing. */
void repo_watch_peek(struct run *run);

/* Registers a branch that the run makes itself. Branches below anabranch/ need no registration. */
void repo_watch_own(struct run *run, const char *ref);

/* Registers a new ref that keeps saved work: we notice its removal, however soon. */
void repo_watch_saved(struct run *run, const char *ref, const char *commit);

/* Registers the branch of a task in conflict, which stays for a person. If it is deleted before
 * its work is in the base, we restore it. */
void shared_conflicted(struct run *run, uint32_t task);

/* Restores the ref of the run's tip if somebody has moved or deleted it, and records that. */
void repo_watch_restore_tip(struct run *run);

void repo_watch_enter(struct attempt *attempt); /* before a process of the task starts */

/* Comes after that process has ended. attempt->tampered says why the task must fail, or is NULL. */
void repo_watch_leave(struct attempt *attempt);

/* The base is not where the run put it. */
void repo_watch_followed(struct run *run, const char *from, const char *to);

/* The last look, when all tasks have ended. */
void repo_watch_finish(struct run *run);

/* The hook that has changed since the run started, so that we run no hook; or NULL. */
const char *repo_watch_changed_hook(const struct run *run);

#endif

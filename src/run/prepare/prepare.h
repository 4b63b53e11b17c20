/*
 * Preparing: from nothing to a workspace that an agent can work in, and back.
 *
 *     worktree, filled -> what git does not look at, brought along -> workspace.setup -> the agent
 *     -> workspace.teardown -> gone
 */
#ifndef RUN_PREPARE_PREPARE_H
#define RUN_PREPARE_PREPARE_H

#include "run/run_private.h"

/* Starts; attempt_run_agent() follows when all is ready, attempt_fail() where it cannot be. */
void prepare(struct attempt *job);

/* The same for a workspace that is gone and whose branch is there: ready() follows. */
void prepare_again(struct attempt *job, void (*ready)(struct attempt *job));

/* The worktree is filled, or the command that was to do it has failed (fill.h). */
void prepare_filled(struct attempt *job, int exit_code);

/* Whether there may be something to bring along, and the argv of the process that does so: to that
 * folder, with lists of it in the two files (workspace/fill/include.h). What is to be shared is
 * kept for later runs where `keep`, in which lists of that are put, is not NULL. */
bool prepare_brings(const struct run *run);
void prepare_bring_argv(const struct run *run, const char *to, const char *excludes,
                        const char *brought, const char *keep, struct strv *argv);

/* Takes over the workspace of the attempt before; repair_prepare() follows. */
void prepare_adopted(struct attempt *job);

/* Fills in what the job knows of a workspace that is there, of this attempt or the given one. */
void prepare_adopt(struct attempt *job, int attempt);

/* Whether there is something to be done before the workspace may be removed. */
bool prepare_has_teardown(const struct attempt *job);

/* Does that, and then calls `then`, at once where there is nothing to do. What goes wrong is told,
 * and is no failure of the task. */
void prepare_teardown(struct attempt *job, void (*then)(struct attempt *job));

#endif

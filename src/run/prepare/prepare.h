/*
 * Prepares a workspace for an agent, and ends it.
 *
 *     fill the worktree -> copy included files -> workspace.setup -> the agent
 *     -> workspace.teardown -> remove the workspace
 */
#ifndef RUN_PREPARE_PREPARE_H
#define RUN_PREPARE_PREPARE_H

#include "base/strv.h"

#include <stdbool.h>

struct attempt;
struct run;

/* Part of an attempt: the state of its workspace. */
struct preparation {
    bool done, tearing_down;
    int races;                      /* checkouts that failed because another worktree vanished */
    int port;                       /* first port of its block, or 0 */
    char *excludes, *included_list; /* files that list the included files; NULL: none were */
    void (*after_prepare)(struct attempt *attempt); /* called when the workspace is ready; NULL:
                                                       start the agent */
    void (*after_teardown)(struct attempt *attempt);
};

/* Starts the preparation. We report ENGINE_WORKSPACE_READY when all is ready, or the attempt
 * fails. */
void prepare(struct attempt *attempt);

/* Makes a lost workspace again from its branch, which still exists; then calls ready(). */
void prepare_again(struct attempt *attempt, void (*ready)(struct attempt *attempt));

/* Continues when the worktree is filled, or when filling has failed (fill.h). */
void prepare_filled(struct attempt *attempt, int exit_code);

/* prepare_brings() is true if there may be files to include. prepare_bring_argv() builds the
 * command that copies them to the folder `to` and writes lists of them to the two files
 * (workspace/fill/include.h). If `keep` is not NULL, shared folders are kept for later runs, and
 * their lists go into the folder `keep`. */
bool prepare_brings(const struct run *run);
void prepare_bring_argv(const struct run *run, const char *to, const char *excludes,
                        const char *brought, const char *keep, struct strv *argv);

/* Adopts the workspace of the previous attempt; repair_prepare() follows. */
void prepare_adopted(struct attempt *attempt);

/* Fills in the attempt's data about an existing workspace, of this attempt or of the given one. */
void prepare_adopt(struct attempt *attempt, int number);

/* True if workspace.teardown must run before the workspace is removed. */
bool prepare_has_teardown(const struct attempt *attempt);

/* Runs workspace.teardown, then calls `then`; without a teardown, calls it at once. An error is
 * reported but does not fail the task. */
void prepare_teardown(struct attempt *attempt, void (*then)(struct attempt *attempt));

#endif

/*
 * parallel-sessions: what its commands do. Each returns the exit code: 0, or 1 for whatever went
 * wrong, which was told as "error: ..." then.
 */
#ifndef DROPIN_SESSIONS_H
#define DROPIN_SESSIONS_H

#include "base/node/node.h"
#include "git/git.h"
#include "threads/fanout/fanout.h"

#include <stdbool.h>

struct sessions_options {
    const char *plan;
    bool no_push;
};

int sessions_fanout(const struct sessions_options *opts);
int sessions_status(const struct sessions_options *opts);
int sessions_converge(const struct sessions_options *opts);
int sessions_cleanup(const struct sessions_options *opts);

/* Prints "error: message" as one harmless line, and returns the exit code. */
int sessions_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The repository of the current folder, wherever a plan is; ERR_ENV where there is none. */
int sessions_repository(struct git_repo *repo, struct err *err);

/* Whether the folder of its worktrees is there, with or without any. */
bool sessions_have_folder(const struct git_repo *repo);

/* That tool's own rules for a plan, in its order and its words: three to five threads, fields,
 * unique ids and branches, no path that two of them own. False where one is broken, which is told.
 * What is of the wrong type is left to others. */
bool sessions_check_plan(const struct node *root, bool fold);

/* What that tool writes into THREAD_BRIEF.md. */
fanout_brief_fn sessions_brief;

#endif

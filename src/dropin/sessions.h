/*
 * The commands of parallel-sessions. Each returns the exit code: 0, or 1 after printing "error:
 * ...".
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

/* Prints "error: message" as one harmless line; returns the exit code. */
int sessions_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The repository of the current folder, wherever the plan is; ERR_ENV if there is none. */
int sessions_repository(struct git_repo *repo, struct err *err);

/* True if the folder of its worktrees exists, even if it is empty. */
bool sessions_have_folder(const struct git_repo *repo);

/* Checks a plan by the rules of that tool, in its order and words: three to five threads,
 * required fields, unique ids and branches, no path with two owners. Returns false after
 * printing the first error. Values of the wrong type are left to our own checks. */
bool sessions_check_plan(const struct node *root, bool fold);

/* The text of THREAD_BRIEF.md. */
fanout_brief_fn sessions_brief;

#endif

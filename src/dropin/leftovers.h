/*
 * Finds runs of the drop-ins whose process was killed, their leftovers, and a way to resume them.
 */
#ifndef DROPIN_LEFTOVERS_H
#define DROPIN_LEFTOVERS_H

#include "base/strv.h"
#include "git/git.h"
#include "run/state/run_folder.h"

#include <stdbool.h>

/* An unfinished run without a process. */
struct left_run {
    struct run_folder saved; /* its options and plan */
    char *dir;
    int lock; /* our lock, so that nobody else resumes it; -1: no run was found */
};
void left_run_done(struct left_run *l);

/* Finds the newest unfinished run of a plan. The runs of a tool are those whose branches begin
 * with `prefix`. Release it in every case. */
void left_run_find(struct left_run *l, const char *state_dir, const char *prefix, const char *plan);

/* The leftovers of a killed run in the repository. */
struct left_remains {
    const char *run, *plan;
    const struct strv *things; /* "worktree PATH", "branch NAME" */
};
typedef void left_tell_fn(void *ctx, const struct left_remains *left);

/* Calls `tell` for each killed run of a tool that has leftovers. */
int left_each(const struct git_repo *repo, const char *state_dir, const char *prefix,
              left_tell_fn *tell, void *ctx, struct err *err);

#endif

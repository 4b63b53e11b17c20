/*
 * Runs of the other tools' command lines whose process was killed: what they have left, and the
 * way to go on with one.
 */
#ifndef DROPIN_LEFTOVERS_H
#define DROPIN_LEFTOVERS_H

#include "base/strv.h"
#include "git/git.h"
#include "run/state/run_folder.h"

#include <stdbool.h>

/* A run that is not finished and that nobody carries out. */
struct left_run {
    struct run_folder saved; /* how it was begun */
    char *dir;
    int lock; /* ours, so that nobody else resumes it; -1: none was found */
};
void left_run_done(struct left_run *l);
#define autoleft own_cleanup(left_run_done)

/* The newest one of a tool's runs of a plan's file. A tool's runs are those whose branches begin
 * with `prefix`. To be released in every case. */
void left_run_find(struct left_run *l, const char *state_dir, const char *prefix, const char *plan);

/* What a killed run still has in the repository. */
struct left_remains {
    const char *run, *plan;
    const struct strv *things; /* "worktree PATH", "branch NAME" */
};
typedef void left_tell_fn(void *ctx, const struct left_remains *left);

/* Tells of each of a tool's runs that were killed and have left something. */
int left_each(const struct git_repo *repo, const char *state_dir, const char *prefix,
              left_tell_fn *tell, void *ctx, struct err *err);

#endif

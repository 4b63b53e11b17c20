/*
 * What `git add -A` does in a work tree, without a process, where that is plain: some files were
 * written, changed or deleted, the settings and attributes have git take files as they are, and
 * nobody staged anything. All else is left to git, before anything is written.
 */
#ifndef DATA_STAGE_H
#define DATA_STAGE_H

#include "base/err.h"
#include "data/git_core.h"
#include "data/workspace.h"

#include <stdbool.h>

struct stage_job {
    const struct workspace *ws;
    const struct git_core *core;
    const char *tree;     /* what was checked out, and still is by the workspace's index */
    const char *excludes; /* the file of patterns that takes the place of the user's own, or NULL */
    const char *index;    /* where the index of what is staged is written: no file yet */
};

int stage_plainly(const struct stage_job *job, bool *ret_done, struct err *err);

#endif

/*
 * Finds what each worktree has checked out, and its uncommitted changes.
 *
 * Most worktrees have no changes. A scan (git/tree/work_scan.h) detects this without starting git.
 * Otherwise we ask git about the paths that the scan has found, or about all paths if there are too
 * many or the scan could not tell. There are as many scans and processes at once as processors.
 */
#ifndef THREADS_STATUS_CHANGES_H
#define THREADS_STATUS_CHANGES_H

#include "threads/status/status.h"

/* Fills head, elsewhere, uncommitted and problem of each look. If there is no commit yet, head is
 * "(initial)". */
int thread_changes(struct thread_looks *ls, const struct git_repo *repo, struct git_batch *batch,
                   struct err *err);

#endif

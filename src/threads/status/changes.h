/*
 * The part of a look at threads that says what is checked out in each worktree, and what in it is
 * not committed.
 *
 * Most worktrees hold just what was committed, and for these no git is started: a scan
 * (git/tree/work_scan.h) shows it. Else git is asked, about the paths that the scan has found or,
 * where there are many or the scan could not tell, about all. Scans and processes are as many at
 * once as there are processors.
 */
#ifndef THREADS_STATUS_CHANGES_H
#define THREADS_STATUS_CHANGES_H

#include "threads/status/status.h"

/* Fills head, elsewhere, uncommitted and problem of each look. Where something is checked out that
 * is no commit yet, head is "(initial)". */
int thread_changes(struct thread_looks *ls, const struct git_repo *repo, struct git_batch *batch,
                   struct err *err);

#endif

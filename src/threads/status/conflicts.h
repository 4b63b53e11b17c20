/*
 * Finds out which threads merge with each other and with their base.
 */
#ifndef THREADS_STATUS_CONFLICTS_H
#define THREADS_STATUS_CONFLICTS_H

#include "threads/status/status.h"

/* Fills merge, conflicts and meetings of each look; everything else must be known. `at` has a
 * batch, and the work tree that git reads attributes from. */
int thread_conflicts(struct thread_looks *ls, const struct git_place *at, struct err *err);

#endif

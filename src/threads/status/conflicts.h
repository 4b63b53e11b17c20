/*
 * The part of a look at threads that says who merges with whom.
 */
#ifndef THREADS_STATUS_CONFLICTS_H
#define THREADS_STATUS_CONFLICTS_H

#include "threads/status/status.h"

/* Fills merge, conflicts and meetings of each look, of which all else is known. The place has a
 * batch, and the work tree in which attributes are read. */
int thread_conflicts(struct thread_looks *ls, const struct git_place *at, struct err *err);

#endif

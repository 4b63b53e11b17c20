/*
 * The part of a look at threads that says who merges with whom.
 */
#ifndef RUN_THREAD_MEET_H
#define RUN_THREAD_MEET_H

#include "run/thread_look.h"

/* Fills merge, conflicts and meetings of each look, of which all else is known. The place has a
 * batch, and the work tree in which attributes are read. */
int thread_meet(struct thread_looks *ls, const struct git_place *at, struct err *err);

#endif

/*
 * Converging into the base branch, without a forge.
 */
#ifndef THREADS_CONVERGE_LAND_H
#define THREADS_CONVERGE_LAND_H

#include "threads/converge/converge.h"

/* Lands each result that has not come to an end yet, in order. Runs take turns with it; where the
 * branch is checked out, the checkout follows by git's own fast-forward, which refuses rather than
 * touch a file that the user has changed: then nothing has landed. */
int converge_land(struct converge *c, struct err *err);

#endif

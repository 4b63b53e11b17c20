/*
 * Lands threads on the base branch, without a forge.
 */
#ifndef THREADS_CONVERGE_LAND_H
#define THREADS_CONVERGE_LAND_H

#include "threads/converge/converge.h"

/* Lands each pending result, in order. It takes the same lock as runs. If the branch is checked
 * out, git's own fast-forward updates the checkout. git refuses if it would touch a file that the
 * user has changed: then nothing lands. */
int converge_land(struct converge *c, struct err *err);

#endif

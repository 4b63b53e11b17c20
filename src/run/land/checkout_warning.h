/*
 * Before the first agent starts: what will keep the base from moving. The user may be in the middle
 * of something with it (base_use.h), or have changes in its checkout that git will not overwrite.
 */
#ifndef RUN_LAND_CHECKOUT_WARNING_H
#define RUN_LAND_CHECKOUT_WARNING_H

#include "run/run_private.h"

/* Tells of it, by one git process where the base is checked out here. Only paths count that a task
 * of the run may change. */
void checkout_warning(struct run *run);

#endif

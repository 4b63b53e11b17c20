/*
 * The run holds git's gc lock (git/gc_lock.h) from before its first task to after its last.
 */
#ifndef RUN_LAND_GC_HOLD_H
#define RUN_LAND_GC_HOLD_H

#include "run/run_private.h"

/* Waits a while for a gc that is at work already, and tells of it. A failure is told. */
void gc_hold_begin(struct run *run);
void gc_hold_end(struct run *run);

#endif

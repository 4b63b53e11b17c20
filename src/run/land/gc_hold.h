/*
 * The run holds git's gc lock (git/gc_lock.h) from before its first task to after its last.
 */
#ifndef RUN_LAND_GC_HOLD_H
#define RUN_LAND_GC_HOLD_H

#include "run/run_private.h"

/* Waits a while for a gc that is at work already, and tells of it; after that we begin without the
 * lock, and take it when the gc has ended. No other gc can begin meanwhile. A failure is told. */
void gc_hold_begin(struct run *run);
void gc_hold_end(struct run *run);

/* The same for who has no run, for a few seconds: `waiting` (or NULL) is told of a gc at work. We
 * begin without the lock where it cannot be had. */
void gc_hold_take(const char *common, const char *state_dir, void (*waiting)(const char *whom));
void gc_hold_leave(const char *common, const char *state_dir);

#endif

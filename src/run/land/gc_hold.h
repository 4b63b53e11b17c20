/*
 * A run holds git's gc lock (git/gc_lock.h) from before its first task to after its last.
 */
#ifndef RUN_LAND_GC_HOLD_H
#define RUN_LAND_GC_HOLD_H

struct run;

/* Waits a while for a running gc, and reports it. Then the run starts without the lock and takes
 * it when that gc has ended; no other gc can start meanwhile. Failures are reported. */
void gc_hold_begin(struct run *run);
void gc_hold_end(struct run *run);

/* The same for callers without a run, with a wait of a few seconds. If a gc is running, calls
 * `waiting` (or NULL). The caller continues without the lock if we cannot get it. */
void gc_hold_take(const char *common, const char *state_dir, void (*waiting)(const char *whom));
void gc_hold_leave(const char *common, const char *state_dir);

#endif

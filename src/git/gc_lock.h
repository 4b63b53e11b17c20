/*
 * git's gc lock, which we hold while a run lives. `git gc --prune=now` deletes every object that no
 * ref reaches when it looks. We may be about to create a ref on such an object: the ref would be
 * broken.
 *
 * The lock is the file gc.pid. It holds a process id and a host name. git respects it while that
 * process lives, for at most twelve hours after the file was written. Several runs share the lock:
 * a file of ours lists them, and a run that ends hands the lock to another one. After a kill -9,
 * git ignores the file, and the next run takes it over. `git prune` and `git repack` ignore it
 * always.
 *
 * While a gc is running we hold git's lock on that file, gc.pid.lock, so that no other gc can start
 * before us. That lock names us as well: if we die, the next run takes it over or removes it.
 */
#ifndef GIT_GC_LOCK_H
#define GIT_GC_LOCK_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/* Takes the lock, or joins the runs of ours that have it. If a gc is running and has the lock,
 * *ret_other is its process id; otherwise it is 0 and we hold the lock. `state_dir` must exist. */
int gc_lock_join(const char *common, const char *state_dir, pid_t *ret_other, struct err *err);

/* Call this from time to time while we hold the lock: it updates the lock's age and retakes a lost
 * lock. */
int gc_lock_refresh(const char *common, const char *state_dir, struct err *err);

/* Leaves the lock. The last run removes the file. */
int gc_lock_leave(const char *common, const char *state_dir, struct err *err);

#endif

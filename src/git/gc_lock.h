/*
 * git's gc lock, held as long as a run lives. `git gc --prune=now` deletes what no ref leads to at
 * the moment when it looks, which is what we are about to put a ref on: the ref would be broken.
 *
 * The lock is the file gc.pid, with a process id and a host name. git believes it as long as that
 * process lives, for twelve hours after the file was written. Several runs share it: a file of ours
 * lists them, and whoever ends hands the lock to another. After a kill -9 git takes no notice of
 * the file; the next run takes it over. `git prune` and `git repack` do not look at it.
 *
 * As long as a gc is at work we hold git's lock on that file, gc.pid.lock. So no other gc can begin
 * before us. It has our name as well: if we die, the next run takes it over, or removes it.
 */
#ifndef GIT_GC_LOCK_H
#define GIT_GC_LOCK_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/* Takes the lock, or joins those of our runs that have it. *ret_other: the process of a gc at work,
 * which has it for now; 0: it is held. `state_dir` must be there. */
int gc_lock_join(const char *common, const char *state_dir, pid_t *ret_other, struct err *err);

/* The same while we are in it: keeps the lock from growing old, and takes it where it was lost. */
int gc_lock_refresh(const char *common, const char *state_dir, struct err *err);

/* The last one removes the file. */
int gc_lock_leave(const char *common, const char *state_dir, struct err *err);

#endif

/*
 * Lock files (x.lock beside x) that a git left when it was killed. They block every later git and
 * do not name their owner. git closes packed-refs.lock and the locks of refs as soon as it has
 * created them, so a lock that no process has open may still belong to a running git.
 *
 * So we look at the processes. A lock is dead if two things hold: it has been the same file for a
 * second, and all gits have ended that ran when we first saw it and may work in this repository. A
 * git that started later cannot have created it. Gits that a live run started hold a lock for
 * milliseconds only. If the system does not list its processes, we remove nothing.
 */
#ifndef GIT_DEAD_LOCK_H
#define GIT_DEAD_LOCK_H

#include "base/strv.h"

#include <stdbool.h>
#include <stdint.h>

enum { DEAD_LOCK_WAIT_MS = 5000 }; /* gits on shared files need milliseconds */

/* Removes a lock below `common` (the folder that all worktrees share) if it is dead. We cannot have
 * created a lock that is older than `since` (ms since 1970; 0: any time), so we leave such a lock
 * alone. Waits up to `wait` ms for gits to end. Returns true if the path is now free or holds
 * another lock. */
bool dead_lock_remove(const char *common, const char *path, int64_t since, int64_t wait);

/* Does the same for all locks that our gits take on shared files. Other code handles the locks on
 * our own refs and on the user's checkout. Appends the removed paths to `ret_removed`, which may be
 * NULL. */
void dead_lock_remove_shared(const char *common, int64_t since, struct strv *ret_removed);

#endif

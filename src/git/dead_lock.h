/*
 * Lock files that a git left when it was killed: x.lock beside what it locks. They are in the way
 * of every later git, and name no owner. git closes packed-refs.lock and those of refs as soon as
 * it has made them, so a lock that no process has open may well be that of a git at work.
 *
 * So we go by the gits: a lock is dead where it is the same file for a second, and each git that
 * was there when we saw it first, and that may be at work in this repository, has ended. One that
 * began later has not made it. Gits that a live run started hold a lock for milliseconds only. We
 * remove nothing where the system does not tell of processes.
 */
#ifndef GIT_DEAD_LOCK_H
#define GIT_DEAD_LOCK_H

#include "base/strv.h"

#include <stdbool.h>
#include <stdint.h>

enum { DEAD_LOCK_WAIT_MS = 5000 }; /* gits on shared files need milliseconds */

/* Removes a lock below `common`, the folder that all worktrees share, if it is dead; `since` is the
 * time (ms since 1970) before which none of ours can have made it, 0: any. Waits up to `wait` ms
 * for gits to end. True where the path is free then, or has another lock. */
bool dead_lock_remove(const char *common, const char *path, int64_t since, int64_t wait);

/* The same for all locks that our gits take on what worktrees share. Those on our own refs and on
 * the user's checkout are known in other ways. Adds the paths to `ret_removed`, or NULL. */
void dead_lock_remove_shared(const char *common, int64_t since, struct strv *ret_removed);

#endif

/*
 * Work that we have saved, and that a power failure would still take. Whoever saves work notes it
 * here, and whoever removes a workspace, a branch or the like settles it before: one sync for all
 * that was noted until then, and none where nothing was. So no removal is on the disk before the
 * copy of what it removes.
 */
#ifndef GIT_UNSYNCED_H
#define GIT_UNSYNCED_H

#include "base/err.h"

#include <stdbool.h>

/* A ref, an object or a bundle with work of others was written. */
void unsynced_note(void);

/* Whether there is something to settle. */
bool unsynced_is_noted(void);

/* Syncs the file system of the repository's folder, where something was noted since it was last
 * synced. On failure all stays noted. */
int unsynced_settle(const char *common, struct err *err);

/* The same in any case. */
int unsynced_sync(const char *common, struct err *err);

/* Whether the user has switched syncing off for git (core.fsync=none): then the calls above do
 * nothing. */
void unsynced_allow(bool allowed);

#endif

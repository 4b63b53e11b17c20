/*
 * Saved work that a power failure could still destroy. Code that saves work notes it here. Code
 * that removes a workspace, a branch or the like first calls unsynced_settle(): one sync for
 * everything noted until then, and none if nothing was noted. So a removal never reaches the disk
 * before the saved copy.
 */
#ifndef GIT_UNSYNCED_H
#define GIT_UNSYNCED_H

#include "base/err.h"

#include <stdbool.h>

/* Notes that we wrote a ref, an object or a bundle that holds someone's work. */
void unsynced_note(void);

/* True if something is noted and not yet synced. */
bool unsynced_is_noted(void);

/* If something was noted since the last sync, syncs the file system of the repository's folder. On
 * failure the note stays. */
int unsynced_settle(const char *common, struct err *err);

/* Syncs even if nothing was noted. */
int unsynced_sync(const char *common, struct err *err);

/* If `allowed`, the user has switched off syncing for git (core.fsync=none), and the calls above
 * sync nothing. */
void unsynced_allow(bool allowed);

#endif

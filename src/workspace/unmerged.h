/*
 * Finds files of an unfinished merge (or rebase, ...) that an agent began in its workspace: files
 * that its index calls unmerged and that contain git's conflict markers. Without markers somebody
 * has resolved the conflict but not told git. Without the index entry a text may only look like a
 * conflict.
 */
#ifndef WORKSPACE_UNMERGED_H
#define WORKSPACE_UNMERGED_H

#include "base/strv.h"
#include "workspace/workspace.h"

/* Appends their paths; none if we cannot read the index. Ids have that many digits. */
void unmerged_find(const struct workspace *ws, size_t id_len, struct strv *ret);

#endif

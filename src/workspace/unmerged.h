/*
 * A merge, or the like, that an agent began in its workspace and did not finish: files that its
 * index still calls unmerged and that have git's markers in them. Without the markers someone has
 * resolved it and only not said so; without the index a text may just look so.
 */
#ifndef WORKSPACE_UNMERGED_H
#define WORKSPACE_UNMERGED_H

#include "base/strv.h"
#include "workspace/workspace.h"

/* Appends their paths; an index that cannot be read has none. Ids have so many digits. */
void unmerged_find(const struct workspace *ws, size_t id_len, struct strv *ret);

#endif

/*
 * Patches of commits, to the byte. git's own patch ids leave out all blanks and the modes of files.
 */
#ifndef GIT_MERGE_SAME_PATCH_H
#define GIT_MERGE_SAME_PATCH_H

#include "git/git.h"

/* Whether the patch of each commit of `commits` is also that of one of `among`. Both are lists of
 * ids in full, one a line. Where in its file a hunk is makes no difference. */
int patches_are_among(const struct git_place *at, const struct buf *commits,
                      const struct buf *among, bool *ret_yes, struct err *err);

#endif

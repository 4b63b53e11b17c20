/*
 * Compares patches of commits byte by byte. git's own patch ids ignore whitespace and file modes.
 */
#ifndef GIT_MERGE_SAME_PATCH_H
#define GIT_MERGE_SAME_PATCH_H

#include "git/git.h"

/* *ret_yes is true if the patch of every commit in `commits` is also the patch of a commit in
 * `among`. Both are lists of full ids, one per line. The positions of hunks in their files do not
 * matter. */
int patches_are_among(const struct git_place *at, const struct buf *commits,
                      const struct buf *among, bool *ret_yes, struct err *err);

#endif

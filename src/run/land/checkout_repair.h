/*
 * A checkout that was brought half-way: git writes the files first, the index behind them and the
 * branch last, and where it is killed or the disk is full it leaves what it has done. From then on
 * it takes its own work for changes of the user's, and refuses to go on.
 */
#ifndef RUN_LAND_CHECKOUT_REPAIR_H
#define RUN_LAND_CHECKOUT_REPAIR_H

#include "git/git.h"

#include <stdbool.h>

/* Of the paths that differ between two commits, those whose file already is as in `to`, and whose
 * index entry still is as in `from`, get the entry of `to`: a fast-forward has nothing to do there
 * any more. No file is touched, and no entry where something else is in its way. With `half`, which
 * is for after a git of ours that did not end well, files that are only the beginning of what `to`
 * has there are removed. *ret_some: there is reason to try again. `index` is the
 * index to change, NULL: that of the checkout. `dir`: where a file may be made meanwhile. */
int checkout_repair(const struct git_repo *repo, const char *index, const char *dir,
                    const char *from, const char *to, bool half, bool *ret_some, struct err *err);

#endif

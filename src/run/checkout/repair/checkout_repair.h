/*
 * Repairs a checkout after a fast-forward that stopped halfway. git writes the files first, then
 * the index, then the branch; if git is killed or the disk is full, its partial work stays. The
 * next git takes this work for changes of the user and refuses to continue.
 */
#ifndef RUN_CHECKOUT_REPAIR_CHECKOUT_REPAIR_H
#define RUN_CHECKOUT_REPAIR_CHECKOUT_REPAIR_H

#include "base/err.h"
#include "git/git.h"

#include <stdbool.h>

/* Looks at the paths that differ between two commits. If a path's file is already as in `to` and
 * its index entry still as in `from`, the entry becomes that of `to`: a fast-forward then has
 * nothing to do there. We touch no file, and change no entry if something else is in its way.
 * `half`: a git of ours did not end well in the checkout; then we also remove files that are
 * only the beginning of their content in `to`. *ret_some: something was repaired, so that a
 * retry makes sense. `index` is the index to change, NULL: that of the checkout. We may make a
 * temporary file in `dir`. */
int checkout_repair(const struct git_repo *repo, const char *index, const char *dir,
                    const char *from, const char *to, bool half, bool *ret_some, struct err *err);

#endif

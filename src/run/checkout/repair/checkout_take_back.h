/*
 * Takes back a move of a checkout, if the user has left the branch meanwhile: `git switch -c` needs
 * no lock, and keeps files and index. The files that git has written for the branch would look like
 * changes of the user.
 */
#ifndef RUN_CHECKOUT_REPAIR_CHECKOUT_TAKE_BACK_H
#define RUN_CHECKOUT_REPAIR_CHECKOUT_TAKE_BACK_H

#include "base/err.h"
#include "run/checkout/checkout_lock.h"

/* We hold the lock, and no git moves the checkout any more. Looks at the paths that differ between
 * the two commits and whose index entry is that of `from`. If a path's file is as in `to`, only the
 * beginning of that, or missing, it becomes as in `from`. An entry that is already as in `to`
 * becomes that of `from` first, if HEAD has that one, too. We touch no other file, follow no
 * symlink, and leave a file if something is in its way. */
int checkout_take_back(const struct checkout_lock *l, const char *common, const char *from,
                       const char *to, struct err *err);

#endif

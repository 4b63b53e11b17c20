/*
 * A base that is checked out nowhere moves as a ref alone. We hold the lock of only one checkout
 * meanwhile, so a `git switch` to the base may begin in another work tree right before the move:
 * then that work tree would show what has landed as deleted.
 */
#ifndef RUN_CHECKOUT_LATE_SWITCH_H
#define RUN_CHECKOUT_LATE_SWITCH_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

struct run;

/* Finds a checkout of the base; `path` stays empty if there is none. Mostly needs no process. */
int late_switch_find(struct run *run, struct buf *path, struct err *err);

/* After the ref has moved (publisher.moved_from): true as long as a git may check out what it has
 * read of the base before. False after the deadline of the publication. */
bool late_switch_awaits(struct run *run);

/* Then brings a checkout to the base, if its user has switched to the base while the base moved. */
void late_switch_follow(struct run *run);

#endif

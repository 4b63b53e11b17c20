/*
 * Power failures: what we say to be safe is on the disk. Objects are synced before a ref leads to
 * them and before the workspace that they were made of goes, once for all that lands in a turn.
 * After a power failure the next run or resume removes what the disk has only by name.
 */
#ifndef RUN_LAND_DURABLE_H
#define RUN_LAND_DURABLE_H

#include "run/run_private.h"

/* All objects that were written up to now are on disk when the call returns. Does nothing where the
 * user has switched that off for git (core.fsync=none). */
int durable_sync(struct run *run, struct err *err);

/* Where the machine was restarted since a run was last at work here: removes loose objects that are
 * empty or zeros, which git takes for there and never writes again; and the refs of this run that
 * lead to something which is not there. */
int durable_mend(struct run *run, struct err *err);
void durable_tell(struct run *run); /* how many it were, once there is a record */

#endif

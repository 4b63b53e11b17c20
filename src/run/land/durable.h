/*
 * Power failures: data that we report as safe is on the disk. Before a ref leads to objects, and
 * before the workspace that they came from goes, we sync these objects, once for all that lands in
 * a turn. After a power failure the next run or resume removes refs and objects whose content never
 * reached the disk.
 */
#ifndef RUN_LAND_DURABLE_H
#define RUN_LAND_DURABLE_H

#include "base/err.h"

struct run;

/* Syncs all objects written so far. Does nothing if the user has switched that off for git
 * (core.fsync=none). */
int durable_sync(struct run *run, struct err *err);

/* If the machine was restarted since a run was last at work here, removes loose objects that are
 * empty or zeros, which git takes for valid and never writes again. Removes the refs of this run
 * that lead to missing objects, too. */
int durable_mend(struct run *run, struct err *err);
void durable_tell(struct run *run); /* reports the numbers, once there is a journal */

#endif

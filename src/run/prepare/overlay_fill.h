/*
 * Workspaces as overlays over one pristine tree (workspace/overlay/layers.h,
 * workspace/overlay/base_tree.h): what a task costs does not depend on how many files the
 * repository has.
 *
 * The first job has git write the pristine tree, where there is none yet; the others wait for it.
 * Tasks that begin later than the base's commit have git write the difference, over it. Where an
 * overlay cannot be made after all, workspaces are filled in the other ways.
 */
#ifndef RUN_PREPARE_OVERLAY_FILL_H
#define RUN_PREPARE_OVERLAY_FILL_H

#include "run/run_private.h"

/* Whether the run's workspaces are to be filled so. */
bool overlay_fill_is_used(const struct run *run);

/* Whether what is to be brought along is in the job's workspace already; the lists of it are in the
 * job's folder then. */
bool overlay_fill_has_brought(const struct attempt *job);

/* What the job's index has, where it is still the one that was copied; or NULL. */
const struct tracked *overlay_fill_tracked(struct attempt *job);

/* The job's workspace goes, and `admin` is what its administrative folder is called now: its index
 * may serve another. */
void overlay_fill_keep_index(const struct attempt *job, const char *admin);

/* As fill_workspace(). */
int overlay_fill_fill(struct attempt *job, struct err *err);

/* Makes what is in the workspaces of an earlier life of the run visible to us. */
int overlay_fill_see_past(struct run *run, struct err *err);

/* The run is over: workspaces that stay for a person become ordinary ones. */
void overlay_fill_settle(struct run *run);

void overlay_fill_done(struct overlay_fill *l);

#endif

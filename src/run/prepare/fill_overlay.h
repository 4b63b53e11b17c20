/*
 * Workspaces as overlays over one pristine tree (workspace/overlay/layers.h,
 * workspace/overlay/base_tree.h): what a task costs does not depend on how many files the
 * repository has.
 *
 * The first job has git write the pristine tree, where there is none yet; the others wait for it.
 * Tasks that begin later than the base's commit have git write the difference, over it. Where an
 * overlay cannot be made after all, workspaces are filled in the other ways.
 */
#ifndef RUN_PREPARE_FILL_OVERLAY_H
#define RUN_PREPARE_FILL_OVERLAY_H

#include "run/run_private.h"

/* Whether the run's workspaces are to be filled so. */
bool layered_is_used(const struct run *run);

/* Whether what is to be brought along is in the job's workspace already; the lists of it are in the
 * job's folder then. */
bool layered_has_brought(const struct job *job);

/* What the job's index has, where it is still the one that was copied; or NULL. */
const struct tracked *layered_tracked(struct job *job);

/* The job's workspace goes, and `admin` is what its administrative folder is called now: its index
 * may serve another. */
void layered_keep_index(const struct job *job, const char *admin);

/* As fill_workspace(). */
int layered_fill(struct job *job, struct err *err);

/* Makes what is in the workspaces of an earlier life of the run visible to us. */
int layered_see_past(struct run *run, struct err *err);

/* The run is over: workspaces that stay for a person become ordinary ones. */
void layered_settle(struct run *run);

void layered_done(struct layered *l);

#endif

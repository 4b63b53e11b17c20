/*
 * Makes workspaces as overlays over one base tree (workspace/overlay/layers.h,
 * workspace/overlay/base_tree.h): then the cost of a task does not depend on the number of files in
 * the repository.
 *
 * For the first attempt git writes the base tree, if there is none yet; the other attempts wait for
 * it. If a task starts later than the base's commit, git writes the difference over it. If an
 * overlay cannot be made after all, we fill workspaces in the other ways.
 */
#ifndef RUN_PREPARE_OVERLAY_FILL_H
#define RUN_PREPARE_OVERLAY_FILL_H

#include "base/err.h"
#include "workspace/commit/commit.h"

#include <stdbool.h>

struct attempt;
struct overlay_fill;
struct run;
struct tracked;

/* True if the run's workspaces are filled like this. */
bool overlay_fill_is_used(const struct run *run);

/* True if the attempt's workspace already shows the included files. Their lists are then in the
 * attempt's folder. */
bool overlay_fill_has_brought(const struct attempt *attempt);

/* The entries of the attempt's index, if it is still the copy that we made; otherwise NULL. */
const struct tracked *overlay_fill_tracked(struct attempt *attempt);

/* Keeps the index of a workspace that is being removed, so that another workspace can use it.
 * `admin` is the current name of the workspace's administrative folder. */
void overlay_fill_keep_index(const struct attempt *attempt, const char *admin);

/* Like fill_workspace(). */
int overlay_fill_fill(struct attempt *attempt, struct err *err);

/* Mounts the workspaces of earlier sessions of the run, so that we see their files. */
int overlay_fill_see_past(struct run *run, struct err *err);

/* At the end of the run, makes ordinary folders of the workspaces that stay for a person. */
void overlay_fill_settle(struct run *run);

void overlay_fill_done(struct overlay_fill *l);

#endif

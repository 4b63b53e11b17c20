/*
 * How a run makes its workspaces: as the variable ANABRANCH_PROVIDER says, or else the plan, or
 * else by what there is and how large the repository is.
 *
 *     overlay    they show the files of one pristine tree (run/prepare/overlay_fill.h)
 *     snapshot   they are snapshots of one pristine tree (workspace/overlay/snapshot_fill.h)
 *     pool       work trees are used again (run/prepare/pool.h)
 *     checkout   git fills each
 */
#ifndef RUN_PREPARE_PROVIDER_H
#define RUN_PREPARE_PROVIDER_H

#include "run/run_private.h"

/* What is asked for: ERR_INPUT where that is none that there is. */
int provider_choose(struct run *run, struct err *err);

/* Whether that works here, by really trying, and what it is where nothing was asked for. Leaves
 * nothing behind; ERR_INPUT where it does not. To be called last of all that is checked. */
int provider_try(struct run *run, struct err *err);

/* What the environment asks for, or NULL. */
const char *provider_of_environment(void);

/* What a run takes in a repository where nothing else is asked for; `work` as below. */
enum provider provider_best(const struct git_repo *repo, const char *work);

/* Whether overlays work in a repository, by really trying. */
int provider_try_overlay(const struct git_repo *repo, struct err *err);

/* The same of snapshots. `work` is the folder in which workspaces are made, which need not be
 * there; NULL: below the top of the repository. *ret_quick is whether they can be deleted at once,
 * too. */
int provider_try_snapshot(const struct git_repo *repo, const char *work, bool *ret_quick,
                          struct err *err);

#endif

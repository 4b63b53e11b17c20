/*
 * Chooses how a run makes its workspaces: by the variable ANABRANCH_PROVIDER, else by the plan,
 * else by what works here and by the size of the repository.
 *
 *     overlay    they show the files of one base tree (run/prepare/overlay_fill.h)
 *     snapshot   they are snapshots of one base tree (workspace/overlay/snapshot_fill.h)
 *     pool       work trees are used again (run/prepare/pool.h)
 *     checkout   git fills each of them
 */
#ifndef RUN_PREPARE_PROVIDER_H
#define RUN_PREPARE_PROVIDER_H

#include "base/err.h"
#include "git/git.h"
#include "plan/plan.h"

#include <stdbool.h>

struct run;

/* Reads the requested provider; ERR_INPUT if there is no such provider. */
int provider_choose(struct run *run, struct err *err);

/* Tests whether the requested provider works here, by trying it; chooses one if none was
 * requested. Leaves nothing behind. ERR_INPUT if the provider does not work. Must be the last of
 * all checks. */
int provider_try(struct run *run, struct err *err);

/* The provider that the environment requests, or NULL. */
const char *provider_of_environment(void);

/* True if a repository is large: its index exceeds WORKSPACE_LARGE_INDEX. */
bool provider_is_large(const struct git_repo *repo);

/* The provider for a repository if none is requested; `work` as below. */
enum provider provider_best(const struct git_repo *repo, const char *work);

/* Tests whether overlays work in a repository, by trying. */
int provider_try_overlay(const struct git_repo *repo, struct err *err);

/* Tests the same for snapshots. `work` is the folder for workspaces, which need not exist; NULL:
 * below the top of the repository. *ret_quick: snapshots can be deleted at once, too. */
int provider_try_snapshot(const struct git_repo *repo, const char *work, bool *ret_quick,
                          struct err *err);

#endif

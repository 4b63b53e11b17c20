/*
 * The vault contains a bundle of each salvage (salvage.h), so that saved work survives even if
 * somebody deletes its refs and prunes the repository. The bundle is the file
 * <common git dir>/anabranch/vault/RUN/TASK/ATTEMPT.bundle. It has all refs of the salvage, and the
 * commits that are not in the history of the attempt's start. `git fetch` can read it.
 *
 * Only `anabranch salvage drop` deletes a bundle, and it does so before it deletes the refs. So if
 * a bundle has no refs, or its refs point elsewhere, somebody else has changed them.
 */
#ifndef WORKSPACE_COMMIT_VAULT_H
#define WORKSPACE_COMMIT_VAULT_H

#include "base/err.h"
#include "base/strv.h"
#include "git/git.h"

#define VAULT_ENDING ".bundle"

/* Branches of tasks in conflict have a bundle too, RUN/TASK/branch.bundle. A person may delete
 * such a branch, so only vault_restore() with exactly this ref restores it. */
#define VAULT_BRANCHES "refs/heads/anabranch/"

/* Makes the bundle of a salvage. `ref` is the full name of its first ref, which is at `commit`; if
 * an agent moves it in the meantime, we move it back. The bundle omits the history of `start`.
 * `at` is a place of the repository. ret_note gets a message for the user: that the ref had been
 * moved, or why there is no bundle; its code is 0 if there is nothing to report. Returns -1 only if
 * there is no bundle and somebody has deleted objects of the commit: the work is not saved. */
int vault_keep(const struct git_place *at, const char *ref, const char *commit, const char *start,
               struct err *ret_note, struct err *err);

/* Restores refs that the bundles have and that the repository has lost or moved; appends them to
 * ret_refs. `ref` limits this to its salvage; NULL: all salvages. */
int vault_restore(const struct git_place *at, const char *ref, struct strv *ret_refs,
                  struct err *err);

/* Removes lock files that git processes of a killed run have left in the vault. */
int vault_tidy(const struct git_place *at, const char *run, struct err *err);

int vault_drop(const struct git_place *at, const char *ref, struct err *err);

#endif

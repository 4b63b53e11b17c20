/*
 * The vault: a bundle of each salvage (salvage.h), so that saved work survives whoever deletes its
 * refs and prunes the repository: <common git dir>/anabranch/vault/RUN/TASK/ATTEMPT.bundle, which
 * `git fetch` reads as well. It has all refs of the salvage, and what they have that the commit did
 * not have at which the attempt began.
 *
 * Only `anabranch salvage drop` takes a bundle away, and it does so before the refs. So a bundle
 * without its refs, or with refs that are elsewhere, says that somebody else took them.
 */
#ifndef WORKSPACE_COMMIT_VAULT_H
#define WORKSPACE_COMMIT_VAULT_H

#include "base/err.h"
#include "base/strv.h"
#include "git/git.h"

#define VAULT_ENDING ".bundle"

/* Branches of tasks in conflict have a bundle as well, RUN/TASK/branch.bundle. A person may delete
 * them, so only vault_mend() of that very ref restores one. */
#define VAULT_BRANCHES "refs/heads/anabranch/"

/* Makes the bundle of a salvage: the full name of its first ref, which is at `commit`; where an
 * agent moves it meanwhile, it is moved back. What `start` has is left out. The place is that of
 * the repository. ret_note says what a person should know: that it was moved, or why there is no
 * bundle; its code is 0 where there is nothing to say. The work itself is saved in any case. */
void vault_keep(const struct git_place *at, const char *ref, const char *commit, const char *start,
                struct err *ret_note);

/* Brings back what the bundles have and the repository has no more, or elsewhere; appends the refs.
 * `ref` limits this to the salvage that it is of; NULL: all of them. */
int vault_mend(const struct git_place *at, const char *ref, struct strv *ret_refs, struct err *err);

/* Removes the locks that gits of a run which was killed have left in the vault. */
int vault_tidy(const struct git_place *at, const char *run, struct err *err);

int vault_drop(const struct git_place *at, const char *ref, struct err *err);

#endif

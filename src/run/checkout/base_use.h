/*
 * Finds an operation of the user, such as a rebase, that uses the base (git/checkout/branch_use.h),
 * and a git that may switch to it (git/checkout/switching_git.h). We do not move the base
 * meanwhile.
 */
#ifndef RUN_CHECKOUT_BASE_USE_H
#define RUN_CHECKOUT_BASE_USE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

struct git_repo;
struct run;

/* If an operation uses the base, run->base.refusal says what the user has to finish first. */
int base_use_look(struct run *run, bool *ret_used, struct err *err);

/* The same before we lock the checkout. If we have waited for other gits, also finds a git that may
 * check out the base or write back an older state of it: our lock could make that git fail. `path`
 * is the checkout of the base. */
int base_use_look_first(struct run *run, struct buf *path, bool *ret_used, struct err *err);

/* The same once others cannot lock the checkout. A git that has been there for so long mostly waits
 * in an editor. But it may also have read the base and be about to write HEAD: if the base moved
 * now, the checkout would show what lands as deleted. `path`: the checkout of the base, or NULL. */
int base_use_look_again(struct run *run, const char *path, bool *ret_used, struct err *err);

/* *ret_yes: an operation that began before our last move uses the base: if the user aborts it, the
 * base loses what landed. */
int base_use_may_undo(struct run *run, bool *ret_yes, struct err *err);

/* The same as base_use_look() for callers without a run. *ret_words is NULL if the branch is free;
 * the caller frees it. */
int base_use_words(const struct git_repo *repo, const char *ref, const char *ours, char **ret_words,
                   struct err *err);

/* The same for such a git. `path`: the checkout of the branch, or NULL. */
int base_use_git_words(const struct git_repo *repo, const char *ref, const char *ours,
                       const char *path, char **ret_words, struct err *err);

#endif

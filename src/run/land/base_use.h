/*
 * Whether the user is in the middle of something with the base (git/checkout/branch_use.h). We do
 * not move the base then.
 */
#ifndef RUN_LAND_BASE_USE_H
#define RUN_LAND_BASE_USE_H

#include "run/run_private.h"

/* Where the user is, run->refusal says what has to end first. */
int base_use_look(struct run *run, bool *ret_used, struct err *err);

/* The same in words for who has no run; NULL where the branch is free. To be freed. */
int base_use_words(const struct git_repo *repo, const char *ref, const char *ours, char **ret_words,
                   struct err *err);

#endif

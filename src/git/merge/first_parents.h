/*
 * Where a commit stands on the line of first parents of another: what someone has put on a branch
 * since it was last looked at are mostly a few commits, and no process of git's own is needed to
 * see that.
 */
#ifndef GIT_MERGE_FIRST_PARENTS_H
#define GIT_MERGE_FIRST_PARENTS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct git_batch;

struct first_parents {
    int found;     /* which of the wanted commits comes first; -1: none is near, ask git */
    bool straight; /* no merge is on the way there */
};

/* Goes back from `commit`, itself included, for a number of commits that takes some milliseconds.
 */
int first_parents_find(struct git_batch *batch, const char *commit, const char *const *wanted,
                       size_t n, struct first_parents *ret, struct err *err);

#endif

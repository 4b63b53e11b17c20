/*
 * Finds a commit on the first-parent line of another. Usually someone has added only a few commits
 * to a branch since the last check, so this needs no process of its own.
 */
#ifndef GIT_MERGE_FIRST_PARENTS_H
#define GIT_MERGE_FIRST_PARENTS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct git_batch;

struct first_parents {
    int found;     /* index of the first wanted commit found; -1: none is near, ask git */
    bool straight; /* no merge lies between */
};

/* Follows first parents from `commit` (included) for at most some milliseconds. */
int first_parents_find(struct git_batch *batch, const char *commit, const char *const *wanted,
                       size_t n, struct first_parents *ret, struct err *err);

#endif

/*
 * Whether the work of a branch is in another one, however it came there.
 */
#ifndef GIT_MERGE_IS_MERGED_H
#define GIT_MERGE_IS_MERGED_H

#include "base/err.h"
#include "git/git.h"

enum merged {
    MERGED_NOT,
    MERGED_WHOLE,     /* its commits are there */
    MERGED_REBASED,   /* for each of its commits one with the same patch is there */
    MERGED_SQUASHED,  /* one commit is there with the patch of all of them */
    MERGED_CONTAINED, /* merging it would change nothing */
};

/* How all that `commit` has changed came into `into`; both are ids in full. Commits that take each
 * other back are not merged unless they are there themselves. */
int merged_look(const struct git_place *at, const char *commit, const char *into, enum merged *ret,
                struct err *err);

#endif

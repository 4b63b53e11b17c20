/*
 * Finds out if the work of a branch is in another branch: merged, rebased, squashed or otherwise
 * contained.
 */
#ifndef GIT_MERGE_IS_MERGED_H
#define GIT_MERGE_IS_MERGED_H

#include "base/err.h"
#include "git/git.h"

enum merged {
    MERGED_NOT,
    MERGED_WHOLE,    /* the other branch has its commits */
    MERGED_REBASED,  /* the other branch has a commit with the same patch for each of its commits */
    MERGED_SQUASHED, /* the other branch has one commit with the patch of all of them */
    MERGED_CONTAINED, /* merging it would change nothing */
};

/* Finds out how the changes of `commit` came into `into`; both are full ids. Commits that revert
 * each other count as merged only if `into` has these commits. */
int merged_look(const struct git_place *at, const char *commit, const char *into, enum merged *ret,
                struct err *err);

#endif

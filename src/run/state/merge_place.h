/*
 * The command with which the user merges a branch of a run into the base by hand. git refuses to
 * switch to a branch that another work tree has checked out, so the merge is made there.
 */
#ifndef RUN_STATE_MERGE_PLACE_H
#define RUN_STATE_MERGE_PLACE_H

#include "base/buf.h"
#include "git/git.h"

struct merge_place {
    const char *base; /* not owned; NULL: the run had no branch */
    char *elsewhere;  /* the other work tree that has the base checked out; NULL: none */
    bool gone;        /* someone removed the base */
};

/* Finds the rest for p->base, with up to two git processes. If git fails, we assume that the base
 * is not checked out elsewhere. */
void merge_place_find(struct merge_place *p, const struct git_repo *repo);
void merge_place_done(struct merge_place *p);
#define automergeplace own_cleanup(merge_place_done)

/* Appends the command that merges a branch. */
void merge_place_add(const struct merge_place *p, const char *branch, struct buf *out);

/* The same for a branch that has all that landed: if the base is gone, this makes it again. */
void merge_place_add_result(const struct merge_place *p, const char *branch, struct buf *out);

#endif

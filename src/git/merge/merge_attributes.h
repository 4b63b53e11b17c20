/*
 * struct simple_trees: whether a merge is of objects alone, or attributes and submodules may be in
 * play, for which git looks at a work tree. They are where files are merged, and files are merged
 * only in folders that one side at least has not as the base has them: those are read, once for
 * each pair, so that the cost is that of what is new, not of all that a tip has more than its base,
 * nor of the repository.
 */
#ifndef GIT_MERGE_MERGE_ATTRIBUTES_H
#define GIT_MERGE_MERGE_ATTRIBUTES_H

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"

#include <stdbool.h>

struct git_batch;

struct simple_trees {
    struct map known; /* "WAS IS", two trees: all that differs between them is simple */
    struct arena arena;
};

void simple_trees_done(struct simple_trees *s);

/* Whether no folder of the commit that is not the same in the base has a .gitattributes or a
 * submodule in it, or had one in the base; both by their ids. False as well where that would take
 * long to find out: it is then nearer the next time. */
int simple_trees_since(struct simple_trees *s, struct git_batch *batch, const char *base,
                       const char *commit, bool *ret_simple, struct err *err);

#endif

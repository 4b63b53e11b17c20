/*
 * struct work_trees: the work trees of a repository, found without git.
 */
#ifndef GIT_CHECKOUT_WORK_TREES_H
#define GIT_CHECKOUT_WORK_TREES_H

#include "base/err.h"
#include "base/strv.h"

struct work_trees {
    struct strv folders;  /* without symlinks, and ... */
    struct strv git_dirs; /* ... the administrative folder of each */
};

/* Adds the main work tree (of a bare repository: its folder) and all linked ones whose name does
 * not begin with `ours` (or NULL). */
int work_trees_find(struct work_trees *w, const char *common, const char *ours, struct err *err);
void work_trees_done(struct work_trees *w);
#define autoworktrees own_cleanup(work_trees_done)

#endif

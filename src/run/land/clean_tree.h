/*
 * A tree that holds only the commit that is about to land, for a verification with `clean`. It has
 * no ignored files and no included files. It lies outside the user's folders, because tools would
 * find other files in its parent folders. It has its own repository, which has that commit checked
 * out and reads the project's objects. Beside it are an empty home and an empty temporary folder.
 */
#ifndef RUN_LAND_CLEAN_TREE_H
#define RUN_LAND_CLEAN_TREE_H

#include "run/run_private.h"

/* Makes the tree of attempt->candidate in attempt->clean and starts git, which fills it. Calls
 * `next` when git has ended. */
int clean_tree_make(struct attempt *attempt, void (*next)(struct attempt *, int), struct err *err);

/* The working directory of a command in the tree; the caller frees it. */
char *clean_tree_cwd(const struct attempt *attempt);

/* Sets HOME, TMPDIR and similar variables for a command in the tree. */
void clean_tree_environment(const struct attempt *attempt, struct strv *env);

/* Removes the tree, if there is one. */
void clean_tree_remove(struct attempt *attempt);

/* Removes the trees that a killed run left. If a tree cannot be removed, it belongs to someone
 * else. */
void clean_tree_tidy(const struct run *run);

#endif

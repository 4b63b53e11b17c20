/*
 * A tree that holds the commit that is about to land and nothing else, for a verification with
 * `clean`: no ignored file and no file that was brought along, in no folder of the user's, where
 * tools would find others on their way up. It has a repository of its own, with that commit checked
 * out, which reads the objects of the project's. Beside it are an empty home and an empty folder
 * for temporary files.
 */
#ifndef RUN_LAND_CLEAN_TREE_H
#define RUN_LAND_CLEAN_TREE_H

#include "run/run_private.h"

/* Makes the tree of job->candidate in job->clean, and starts the git that fills it; `next` is
 * called when that has ended. */
int clean_tree_make(struct attempt *job, void (*next)(struct attempt *, int), struct err *err);

/* Where a command works in it. On the heap. */
char *clean_tree_cwd(const struct attempt *job);

/* What a command in it sees in place of the user's home. */
void clean_tree_environment(const struct attempt *job, struct strv *env);

/* Takes it away, if there is one. */
void clean_tree_remove(struct attempt *job);

/* Takes away what a run that was killed has left. What cannot be removed is someone else's. */
void clean_tree_tidy(const struct run *run);

#endif

/*
 * Finds the ref with landed work that the base branch does not have: the checkout could not
 * follow, the run was killed before, or the user was in the middle of a rebase.
 */
#ifndef VIEW_REPORT_KEPT_REF_H
#define VIEW_REPORT_KEPT_REF_H

#include "view/report/report.h"

/* Sets r->kept with one or two git processes, and forgets branches of tasks that are gone. Does
 * nothing while the run is active, or if git_dir is NULL. */
int report_find_kept(struct report *r, const char *git_dir, struct err *err);

/* Sets r->merge_place if the user has to merge something by hand: r->kept, or work in conflict. */
void report_find_merge_place(struct report *r, const struct git_repo *repo);

#endif

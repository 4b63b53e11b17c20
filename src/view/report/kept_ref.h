/*
 * The ref that has what landed, where the base does not have it: the checkout could not follow, the
 * run did not come that far, or the user was in the middle of a rebase.
 */
#ifndef VIEW_REPORT_KEPT_REF_H
#define VIEW_REPORT_KEPT_REF_H

#include "view/report/report.h"

/* Sets r->kept, by one git process, or two where there is such a ref. Does nothing while the run is
 * at work, and where git_dir is NULL. */
int report_find_kept(struct report *r, const char *git_dir, struct err *err);

#endif

/*
 * The summary of a run: one line per task, the problems, and the next steps.
 */
#ifndef VIEW_REPORT_SUMMARY_H
#define VIEW_REPORT_SUMMARY_H

#include "run/run.h"
#include "view/report/report.h"

/* quiet: leaves out successful tasks. */
void summary(const struct report *r, bool quiet, struct buf *out);

/* If the user's checkout could not follow: the reason, and the command to type. */
void summary_result(const struct run_result *result, const char *base, struct buf *out);

/* The ref with landed work that the base branch does not have (kept_ref.h). */
void summary_kept(const struct report *r, struct buf *out);

/* "3 landed, 1 failed", or nothing if no task has ended. */
void summary_counts(const struct report *r, struct buf *out);

#endif

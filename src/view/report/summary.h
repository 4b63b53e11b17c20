/*
 * A run for people: one line per task, what went wrong, and what is left to do.
 */
#ifndef VIEW_REPORT_SUMMARY_H
#define VIEW_REPORT_SUMMARY_H

#include "run/run.h"
#include "view/report/report.h"

/* quiet: without the tasks that went well. */
void summary(const struct report *r, bool quiet, struct buf *out);

/* Where the user's checkout could not follow: why, and what to type. */
void summary_result(const struct run_result *result, const char *base, struct buf *out);

/* Where what landed is, if the base does not have it (kept_ref.h). */
void summary_kept(const struct report *r, struct buf *out);

/* "3 landed, 1 failed", or nothing where no task has come to an end. */
void summary_counts(const struct report *r, struct buf *out);

#endif

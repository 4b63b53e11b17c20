/*
 * The parts of the page, in files of their own, and what they have in common. Two of them are
 * drawings, in SVG, without a script: when each task did what, and who waited for whom.
 */
#ifndef VIEW_REPORT_HTML_H
#define VIEW_REPORT_HTML_H

#include "view/report/details.h"

/* "landed" ...: what a task's end is called in the page's style sheet. */
extern const char *const report_html_ends[REPORT_END_COUNT_];

/* Appends the reference to a task's place on the page, with its id as the text. */
void report_html_link(struct buf *out, const struct report_task *t);

void report_html_time(struct buf *out, int64_t time);
void report_html_usd(struct buf *out, double usd);

/* Why it ended as it did. */
void report_html_reason(const struct report_task *t, struct buf *out);

void report_html_timeline(const struct report_details *m, struct buf *out);
void report_html_graph(const struct report_details *m, struct buf *out);

/* What it cost: by engine and model, and the tasks that cost most. */
void report_html_costs(const struct report_details *m, struct buf *out);

/* Every task, with what it changed and what its agent said, which are read here. */
void report_html_tasks(struct report_details *m, struct buf *out);

#endif

/*
 * The parts of the HTML report, one file each, and their helpers. Timeline and graph are SVG
 * drawings without scripts.
 */
#ifndef VIEW_REPORT_HTML_H
#define VIEW_REPORT_HTML_H

#include "view/report/details.h"

/* Appends a link to a task on the page. */
void report_html_link(struct buf *out, const struct report_task *t);

void report_html_time(struct buf *out, int64_t time);
void report_html_usd(struct buf *out, double usd);

/* Appends the reason of a failure. */
void report_html_reason(const struct report_task *t, struct buf *out);

void report_html_timeline(const struct report_details *m, struct buf *out);
void report_html_graph(const struct report_details *m, struct buf *out);

/* Costs by engine and model, and the most expensive tasks. */
void report_html_costs(const struct report_details *m, struct buf *out);

/* All tasks, with their diffs and logs, which are read here. */
void report_html_tasks(struct report_details *m, struct buf *out);

#endif

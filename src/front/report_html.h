/*
 * The page's drawings: when each task did what, and who waited for whom. SVG, without a script.
 */
#ifndef FRONT_REPORT_HTML_H
#define FRONT_REPORT_HTML_H

#include "front/report_more.h"

/* "landed" ...: what a task's end is called in the page's style sheet. */
extern const char *const report_html_ends[REPORT_END_COUNT_];

/* Appends the reference to a task's place on the page, with its id as the text. */
void report_html_link(struct buf *out, const struct report_task *t);

void report_html_timeline(const struct report_more *m, struct buf *out);
void report_html_graph(const struct report_more *m, struct buf *out);

#endif

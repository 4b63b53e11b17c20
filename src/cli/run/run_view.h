/*
 * What `run` shows while it goes on: plain lines, events as JSON, or the live view.
 */
#ifndef CLI_RUN_RUN_VIEW_H
#define CLI_RUN_RUN_VIEW_H

#include "project/plan_file.h"
#include "run/run.h"
#include "view/live.h"

#include <stdio.h>

enum run_view_kind { VIEW_LINES, VIEW_PROBLEMS, VIEW_JSON, VIEW_LIVE };

struct run_view {
    enum run_view_kind kind;
    FILE *to;
    struct run *run;
    struct live live; /* of VIEW_LIVE */
    int64_t started;
    struct buf later; /* of VIEW_LIVE: lines for below it */
};

/* Whether the stream is a terminal that a live view can be drawn on. */
bool run_view_can_draw(FILE *to);

/* Shows what happens from here on; pf and wanted as the run has them. */
void run_view_begin(struct run_view *v, enum run_view_kind kind, FILE *to, struct run *run,
                    const struct plan_file *pf, const bool *wanted);

/* Leaves the cursor where other output may follow. */
void run_view_end(struct run_view *v);

#endif

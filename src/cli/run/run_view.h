/*
 * The output of `run` while it runs: plain lines, events as JSON, or the live view.
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
    struct live live; /* for VIEW_LIVE */
    int64_t started;
    struct buf later; /* for VIEW_LIVE: lines to print below it at the end */
};

/* True if the stream is a terminal that can show a live view. */
bool run_view_can_draw(FILE *to);

/* Shows all further events. pf and wanted are those of the run. */
void run_view_begin(struct run_view *v, enum run_view_kind kind, FILE *to, struct run *run,
                    const struct plan_file *pf, const bool *wanted);

/* Leaves the cursor where other output may follow. */
void run_view_end(struct run_view *v);

#endif

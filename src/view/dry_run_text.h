/*
 * What a run would do, for people: the plan, and how each of its tasks is run here and now.
 */
#ifndef VIEW_DRY_RUN_TEXT_H
#define VIEW_DRY_RUN_TEXT_H

#include "base/buf.h"
#include "run/run.h"

/* pf and wanted are those of the run; columns as in plan_text(). */
void dry_run_text(const struct run *run, struct plan_file *pf, const bool *wanted, size_t columns,
                  struct buf *out);

#endif

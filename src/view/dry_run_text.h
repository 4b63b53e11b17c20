/*
 * The text of a dry run: the plan, and the settings of each task on this machine.
 */
#ifndef VIEW_DRY_RUN_TEXT_H
#define VIEW_DRY_RUN_TEXT_H

#include "base/buf.h"
#include "run/run.h"

/* Asks git for the state of the checkout. `pf` and `wanted` belong to the run; columns: as in
 * plan_text(). */
void dry_run_text(struct run *run, struct plan_file *pf, const bool *wanted, size_t columns,
                  struct buf *out);

#endif

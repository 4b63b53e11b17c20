/*
 * A checked plan as text: its tasks, their order, and which of them run in parallel.
 */
#ifndef VIEW_PLAN_TEXT_H
#define VIEW_PLAN_TEXT_H

#include "base/buf.h"
#include "project/plan_file.h"

#include <stddef.h>

/* Appends the summary. `columns`: wrap or cut lines to this width if possible; 0: no limit. */
void plan_text(struct plan_file *pf, size_t columns, struct buf *out);

#endif

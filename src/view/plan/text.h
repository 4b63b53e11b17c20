/*
 * A checked plan for people: what it will do, in which order, what runs beside what.
 */
#ifndef VIEW_PLAN_TEXT_H
#define VIEW_PLAN_TEXT_H

#include "base/buf.h"
#include "project/plan_file.h"

#include <stddef.h>

/* Appends the summary, lines no wider than `columns` where that can be (0: as wide as they are). */
void plan_text(struct plan_file *pf, size_t columns, struct buf *out);

#endif

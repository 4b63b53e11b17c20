/*
 * A checked plan for people: what it will do, in which order, what runs beside what.
 */
#ifndef FRONT_PLAN_TEXT_H
#define FRONT_PLAN_TEXT_H

#include "base/buf.h"
#include "run/plan_file.h"

#include <stddef.h>

/* Appends the summary, lines no wider than `columns` where that can be (0: as wide as they are). */
void plan_text(struct plan_file *pf, size_t columns, struct buf *out);

#endif

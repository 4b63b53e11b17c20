/*
 * The steps of a resume, shown before it happens.
 */
#ifndef VIEW_RESUME_TEXT_H
#define VIEW_RESUME_TEXT_H

#include "base/buf.h"
#include "base/node/node.h"
#include "run/resume/decide.h"

/* Appends a line for each task that is not kept as it is, and the number of the others. */
void resume_text(const struct run *run, const struct plan_file *pf, struct buf *out);

/* The same as JSON: "run", "edited" and "tasks", a list with "id", "step" and "why". */
struct node *resume_json(const struct run *run, const struct plan_file *pf, struct arena *a);

#endif

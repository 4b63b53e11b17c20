/*
 * What going on with a run comes down to, before it happens.
 */
#ifndef VIEW_RESUME_TEXT_H
#define VIEW_RESUME_TEXT_H

#include "base/buf.h"
#include "base/node/node.h"
#include "run/resume/decide.h"

/* Appends a line for each task about which there is something to say, and how many stay as they
 * are. */
void resume_text(const struct run *run, const struct plan_file *pf, struct buf *out);

/* The same for programs: "run", "edited" and "tasks", a list with "id", "step" and "why". */
struct node *resume_json(const struct run *run, const struct plan_file *pf, struct arena *a);

#endif

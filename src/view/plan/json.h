/*
 * What `check --json` prints: the plan in canonical words, what follows from it, and the problems.
 */
#ifndef VIEW_PLAN_JSON_H
#define VIEW_PLAN_JSON_H

#include "base/arena.h"
#include "base/node/node.h"
#include "project/plan_file.h"

/* Plan and graph are left out where the plan has errors. */
struct node *plan_json(const struct plan_file *pf, const struct problems *ps, struct arena *a);

#endif

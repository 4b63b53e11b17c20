/*
 * The output of `check --json`: the plan in canonical form, its graph, and the problems.
 */
#ifndef VIEW_PLAN_JSON_H
#define VIEW_PLAN_JSON_H

#include "base/arena.h"
#include "base/node/node.h"
#include "project/plan_file.h"

/* If the plan has errors, plan and graph are left out. */
struct node *plan_json(const struct plan_file *pf, const struct problems *ps, struct arena *a);

#endif

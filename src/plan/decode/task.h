/*
 * Decodes the tasks of a plan: their keys, their defaults, and their references.
 */
#ifndef PLAN_DECODE_TASK_H
#define PLAN_DECODE_TASK_H

#include "plan/decode/keys.h"
#include "plan/plan.h"

/* Keys of a struct budget and of struct change_limits; the plan has both too. */
extern const struct field budget_fields[];
extern const struct field change_limits_fields[];

enum { LIMIT_CPU_MAX = 1024 };

/* True if all characters are valid in an id; each vocabulary has its own limit for the length. */
bool task_id_valid(const char *s);

/* Reads `defaults` and `tasks` of the root, and resolves dependencies and groups. */
void plan_read_tasks(struct reader *r, struct plan *plan, const struct node *root);

#endif

/*
 * The tasks of a plan: their keys, the defaults that they begin with, and what they refer to.
 */
#ifndef PLAN_DECODE_TASK_H
#define PLAN_DECODE_TASK_H

#include "plan/decode/keys.h"
#include "plan/plan.h"

/* Keys of a struct budget; the plan has one too. */
extern const struct field budget_fields[];
extern const struct field change_limits_fields[];

enum { LIMIT_CPU_MAX = 1024 };

/* Whether the characters are those of an id; how many it may have is the vocabulary's business. */
bool task_id_valid(const char *s);

/* Reads `defaults` and `tasks` of the root, and resolves dependencies and groups. */
void plan_read_tasks(struct reader *r, struct plan *plan, const struct node *root);

#endif

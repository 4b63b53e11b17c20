/*
 * Compares an edited plan with the plan that ran.
 */
#ifndef RUN_RESUME_PLAN_COMPARE_H
#define RUN_RESUME_PLAN_COMPARE_H

#include "project/plan_file.h"

/* Sets changed[t] for each task of `now` whose text differs in `was`, and new[t] for each task that
 * `was` lacks. Returns true if the two plans have a task in common. */
bool resume_compare(const struct plan_file *was, const struct plan_file *now, bool *changed,
                    bool *new);

/* True if both plans ask the task's agent for the same work. Their verification may differ. */
bool resume_asks_the_same(const struct plan_file *was, const struct plan_file *now, uint32_t task);

#endif

/*
 * A plan that was edited since it was run: which tasks are other tasks now.
 */
#ifndef RUN_RESUME_PLAN_COMPARE_H
#define RUN_RESUME_PLAN_COMPARE_H

#include "project/plan_file.h"

/* Sets changed[t] for each task of `now` that `was` has with another text, and new[t] for each that
 * it does not have. Returns whether the two plans have a task in common. */
bool resume_compare(const struct plan_file *was, const struct plan_file *now, bool *changed,
                    bool *new);

/* Whether a task's agent is asked for the same, however the result is verified. */
bool resume_asks_the_same(const struct plan_file *was, const struct plan_file *now, uint32_t task);

#endif

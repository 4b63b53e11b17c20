/*
 * Budgets of money and tokens: counts the usage of each attempt, and compares it with the limits of
 * the plan for tasks and for the run. At four fifths of a budget we record a warning. When it is
 * used up, we ask the agent to stop and save its work. Tokens read from a cache do not count. The
 * cost is the engine's own figure, or else follows from the configured prices; if neither is known,
 * it counts as nothing.
 */
#ifndef RUN_LIMITS_BUDGET_H
#define RUN_LIMITS_BUDGET_H

#include "plan/engine/engine_event.h"

#include <stdbool.h>
#include <stdint.h>

struct attempt;
struct run;

/* Carries out an action of the engine about a budget. */
void do_budget(struct run *run, const struct action *a, const struct engine_event *ev);

/* Records the usage that the attempt's agent reported, if it is new, and compares it with the
 * budgets. We do not stop an agent that has finished (works: false). If it went over a budget,
 * attempt->agent.overrun says so. */
void budget_take(struct attempt *attempt, bool works);

/* Adds the earlier usage of the tasks of a resumed run. */
void budget_recall(struct run *run);

/* Raises the budget of a task, or of the run (-1). Negative members stay unchanged. */
void budget_raise(struct run *run, int64_t task, const struct budget *to);

/* True if the budget of the task, or that of the run, is used up. */
bool budget_is_spent(const struct run *run, uint32_t task);

/* The money that is left for a task's next attempt; negative: no limit. */
double budget_left(const struct run *run, uint32_t task);

#endif

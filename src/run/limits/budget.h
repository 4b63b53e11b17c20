/*
 * Money and tokens: what each attempt has used, and what the plan allows a task and the whole run.
 * At four fifths of a budget a warning is given; at its end the agent is asked to stop, and what it
 * made so far is saved. Tokens that were read from a cache are not counted. Money is what the
 * engine says, else what the configured prices come to; what neither knows counts for nothing.
 */
#ifndef RUN_LIMITS_BUDGET_H
#define RUN_LIMITS_BUDGET_H

#include "run/run_private.h"

/* Records what the job's agent reported to have used, where that is new, and compares it with the
 * budgets. We do not stop an agent that has come to its end (works: false): if it went beyond a
 * budget we note that in job->overrun. */
void budget_take(struct attempt *job, bool works);

/* What tasks of a run that is gone on with have used before counts, too. */
void budget_recall(struct run *run);

/* Lets a task, or the run (-1), use more: members below 0 stay as they are. */
void budget_raise(struct run *run, int64_t task, const struct budget *to);

/* Whether nothing is left of the task's budget, or of the run's. */
bool budget_is_spent(const struct run *run, uint32_t task);

/* What is left of a task's budget of money for its next attempt; below 0: there is none. */
double budget_left(const struct run *run, uint32_t task);

#endif

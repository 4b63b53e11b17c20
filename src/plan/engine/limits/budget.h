/*
 * struct budgets: the budgets of the tasks and of the run, and what agents used of them. A pure
 * value: callers report usage and carry out the answer.
 *
 * Tokens written to a cache count, because the model read them; tokens read from a cache do not. An
 * unknown cost counts as nothing. At four fifths of a budget we warn. When it is used up, its
 * agents have to stop, and no more of its attempts start. An agent that reports its usage only at
 * its end may have overrun a budget.
 */
#ifndef PLAN_ENGINE_BUDGET_H
#define PLAN_ENGINE_BUDGET_H

#include "base/buf.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Tokens and money that one attempt used. */
struct spent {
    int64_t in, out, cache_read, cache_made;
    double usd; /* below 0: unknown */
};

/* A budget, and what all attempts used of it. */
struct budget_use {
    struct budget budget; /* from the plan, or raised by a user */
    int64_t tokens_in, tokens_out;
    double usd; /* below 0: unknown */
    bool warned;
    bool exceeded; /* we have answered that the run's budget is used up; not used for tasks */
};

struct budgets {
    struct budget_use run, *tasks;
    size_t task_count;
};

void budgets_init(struct budgets *b, const struct plan *plan);
void budgets_done(struct budgets *b);

/* An attempt reports this about its agent. */
struct budget_report {
    struct spent spent; /* since the attempt began */
    bool works;         /* the agent has not ended */
    bool finished;      /* it has reported its result: stopping it would save nothing */
    bool stopped;       /* we have asked it to stop */
    bool overran;       /* an earlier answer said that it overran a budget */
};

enum overrun { OVERRUN_NONE, OVERRUN_TASK, OVERRUN_RUN };

/* Records and actions, in this order. */
struct budget_answer {
    bool task_warned, task_exceeded;
    bool stop;            /* this attempt */
    enum overrun overrun; /* the budget that the attempt exceeded before we could stop it */
    bool run_warned, run_exceeded; /* exceeded: stop all attempts */
};

/* Adds the new usage of an attempt; *counted holds its usage that we counted before. Returns false
 * if nothing is new. */
bool budgets_add(struct budgets *b, uint32_t task, struct spent *counted,
                 const struct budget_report *report, struct budget_answer *ret);

/* For a resumed run: sets the earlier usage of each task, then adds it up. */
void budgets_set(struct budgets *b, uint32_t task, int64_t tokens_in, int64_t tokens_out,
                 double usd);
struct budget_answer budgets_recall(struct budgets *b);

/* Raises the budget of a task, or of the run (-1). Negative members stay unchanged. */
void budgets_raise(struct budgets *b, int64_t task, const struct budget *to);

/* True if the budget of the task, or that of the run, is used up. */
bool budgets_are_spent(const struct budgets *b, uint32_t task);

/* The money that is left for a task's next attempt; negative: no limit. */
double budgets_left(const struct budgets *b, uint32_t task);

/* Tokens and money that count. */
int64_t budget_use_tokens(const struct budget_use *u);
double budget_use_usd(const struct budget_use *u);

/* Appends "12k tokens of 10k" or "$3.10 of $3.00". */
void budget_use_describe(const struct budget_use *u, struct buf *out);

#endif

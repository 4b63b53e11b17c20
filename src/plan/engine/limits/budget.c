#include "plan/engine/limits/budget.h"

#include "base/mem.h"
#include "base/text/text.h"

#include <stdlib.h>

/* In percent. */
enum { WARN_PERCENT = 80 };

void budgets_init(struct budgets *b, const struct plan *plan)
{
    *b = (struct budgets){.run = {.budget = plan->budget},
                          .tasks = mem_array(plan->task_count, sizeof(*b->tasks)),
                          .task_count = plan->task_count};
    for (size_t i = 0; i < plan->task_count; i++)
        b->tasks[i] = (struct budget_use){.budget = plan->tasks[i].budget, .usd = -1};
}

void budgets_done(struct budgets *b)
{
    free(b->tasks);
    *b = (struct budgets){0};
}

int64_t budget_use_tokens(const struct budget_use *u)
{
    return u->tokens_in + u->tokens_out;
}

double budget_use_usd(const struct budget_use *u)
{
    return u->usd < 0 ? 0 : u->usd;
}

static bool reaches_percent(const struct budget_use *u, int percent)
{
    double share = percent / 100.0;
    return (u->budget.tokens != PLAN_UNSET &&
            (double)budget_use_tokens(u) >= (double)u->budget.tokens * share) ||
           (u->budget.usd >= 0 && budget_use_usd(u) >= u->budget.usd * share);
}

static bool is_over(const struct budget_use *u)
{
    return (u->budget.tokens != PLAN_UNSET && budget_use_tokens(u) > u->budget.tokens) ||
           (u->budget.usd >= 0 && budget_use_usd(u) > u->budget.usd);
}

void budget_use_describe(const struct budget_use *u, struct buf *out)
{
    double usd = budget_use_usd(u);
    if (u->budget.usd >= 0 && usd >= u->budget.usd * WARN_PERCENT / 100.0) {
        buf_addf(out, "$%.2f of $%.2f", usd, u->budget.usd);
        return;
    }
    text_format_count(out, budget_use_tokens(u));
    buf_addstr(out, " tokens of ");
    text_format_count(out, u->budget.tokens);
}

/* Reports count within an attempt, the task and the run count over all attempts. */
static bool add_spent(struct budgets *b, uint32_t task, struct spent *counted,
                      const struct spent *now)
{
    struct budget_use *t = &b->tasks[task];
    double usd = now->usd < 0 ? 0 : now->usd;
    int64_t in = now->in + now->cache_made - counted->in - counted->cache_made,
            out = now->out - counted->out;
    bool same = usd <= counted->usd && usd >= counted->usd;
    if (!in && !out && now->cache_read == counted->cache_read && same)
        return false;
    t->tokens_in += in;
    t->tokens_out += out;
    if (now->usd >= 0)
        t->usd = budget_use_usd(t) + usd - counted->usd;
    b->run.tokens_in += in;
    b->run.tokens_out += out;
    b->run.usd += usd - counted->usd;
    *counted = *now;
    counted->usd = usd;
    return true;
}

/* True once, if the budget is nearly used up. */
static bool warn_once(struct budget_use *u)
{
    bool warns = !u->warned && reaches_percent(u, WARN_PERCENT);
    u->warned = u->warned || warns;
    return warns;
}

static void check_task(struct budget_use *u, const struct budget_report *r,
                       struct budget_answer *ret)
{
    ret->task_warned = warn_once(u);
    if (r->stopped || !reaches_percent(u, 100))
        return;
    ret->stop = r->works && !r->finished;
    if (!ret->stop && !r->overran && is_over(u))
        ret->overrun = OVERRUN_TASK;
    ret->task_exceeded = ret->stop || ret->overrun == OVERRUN_TASK;
}

static bool overruns_run(const struct budget_use *u, const struct budget_report *r,
                         const struct budget_answer *answer)
{
    bool could_stop = r->works && !r->finished;
    return !could_stop && !r->stopped && !r->overran && !answer->overrun && is_over(u);
}

static void check_run(struct budget_use *u, struct budget_answer *ret)
{
    if (u->exceeded)
        return;
    ret->run_warned = warn_once(u);
    ret->run_exceeded = u->exceeded = reaches_percent(u, 100);
}

bool budgets_add(struct budgets *b, uint32_t task, struct spent *counted,
                 const struct budget_report *report, struct budget_answer *ret)
{
    bool was_spent = reaches_percent(&b->run, 100);
    if (!add_spent(b, task, counted, &report->spent))
        return false;
    *ret = (struct budget_answer){0};
    check_task(&b->tasks[task], report, ret);
    if (!was_spent && overruns_run(&b->run, report, ret))
        ret->overrun = OVERRUN_RUN;
    check_run(&b->run, ret);
    return true;
}

void budgets_set(struct budgets *b, uint32_t task, int64_t tokens_in, int64_t tokens_out,
                 double usd)
{
    b->tasks[task].tokens_in = tokens_in;
    b->tasks[task].tokens_out = tokens_out;
    b->tasks[task].usd = usd;
}

struct budget_answer budgets_recall(struct budgets *b)
{
    struct budget_answer answer = {0};
    for (size_t i = 0; i < b->task_count; i++) {
        b->run.tokens_in += b->tasks[i].tokens_in;
        b->run.tokens_out += b->tasks[i].tokens_out;
        b->run.usd += budget_use_usd(&b->tasks[i]);
    }
    check_run(&b->run, &answer);
    return answer;
}

void budgets_raise(struct budgets *b, int64_t task, const struct budget *to)
{
    struct budget_use *u = task < 0 ? &b->run : &b->tasks[task];
    u->budget.usd = to->usd >= 0 ? to->usd : u->budget.usd;
    u->budget.tokens = to->tokens >= 0 ? to->tokens : u->budget.tokens;
    u->warned = false;
    u->exceeded = task < 0 && reaches_percent(u, 100);
}

bool budgets_are_spent(const struct budgets *b, uint32_t task)
{
    return reaches_percent(&b->tasks[task], 100) || reaches_percent(&b->run, 100);
}

double budgets_left(const struct budgets *b, uint32_t task)
{
    const struct budget_use *u = &b->tasks[task];
    double usd = budget_use_usd(u);
    return u->budget.usd < 0 ? -1 : usd < u->budget.usd ? u->budget.usd - usd : 0;
}

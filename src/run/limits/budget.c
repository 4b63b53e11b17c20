#include "run/limits/budget.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "run/attempt/attempt.h"
#include "run/report.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "run/state/status.h"
#include "run/state/wake.h"
#include "sys/clock.h"
#include "sys/guard/guard.h"

/* The model that the agent reported, or else that of the plan; or NULL. */
static const char *find_model(const struct attempt *attempt)
{
    const struct task *t = task_of(attempt);
    if (attempt->agent.report.model.len)
        return attempt->agent.report.model.s;
    return run_uses_fallback(attempt->run, attempt->task) ? t->fallback.model : t->model;
}

/* The cost of an attempt so far: as its engine reports, or else by the price tables; *ret_date
 * is then the date of the table that we used. Negative: unknown. */
static double calculate_cost(const struct attempt *attempt, const char **ret_date)
{
    const struct agent_report *r = &attempt->agent.report;
    struct tokens used = {r->tokens_in, r->tokens_out, r->cache_read, r->cache_made};
    bool any = used.in || used.out || used.cache_read || used.cache_made;
    *ret_date = NULL;
    if (r->usd >= 0 || !any)
        return r->usd;
    return config_reckon(&attempt->run->config.config, find_model(attempt), &used, ret_date);
}

static void store_usage(struct attempt *attempt)
{
    const struct agent_report *r = &attempt->agent.report;
    struct run *run = attempt->run;
    struct err err = {0};
    const char *date;
    double usd = calculate_cost(attempt, &date);
    struct store_spending s = {
        .run = run->id,
        .task = task_of(attempt)->id,
        .engine = run_engine_name(run, attempt->task),
        .model = find_model(attempt),
        .attempt = task_run(attempt)->status.attempts,
        .time = clock_wall(),
        .tokens_in = r->tokens_in,
        .tokens_out = r->tokens_out,
        .cache_read = r->cache_read,
        .cache_made = r->cache_made,
        .usd = usd,
        .prices = date,
    };
    if (store_put_spending(run->journal.store, &s, &err))
        run_fail(run, &err);
}

static void record_usage(struct attempt *attempt)
{
    const struct agent_report *r = &attempt->agent.report;
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    node_put_int(&a, data, "tokens_in", r->tokens_in);
    node_put_int(&a, data, "tokens_out", r->tokens_out);
    if (r->cache_read || r->cache_made) {
        node_put_int(&a, data, "cache_read", r->cache_read);
        node_put_int(&a, data, "cache_made", r->cache_made);
    }
    const char *date;
    double usd = calculate_cost(attempt, &date);
    if (usd >= 0)
        node_put_real(&a, data, "usd", usd);
    node_put_string(&a, data, "prices", date);
    record(attempt->run, EV_TASK_USAGE, attempt->task, data);
    arena_done(&a);
}

/* The use of a task's budget, or of that of the run (-1). */
static const struct budget_use *find_use(const struct run *run, int64_t task)
{
    return task < 0 ? &run->engine->budgets.run : &run->engine->budgets.tasks[task];
}

static void record_budget(struct run *run, enum event_kind kind, int64_t task)
{
    const struct budget_use *u = find_use(run, task);
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    autobuf struct buf text = BUF_INIT;
    budget_use_describe(u, &text);
    node_put_string(&a, data, "of", task < 0 ? "run" : "task");
    node_put_string(&a, data, "text", text.s);
    node_put_int(&a, data, "tokens", budget_use_tokens(u));
    node_put_real(&a, data, "usd", budget_use_usd(u));
    record(run, kind, task, data);
    arena_done(&a);
}

static void set_overrun(struct attempt *attempt, enum overrun overrun)
{
    bool of_run = overrun == OVERRUN_RUN;
    autobuf struct buf text = BUF_INIT;
    budget_use_describe(find_use(attempt->run, of_run ? -1 : (int64_t)attempt->task), &text);
    attempt->agent.overrun = mem_printf("%s of %s budget", text.s, of_run ? "the run's" : "its");
}

/* Stops the running agents, whose work is saved. An agent that has reported its result goes on. */
static void stop_agents(struct run *run)
{
    for (size_t i = 0; i < run->pf->plan.task_count; i++) {
        struct attempt *attempt = run->tasks[i].attempt;
        if (attempt && attempt->tick && !attempt->stopped && !attempt->agent.report.finished)
            attempt_stop(attempt, STOP_BUDGET, GUARD_STOP);
    }
}

static void record_use(struct attempt *attempt)
{
    record_usage(attempt);
    store_usage(attempt);
}

static void carry_out_for(struct attempt *attempt, const struct action *a)
{
    if (a->kind == DO_RECORD_USAGE)
        record_use(attempt);
    else if (a->kind == DO_NOTE_OVERRUN)
        set_overrun(attempt, a->overrun);
    else if (a->kind == DO_STOP_AGENT)
        attempt_stop(attempt, STOP_BUDGET, GUARD_STOP);
}

void do_budget(struct run *run, const struct action *a, const struct engine_event *ev)
{
    (void)ev;
    if (a->kind == DO_WARN_BUDGET)
        record_budget(run, EV_BUDGET_WARNED, a->task);
    else if (a->kind == DO_REPORT_BUDGET)
        record_budget(run, EV_BUDGET_EXCEEDED, a->task);
    else if (a->kind == DO_STOP_FOR_RUN)
        stop_agents(run);
    else
        carry_out_for(run->tasks[a->task].attempt, a);
}

void budget_take(struct attempt *attempt, bool works)
{
    const struct agent_report *r = &attempt->agent.report;
    const char *date;
    const struct engine_event ev = {
        .kind = ENGINE_USED,
        .task = attempt->task,
        .usage = {.spent = {r->tokens_in, r->tokens_out, r->cache_read, r->cache_made,
                            calculate_cost(attempt, &date)},
                  .works = works,
                  .finished = r->finished,
                  .stopped = attempt->stopped,
                  .overran = attempt->agent.overrun},
    };
    (void)run_report(attempt->run, &ev);
}

void budget_recall(struct run *run)
{
    run_report_kind(run, ENGINE_USAGE_RECALLED);
}

/* Tasks that were stopped for this budget stay stopped. Tasks that had not started may start. */
void budget_raise(struct run *run, int64_t task, const struct budget *to)
{
    const struct budget_use *u = find_use(run, task);
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    const struct engine_event ev = {.kind = ENGINE_BUDGET_RAISED, .task = task, .budget = *to};
    (void)run_report(run, &ev);
    node_put_string(&a, data, "of", task < 0 ? "run" : "task");
    if (u->budget.usd >= 0)
        node_put_real(&a, data, "budget_usd", u->budget.usd);
    if (u->budget.tokens != PLAN_UNSET)
        node_put_int(&a, data, "budget_tokens", u->budget.tokens);
    record(run, EV_BUDGET_RAISED, task, data);
    arena_done(&a);
    run_wake(run);
}

bool budget_is_spent(const struct run *run, uint32_t task)
{
    return budgets_are_spent(&run->engine->budgets, task);
}

double budget_left(const struct run *run, uint32_t task)
{
    return budgets_left(&run->engine->budgets, task);
}

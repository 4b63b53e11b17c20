#include "run/limits/budget.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "run/limits/lane.h"
#include "sys/clock.h"
#include "sys/guard/guard.h"

/* In percent. */
enum { WARN_PERCENT = 80 };

/* The model that the agent reported, or else that of the plan; or NULL. */
static const char *find_model(const struct attempt *attempt)
{
    const struct task *t = task_of(attempt);
    if (attempt->report.model.len)
        return attempt->report.model.s;
    return lane_uses_fallback(attempt->run, attempt->task) ? t->fallback.model : t->model;
}

/* The cost of an attempt so far: as its engine reports, or else by the price tables; *ret_date
 * is then the date of the table that we used. Negative: unknown. */
static double calculate_cost(const struct attempt *attempt, const char **ret_date)
{
    const struct agent_report *r = &attempt->report;
    struct tokens used = {r->tokens_in, r->tokens_out, r->cache_read, r->cache_made};
    bool any = used.in || used.out || used.cache_read || used.cache_made;
    *ret_date = NULL;
    if (r->usd >= 0 || !any)
        return r->usd;
    return config_reckon(&attempt->run->config.config, find_model(attempt), &used, ret_date);
}

/* Adds new usage to the totals: reports count within an attempt, the task and the run count over
 * all attempts. Tokens written to a cache count, because the model read them. Returns false if
 * nothing is new. */
static bool add_usage(struct attempt *attempt)
{
    const struct agent_report *r = &attempt->report;
    struct task_status *s = &task_run(attempt)->status;
    const char *date;
    double usd = calculate_cost(attempt, &date);
    struct spent now = {r->tokens_in, r->tokens_out, r->cache_read, r->cache_made,
                        usd < 0 ? 0 : usd};
    struct spent before = attempt->counted_usage;
    int64_t in = now.in + now.cache_made - before.in - before.cache_made,
            out = now.out - before.out;
    bool same = now.usd <= before.usd && now.usd >= before.usd;
    if (!in && !out && now.cache_read == before.cache_read && same)
        return false;
    s->tokens_in += in;
    s->tokens_out += out;
    if (usd >= 0)
        s->usd = (s->usd < 0 ? 0 : s->usd) + now.usd - before.usd;
    attempt->run->tokens += in + out;
    attempt->run->usd += now.usd - before.usd;
    attempt->counted_usage = now;
    return true;
}

static void store_usage(struct attempt *attempt)
{
    const struct agent_report *r = &attempt->report;
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
    if (store_put_spending(run->store, &s, &err))
        run_fail(run, &err);
}

static void record_usage(struct attempt *attempt)
{
    const struct agent_report *r = &attempt->report;
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

/* The usage of a budget. */
struct usage {
    const struct budget *budget;
    int64_t tokens;
    double usd;
    int64_t task; /* -1: the run */
};

static struct usage get_task_use(const struct run *run, uint32_t task)
{
    const struct task_status *s = &run->tasks[task].status;
    return (struct usage){.budget = &run->tasks[task].budget,
                          .tokens = s->tokens_in + s->tokens_out,
                          .usd = s->usd < 0 ? 0 : s->usd,
                          .task = task};
}

static struct usage get_run_use(const struct run *run)
{
    return (struct usage){
        .budget = &run->budget, .tokens = run->tokens, .usd = run->usd, .task = -1};
}

static bool reaches_percent(const struct usage *u, int percent)
{
    double share = percent / 100.0;
    return (u->budget->tokens != PLAN_UNSET &&
            (double)u->tokens >= (double)u->budget->tokens * share) ||
           (u->budget->usd >= 0 && u->usd >= u->budget->usd * share);
}

/* "12k tokens of 10k" or "$3.10 of $3.00". */
static void describe_use(const struct usage *u, struct buf *out)
{
    bool money = u->budget->usd >= 0 && u->usd >= u->budget->usd * WARN_PERCENT / 100.0;
    if (money) {
        buf_addf(out, "$%.2f of $%.2f", u->usd, u->budget->usd);
        return;
    }
    text_format_count(out, u->tokens);
    buf_addstr(out, " tokens of ");
    text_format_count(out, u->budget->tokens);
}

static void record_budget(struct run *run, enum event_kind kind, const struct usage *u)
{
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    autobuf struct buf text = BUF_INIT;
    describe_use(u, &text);
    node_put_string(&a, data, "of", u->task < 0 ? "run" : "task");
    node_put_string(&a, data, "text", text.s);
    node_put_int(&a, data, "tokens", u->tokens);
    node_put_real(&a, data, "usd", u->usd);
    record(run, kind, u->task, data);
    arena_done(&a);
}

/* Warns once if the budget is nearly used up; returns true if it is used up. */
static bool check_budget(struct run *run, const struct usage *u, bool *warned)
{
    if (!*warned && reaches_percent(u, WARN_PERCENT)) {
        *warned = true;
        record_budget(run, EV_BUDGET_WARNED, u);
    }
    return reaches_percent(u, 100);
}

/* False for an agent that has reported its result: stopping it saves nothing, and many agents
 * report their usage only with the result. */
static bool may_stop(const struct attempt *attempt)
{
    return !attempt->stopped && !attempt->report.finished;
}

static bool exceeds_budget(const struct usage *u)
{
    return (u->budget->tokens != PLAN_UNSET && u->tokens > u->budget->tokens) ||
           (u->budget->usd >= 0 && u->usd > u->budget->usd);
}

/* Notes that an agent went over a budget but ended before it reported its usage. */
static void note_overrun(struct attempt *attempt, const struct usage *u)
{
    autobuf struct buf text = BUF_INIT;
    if (attempt->stopped || attempt->overrun || !exceeds_budget(u))
        return;
    describe_use(u, &text);
    attempt->overrun = mem_printf("%s of %s budget", text.s, u->task < 0 ? "the run's" : "its");
    if (u->task >= 0)
        record_budget(attempt->run, EV_BUDGET_EXCEEDED, u);
}

static void check_task_budget(struct attempt *attempt, bool works)
{
    struct usage u = get_task_use(attempt->run, attempt->task);
    if (!check_budget(attempt->run, &u, &task_run(attempt)->budget_warned))
        return;
    if (!works || !may_stop(attempt)) {
        note_overrun(attempt, &u);
        return;
    }
    record_budget(attempt->run, EV_BUDGET_EXCEEDED, &u);
    attempt_stop(attempt, STOP_BUDGET, GUARD_STOP);
}

/* Starts no more tasks once the run's budget is used up, and stops running agents, whose work is
 * saved. */
static void check_run_budget(struct run *run)
{
    struct usage u = get_run_use(run);
    if (run->budget_spent || !check_budget(run, &u, &run->budget_warned))
        return;
    run->budget_spent = true;
    record_budget(run, EV_BUDGET_EXCEEDED, &u);
    run_wake(run);
    for (size_t i = 0; i < run->pf->plan.task_count; i++) {
        struct attempt *attempt = run->tasks[i].attempt;
        if (attempt && attempt->tick && may_stop(attempt))
            attempt_stop(attempt, STOP_BUDGET, GUARD_STOP);
    }
}

static void raise_budget(struct budget *b, bool *warned, const struct budget *to)
{
    b->usd = to->usd >= 0 ? to->usd : b->usd;
    b->tokens = to->tokens >= 0 ? to->tokens : b->tokens;
    *warned = false;
}

/* Tasks that were stopped for this budget stay stopped. Tasks that had not started may start. */
void budget_raise(struct run *run, int64_t task, const struct budget *to)
{
    if (task >= 0) {
        raise_budget(&run->tasks[task].budget, &run->tasks[task].budget_warned, to);
    } else {
        raise_budget(&run->budget, &run->budget_warned, to);
        struct usage u = get_run_use(run);
        run->budget_spent = reaches_percent(&u, 100);
    }
    struct usage u = task >= 0 ? get_task_use(run, (uint32_t)task) : get_run_use(run);
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    node_put_string(&a, data, "of", task < 0 ? "run" : "task");
    if (u.budget->usd >= 0)
        node_put_real(&a, data, "budget_usd", u.budget->usd);
    if (u.budget->tokens != PLAN_UNSET)
        node_put_int(&a, data, "budget_tokens", u.budget->tokens);
    record(run, EV_BUDGET_RAISED, task, data);
    arena_done(&a);
    run_wake(run);
}

void budget_recall(struct run *run)
{
    for (size_t i = 0; i < run->pf->plan.task_count; i++) {
        const struct task_status *s = &run->tasks[i].status;
        run->tokens += s->tokens_in + s->tokens_out;
        run->usd += s->usd < 0 ? 0 : s->usd;
    }
    check_run_budget(run);
}

void budget_take(struct attempt *attempt, bool works)
{
    struct usage all = get_run_use(attempt->run);
    bool was_spent = reaches_percent(&all, 100);
    if (!add_usage(attempt))
        return;
    all = get_run_use(attempt->run);
    record_usage(attempt);
    store_usage(attempt);
    check_task_budget(attempt, works);
    if (!was_spent && (!works || !may_stop(attempt)))
        note_overrun(attempt, &all);
    check_run_budget(attempt->run);
}

bool budget_is_spent(const struct run *run, uint32_t task)
{
    struct usage own = get_task_use(run, task), all = get_run_use(run);
    return reaches_percent(&own, 100) || reaches_percent(&all, 100);
}

double budget_left(const struct run *run, uint32_t task)
{
    struct usage u = get_task_use(run, task);
    return u.budget->usd < 0 ? -1 : u.usd < u.budget->usd ? u.budget->usd - u.usd : 0;
}

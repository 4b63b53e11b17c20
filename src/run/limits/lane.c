#include "run/limits/lane.h"

#include "agent/agent.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/timestamp.h"
#include "plan/words.h"
#include "run/report.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "run/state/status.h"
#include "sys/clock.h"

#include <stdlib.h>
#include <string.h>

static const char *get_variable(const struct task *t, const char *name)
{
    for (size_t i = t->env.n; i-- > 0;) {
        const struct env_var *var = &t->env.v[i];
        if (strcmp(var->name, name) == 0)
            return var->from ? getenv(var->from) : var->value;
    }
    return getenv(name);
}

static char *make_key(const struct task *t, enum agent_engine engine, const char *model)
{
    autobuf struct buf key = BUF_INIT;
    buf_addf(&key, "%s\n%s", engine_words[engine], model ? model : "");
    for (const char *const *name = agent_account(engine); name && *name; name++) {
        const char *value = get_variable(t, *name);
        if (value)
            buf_addf(&key, "\n%s=%s", *name, value);
    }
    return buf_steal(&key);
}

static int32_t find_lane(struct run *run, struct map *by_key, char *key, enum agent_engine engine)
{
    const struct lane_account *existing = map_get(by_key, key, strlen(key));
    if (existing) {
        free(key);
        return existing->lane;
    }
    struct lane_account *account = mem_alloc(sizeof(*account));
    *account = (struct lane_account){
        .run = run, .lane = (int32_t)run->lane_accounts.n, .engine = engine, .key = key};
    vec_push(&run->lane_accounts, account);
    (void)map_put(by_key, key, strlen(key), account);
    return account->lane;
}

/* Finds the fallback lane; -1 if the fallback equals the usual engine and model. */
static int32_t find_fallback_lane(struct run *run, struct map *by_key, const struct task *t)
{
    enum agent_engine engine = run_fallback_engine(run, t->index);
    const char *model = t->fallback.model;
    if ((!t->fallback.engine && !model) || (engine == run_engine(run, t->index) &&
                                            (!model || (t->model && strcmp(model, t->model) == 0))))
        return -1;
    return find_lane(run, by_key, make_key(t, engine, model ? model : ""), engine);
}

void lane_assign_all(struct run *run)
{
    automap struct map by_key = {0};
    const struct plan *plan = &run->pf->plan;
    struct task_lanes *lanes = mem_array(plan->task_count, sizeof(*lanes));
    for (uint32_t i = 0; i < plan->task_count; i++) {
        const struct task *t = &plan->tasks[i];
        enum agent_engine engine = run_engine(run, i);
        lanes[i].own = find_lane(run, &by_key, make_key(t, engine, NULL), engine);
        lanes[i].fallback = find_fallback_lane(run, &by_key, t);
        if (lanes[i].fallback == lanes[i].own)
            lanes[i].fallback = -1;
    }
    run_engine_set_lanes(run, lanes, run->lane_accounts.n);
    free(lanes);
}

void lane_free_all(struct run *run)
{
    for (size_t i = 0; i < run->lane_accounts.n; i++) {
        watch_free(run->lane_accounts.v[i]->timer);
        free(run->lane_accounts.v[i]->key);
        free(run->lane_accounts.v[i]);
    }
    vec_done(&run->lane_accounts);
}

static struct node *make_event_data(const struct lane_account *a, struct arena *arena)
{
    struct node *data = node_new_map(arena);
    node_put_string(arena, data, "engine", engine_words[a->engine]);
    node_put_int(arena, data, "lane", a->lane);
    return data;
}

static void record_closed(const struct lane_account *account, int64_t reset, const char *reason)
{
    struct run *run = account->run;
    struct arena a = {0};
    autobuf struct buf when = BUF_INIT;
    struct node *data = make_event_data(account, &a);
    timestamp_format(&when, reset);
    node_put_string(&a, data, "reset", reset ? when.s : NULL);
    node_put_int(&a, data, "delay_ms", run->engine->lanes.list[account->lane].until - clock_wall());
    node_put_string(&a, data, "reason", reason);
    record(run, EV_LIMIT_OPENED, -1, data);
    arena_done(&a);
}

static void record_open(const struct lane_account *account)
{
    struct arena a = {0};
    record(account->run, EV_LIMIT_CLOSED, -1, make_event_data(account, &a));
    arena_done(&a);
}

static void on_timer(void *ctx);

static void set_timer(struct lane_account *a, int64_t ms)
{
    if (!a->timer)
        a->timer = loop_timer(a->run->loop, ms, on_timer, a);
    else
        watch_again(a->timer, ms);
}

static struct engine_event describe_event(enum engine_event_kind kind, int64_t task)
{
    return (struct engine_event){
        .kind = kind, .task = task, .now = clock_wall(), .random = retry_random()};
}

static void on_timer(void *ctx)
{
    const struct lane_account *a = ctx;
    struct engine_event ev = describe_event(ENGINE_LANE_DUE, -1);
    ev.lane = a->lane;
    (void)run_report(a->run, &ev);
}

/* The reason says why the lane is closed. */
static void carry_out(struct run *run, const struct action *a, const char *reason)
{
    struct lane_account *account = run->lane_accounts.v[a->lane];
    if (a->kind == DO_WAKE_LANE)
        set_timer(account, a->ms);
    else if (a->kind == DO_REPORT_OPEN)
        record_open(account);
    else if (a->kind == DO_REPORT_CLOSED)
        record_closed(account, a->reset, reason);
}

void do_lane(struct run *run, const struct action *a, const struct engine_event *ev)
{
    (void)ev;
    carry_out(run, a, NULL);
}

struct failure_outcome lane_report(struct run *run, const struct engine_event *ev,
                                   const char *reason)
{
    struct failure_outcome outcome = {0};
    struct actions actions = {0};
    run_answer(run, ev, &actions);
    for (size_t i = 0; i < actions.list.n; i++) {
        const struct action *a = &actions.list.v[i];
        if (a->kind == DO_END_ATTEMPT)
            outcome = a->outcome;
        else
            carry_out(run, a, reason);
    }
    vec_done(&actions.list);
    return outcome;
}

void lane_close(struct run *run, uint32_t task, int64_t reset, const char *reason)
{
    struct engine_event ev = describe_event(ENGINE_LIMIT_SEEN, task);
    ev.reset = reset;
    (void)lane_report(run, &ev, reason);
}

void lane_recall(struct run *run, uint32_t task, int64_t until, const char *reason)
{
    struct engine_event ev = describe_event(ENGINE_LIMIT_RECALLED, task);
    ev.reset = until;
    (void)lane_report(run, &ev, reason);
}

void lane_prove(struct run *run, uint32_t task)
{
    const struct engine_event ev = describe_event(ENGINE_AGENT_SPOKE, task);
    (void)run_report(run, &ev);
}

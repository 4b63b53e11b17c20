#include "run/limits/lane.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/timestamp.h"
#include "plan/words.h"
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

enum agent_engine lane_fallback_engine(const struct run *run, uint32_t task)
{
    const struct task *t = &run->pf->plan.tasks[task];
    enum agent_engine own = t->engine ? t->engine : ENGINE_CLAUDE;
    return run->opts.engine ? run->opts.engine : t->fallback.engine ? t->fallback.engine : own;
}

/* Finds the fallback lane; -1 if the fallback equals the usual engine and model. */
static int32_t find_fallback_lane(struct run *run, struct map *by_key, const struct task *t)
{
    enum agent_engine engine = lane_fallback_engine(run, t->index);
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
    for (uint32_t i = 0; i < plan->task_count; i++) {
        const struct task *t = &plan->tasks[i];
        struct task_run *tr = &run->tasks[i];
        enum agent_engine engine = run_engine(run, i);
        tr->life->lane = find_lane(run, &by_key, make_key(t, engine, NULL), engine);
        tr->life->fallback_lane = find_fallback_lane(run, &by_key, t);
        if (tr->life->fallback_lane == tr->life->lane)
            tr->life->fallback_lane = -1;
    }
    lanes_init(&run->engine.lanes, &run->engine.sched, run->lane_accounts.n);
    for (uint32_t i = 0; i < plan->task_count; i++)
        lanes_assign(&run->engine.lanes, i, run->engine.tasks[i].lane,
                     run->engine.tasks[i].fallback_lane);
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

int32_t lane_index(const struct run *run, uint32_t task)
{
    return run->engine.lanes.used[task];
}

/* The preflight asks before there are lanes. */
bool lane_uses_fallback(const struct run *run, uint32_t task)
{
    return run->engine.lanes.count && lane_index(run, task) != run->engine.tasks[task].lane;
}

static struct lane_account *find_account(const struct run *run, uint32_t task)
{
    return run->lane_accounts.v[lane_index(run, task)];
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
    node_put_int(&a, data, "delay_ms", run->engine.lanes.list[account->lane].until - clock_wall());
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

static void set_timer(struct lane_account *a)
{
    int64_t ms = lanes_wake_after(&a->run->engine.lanes, a->lane, clock_wall(), retry_random());
    if (ms >= 0 && !a->timer)
        a->timer = loop_timer(a->run->loop, ms, on_timer, a);
    else if (ms >= 0)
        watch_again(a->timer, ms);
}

static void on_timer(void *ctx)
{
    struct lane_account *a = ctx;
    lanes_wake(&a->run->engine.lanes, a->lane, clock_wall());
    set_timer(a);
    run_wake(a->run);
}

void lane_tell_closed(struct run *run, uint32_t task, int64_t reset, const char *reason)
{
    struct lane_account *account = find_account(run, task);
    set_timer(account);
    record_closed(account, reset, reason);
}

void lane_close(struct run *run, uint32_t task, int64_t reset, const char *reason)
{
    int64_t now = clock_wall();
    if (lanes_meet_limit(&run->engine.lanes, task, reset, now, retry_random()))
        lane_tell_closed(run, task, reset > now ? reset : 0, reason);
}

void lane_recall(struct run *run, uint32_t task, int64_t until, const char *reason)
{
    if (!run->opts.no_wait && lanes_recall(&run->engine.lanes, task, until, clock_wall()))
        lane_tell_closed(run, task, until, reason);
}

void lane_prove(struct run *run, uint32_t task)
{
    struct lane_account *account = find_account(run, task);
    if (!lanes_prove(&run->engine.lanes, task))
        return;
    record_open(account);
    set_timer(account);
}

void lane_leave(struct run *run, uint32_t task)
{
    lanes_leave(&run->engine.lanes, task);
}

#include "run/limits/lane.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/timestamp.h"
#include "plan/words.h"
#include "sys/clock.h"

#include <stdlib.h>
#include <string.h>

enum {
    RESET_MARGIN_MS =
        1000, /* time after a reset, roughly: clocks differ, and others wait for the same reset */
    FOLLOW_MS = 500,     /* time between two tasks that follow, roughly */
    CHECK_MS = 30 * 1000 /* a sleeping machine stops our timers but not the time */
};

static const char *get_variable(const struct task *t, const char *name)
{
    for (size_t i = t->env.n; i-- > 0;) {
        const struct env_var *var = &t->env.v[i];
        if (strcmp(var->name, name) == 0)
            return var->from ? getenv(var->from) : var->value;
    }
    return getenv(name);
}

static char *make_key(const struct task *t, enum engine engine, const char *model)
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

static int32_t find_lane(struct run *run, struct map *by_key, char *key, enum engine engine)
{
    const struct lane *existing = map_get(by_key, key, strlen(key));
    if (existing) {
        free(key);
        return existing->index;
    }
    struct lane *l = mem_alloc(sizeof(*l));
    *l = (struct lane){
        .run = run, .index = (int32_t)run->lanes.n, .engine = engine, .key = key, .probe = -1};
    vec_push(&run->lanes, l);
    (void)map_put(by_key, key, strlen(key), l);
    return l->index;
}

enum engine lane_fallback_engine(const struct run *run, uint32_t task)
{
    const struct task *t = &run->pf->plan.tasks[task];
    enum engine own = t->engine ? t->engine : ENGINE_CLAUDE;
    return run->opts.engine ? run->opts.engine : t->fallback.engine ? t->fallback.engine : own;
}

/* Finds the fallback lane; -1 if the fallback equals the usual engine and model. */
static int32_t find_fallback_lane(struct run *run, struct map *by_key, const struct task *t)
{
    enum engine engine = lane_fallback_engine(run, t->index);
    const char *model = t->fallback.model;
    if ((!t->fallback.engine && !model) || (engine == run_engine(run, t->index) &&
                                            (!model || (t->model && strcmp(model, t->model) == 0))))
        return -1;
    return find_lane(run, by_key, make_key(t, engine, model ? model : ""), engine);
}

void lanes_init(struct run *run)
{
    automap struct map by_key = {0};
    const struct plan *plan = &run->pf->plan;
    for (uint32_t i = 0; i < plan->task_count; i++) {
        const struct task *t = &plan->tasks[i];
        enum engine engine = run_engine(run, i);
        run->tasks[i].lane = find_lane(run, &by_key, make_key(t, engine, NULL), engine);
        run->tasks[i].fallback_lane = find_fallback_lane(run, &by_key, t);
    }
    sched_make_lanes(&run->sched, run->lanes.n);
    for (uint32_t i = 0; i < plan->task_count; i++) {
        struct task_run *tr = &run->tasks[i];
        if (tr->fallback_lane == tr->lane)
            tr->fallback_lane = -1;
        sched_set_lanes(&run->sched, i, tr->lane, tr->fallback_lane);
    }
}

void lanes_done(struct run *run)
{
    for (size_t i = 0; i < run->lanes.n; i++) {
        watch_free(run->lanes.v[i]->timer);
        free(run->lanes.v[i]->key);
        free(run->lanes.v[i]);
    }
    vec_done(&run->lanes);
}

/* The lane that the task uses now. */
static struct lane *current_lane(struct run *run, uint32_t task)
{
    const struct task_run *tr = &run->tasks[task];
    return run->lanes.v[tr->uses_fallback ? tr->fallback_lane : tr->lane];
}

int32_t lane_index(struct run *run, uint32_t task)
{
    return current_lane(run, task)->index;
}

static struct node *make_event_data(const struct lane *l, struct arena *a)
{
    struct node *data = node_new_map(a);
    node_put_string(a, data, "engine", engine_words[l->engine]);
    node_put_int(a, data, "lane", l->index);
    return data;
}

static void record_closed(struct lane *l, int64_t reset, const char *reason)
{
    struct arena a = {0};
    autobuf struct buf when = BUF_INIT;
    struct node *data = make_event_data(l, &a);
    timestamp_format(&when, reset);
    node_put_string(&a, data, "reset", reset ? when.s : NULL);
    node_put_int(&a, data, "delay_ms", l->until - clock_wall());
    node_put_string(&a, data, "reason", reason);
    record(l->run, EV_LIMIT_OPENED, -1, data);
    arena_done(&a);
}

static void record_open(struct lane *l)
{
    struct arena a = {0};
    record(l->run, EV_LIMIT_CLOSED, -1, make_event_data(l, &a));
    arena_done(&a);
}

/* Lets one more waiting task start. If none waits, opens the lane. */
static void release_next(struct lane *l)
{
    bool more = sched_is_waited_for(&l->run->sched, l->index);
    sched_open(&l->run->sched, l->index, more);
    l->state = more ? LANE_FOLLOWED : LANE_OPEN;
    if (more)
        watch_again(l->timer, retry_jitter(FOLLOW_MS));
}

static void release_probe(struct lane *l)
{
    l->state = LANE_TRIED;
    l->probe = -1;
    sched_open(&l->run->sched, l->index, true);
}

static void on_timer(void *ctx)
{
    struct lane *l = ctx;
    int64_t left = l->until - clock_wall();
    if (l->state == LANE_FOLLOWED)
        release_next(l);
    else if (l->state == LANE_CLOSED && left > 0)
        watch_again(l->timer, left < CHECK_MS ? left : CHECK_MS);
    else if (l->state == LANE_CLOSED)
        release_probe(l);
    run_wake(l->run);
}

static void set_timer(struct lane *l, int64_t ms)
{
    if (!l->timer)
        l->timer = loop_timer(l->run->loop, ms, on_timer, l);
    else
        watch_again(l->timer, ms);
}

static void close_until(struct lane *l, int64_t until)
{
    l->state = LANE_CLOSED;
    l->until = until;
    l->probe = -1;
    sched_close(&l->run->sched, l->index);
    set_timer(l, 0);
}

/* If several attempts meet a limit together, the first one sets the pause; but we believe a
 * later reset. */
int64_t lane_close(struct run *run, uint32_t task, int64_t reset, const char *reason)
{
    struct lane *l = current_lane(run, task);
    int64_t now = clock_wall();
    bool known = reset > now, closed = l->state == LANE_CLOSED && l->until > now;
    if (closed && (!known || reset < l->until))
        return l->until - now;
    close_until(l, known ? reset + retry_jitter(RESET_MARGIN_MS)
                         : now + retry_pause(FAILURE_LIMIT, l->pauses++));
    record_closed(l, known ? reset : 0, reason);
    return l->until - now;
}

void lane_recall(struct run *run, uint32_t task, int64_t until, const char *reason)
{
    struct lane *l = current_lane(run, task);
    if (run->opts.no_wait || until <= clock_wall() || until <= l->until)
        return;
    close_until(l, until);
    record_closed(l, until, reason);
}

void lane_enter(struct run *run, uint32_t task)
{
    struct task_run *tr = &run->tasks[task];
    tr->uses_fallback = tr->fallback_lane >= 0 && run->sched.via[task] == tr->fallback_lane;
    struct lane *l = current_lane(run, task);
    if (l->state == LANE_TRIED && l->probe < 0)
        l->probe = task;
}

void lane_prove(struct run *run, uint32_t task)
{
    struct lane *l = current_lane(run, task);
    if (l->state != LANE_TRIED || l->probe != task)
        return;
    l->state = LANE_FOLLOWED;
    l->probe = -1;
    l->pauses = 0;
    record_open(l);
    set_timer(l, retry_jitter(FOLLOW_MS));
}

void lane_leave(struct run *run, uint32_t task)
{
    struct lane *l = current_lane(run, task);
    if (l->state == LANE_TRIED && l->probe == task)
        release_probe(l);
}

bool lane_fall_back(struct run *run, uint32_t task)
{
    struct task_run *tr = &run->tasks[task];
    if (tr->fallback_lane < 0 || tr->uses_fallback ||
        run->lanes.v[tr->fallback_lane]->state == LANE_CLOSED)
        return false;
    sched_set_lanes(&run->sched, task, tr->fallback_lane, -1);
    return true;
}

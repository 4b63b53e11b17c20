/*
 * Runs, their tasks, events and costs, read from the store and the run's folder.
 */
#include "view/serve/serve_private.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/node/node_build.h"
#include "doc/doc.h"
#include "git/state_paths.h"
#include "sys/clock.h"
#include "view/idle.h"

#include <string.h>

enum { RUNS_MAX = 200, EVENTS_MAX = 5000, PLAN_MAX = 64 << 20 };

static void answer_error(struct serve_call *c, const struct err *err)
{
    serve_answer_error(c->http, 500, err->msg);
}

struct run_list {
    struct arena arena;
    VEC(struct store_run) runs;
    size_t max;
};

static bool collect_run(void *ctx, const struct store_run *run)
{
    struct run_list *l = ctx;
    vec_push(&l->runs, store_keep_run(run, &l->arena));
    return l->runs.n < l->max;
}

/* The totals of a run's tasks. */
struct task_totals {
    struct arena *arena;
    struct node *states; /* number of tasks per state */
    int64_t tokens_in, tokens_out, tasks, unpriced;
    double usd;
};

static bool add_task(void *ctx, const struct store_task *t)
{
    struct task_totals *totals = ctx;
    struct node *n = node_get(totals->states, t->state);
    if (n)
        n->integer++;
    else
        node_put_int(totals->arena, totals->states, t->state, 1);
    totals->tasks++;
    totals->tokens_in += t->tokens_in;
    totals->tokens_out += t->tokens_out;
    totals->usd += t->usd >= 0 ? t->usd : 0;
    totals->unpriced += t->usd < 0 && t->attempts > 0;
    return true;
}

/* The page subtracts "idle_ms" from the time between the start and the end of a run. */
static int add_idle(struct serve_call *c, const struct store_run *run, struct node *map,
                    struct err *err)
{
    struct idle idle = {0};
    int64_t end = run->finished ? run->finished : clock_wall();
    int rc = idle_load(&idle, c->serve->store, run->id, err);
    if (rc == 0 && run->started && end > run->started)
        node_put_int(&c->arena, map, "idle_ms",
                     end - run->started - idle_without(&idle, run->started, end));
    idle_done(&idle);
    return rc;
}

static int add_run(struct serve_call *c, const struct store_run *run, struct node *list,
                   struct err *err)
{
    struct arena *a = &c->arena;
    struct node *map = serve_encode_run(run, a);
    struct task_totals totals = {.arena = a, .states = node_put_map(a, map, "states")};
    if (store_each_task(c->serve->store, run->id, add_task, &totals, err) ||
        add_idle(c, run, map, err))
        return -1;
    node_put_int(a, map, "tasks", totals.tasks);
    node_put_int(a, map, "tokens_in", totals.tokens_in);
    node_put_int(a, map, "tokens_out", totals.tokens_out);
    node_put_real(a, map, "usd", totals.usd);
    node_put_int(a, map, "unpriced", totals.unpriced);
    node_append(list, map);
    return 0;
}

void serve_runs(struct serve_call *c)
{
    int64_t max;
    struct err err = {0};
    struct run_list l = {0};
    if (!http_query_int(c->head, "max", 50, &max) || !max || max > RUNS_MAX) {
        serve_answer_error(c->http, 400, "max must be a number up to 200");
        return;
    }
    l.max = (size_t)max;
    struct node *root = node_new_map(&c->arena), *list = node_put_list(&c->arena, root, "runs");
    int rc = store_each_run(c->serve->store, collect_run, &l, &err);
    for (size_t i = 0; rc == 0 && i < l.runs.n; i++)
        rc = add_run(c, &l.runs.v[i], list, &err);
    if (rc)
        answer_error(c, &err);
    else
        serve_answer_node(c->http, root);
    vec_done(&l.runs);
    arena_done(&l.arena);
}

/* The first request of the page. */
void serve_start(struct serve_call *c)
{
    struct err err = {0};
    struct store_run newest;
    struct node *root = node_new_map(&c->arena);
    if (store_find_run(c->serve->store, NULL, &c->arena, &newest, &err)) {
        answer_error(c, &err);
    } else {
        const char *run = c->serve->opts.run;
        node_put_string(&c->arena, root, "run", run ? run : newest.id);
        node_put_string(&c->arena, root, "newest", newest.id);
        node_put_bool(&c->arena, root, "read_only", c->serve->opts.read_only);
        node_put_string(&c->arena, root, "version", ANABRANCH_VERSION);
        serve_answer_node(c->http, root);
    }
}

struct tasks {
    struct arena *arena;
    struct node *list;
};

static bool append_task(void *ctx, const struct store_task *task)
{
    struct tasks *t = ctx;
    node_append(t->list, serve_encode_task(task, t->arena));
    return true;
}

/* The last event of each kind that tells more than the rows, per task and for the run; and every
 * "run.resumed". */
struct recent_event {
    char *json;
};

struct recent {
    struct arena arena; /* holds the keys and the entries, but not their JSON */
    struct map by_key;
    VEC(struct recent_event *) list;
    int64_t seq;
};

static void recent_done(struct recent *r)
{
    for (size_t i = 0; i < r->list.n; i++)
        free(r->list.v[i]->json);
    vec_done(&r->list);
    map_done(&r->by_key);
    arena_done(&r->arena);
}

static bool has_more_than_row(const char *name)
{
    static const char *const names[] = {
        "task.action",    "task.parked", "task.retried", "task.failed", "task.waiting",
        "task.continued", "run.started", "run.paused",   "run.resumed", "run.workers"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

static bool keep_recent_event(void *ctx, const struct store_event *ev)
{
    struct recent *r = ctx;
    autobuf struct buf json = BUF_INIT;
    r->seq = ev->seq;
    if (!has_more_than_row(ev->name))
        return true;
    serve_add_event(ev, &json);
    bool each = strcmp(ev->name, "run.resumed") == 0;
    char *key = arena_printf(&r->arena, "%s %s %lld", ev->name, ev->task ? ev->task : "",
                             each ? (long long)ev->seq : 0);
    struct recent_event *last = map_get(&r->by_key, key, strlen(key));
    if (!last) {
        last = arena_alloc(&r->arena, sizeof(*last));
        vec_push(&r->list, last);
        (void)map_put(&r->by_key, key, strlen(key), last);
    }
    free(last->json);
    last->json = buf_steal(&json);
    return true;
}

/* {run, tasks, recent, seq, now} */
static void answer_run(struct serve_call *c, const struct node *tasks, const struct recent *recent)
{
    autobuf struct buf json = BUF_INIT;
    buf_addf(&json, "{\"now\":%lld,\"seq\":%lld,\"run\":", (long long)clock_wall(),
             (long long)recent->seq);
    doc_write_line(&json, serve_encode_run(&c->row, &c->arena));
    buf_addstr(&json, ",\"tasks\":");
    doc_write_line(&json, tasks);
    buf_addstr(&json, ",\"recent\":[");
    for (size_t i = 0; i < recent->list.n; i++)
        buf_addf(&json, "%s%s", i ? "," : "", recent->list.v[i]->json);
    buf_addstr(&json, "]}");
    serve_answer_json(c->http, 200, &json);
}

/* Read the events before the rows: the rows then contain at least what the events say. The page
 * receives later events again. */
void serve_run(struct serve_call *c)
{
    struct err err = {0};
    struct tasks tasks = {&c->arena, node_new_list(&c->arena)};
    own_cleanup(recent_done) struct recent recent = {0};
    if (store_each_event(c->serve->store, c->run, 0, keep_recent_event, &recent, &err) ||
        store_each_task(c->serve->store, c->run, append_task, &tasks, &err))
        answer_error(c, &err);
    else
        answer_run(c, tasks.list, &recent);
}

static void copy_list(struct arena *a, struct node *map, const char *key, const struct node *from)
{
    const struct node *list = node_get(from, key);
    struct node *copy = node_put_list(a, map, key);
    if (!list || list->kind != NODE_LIST)
        return;
    node_each (item, list) {
        if (item->kind == NODE_STRING)
            node_add_string(a, copy, item->text);
    }
}

/* Leaves out prompts and variables: they may contain secrets. */
static void add_plan_task(struct arena *a, struct node *list, const struct node *task)
{
    struct node *map = node_add_map(a, list);
    node_put_string(a, map, "id", node_get_string(task, "id", NULL));
    node_put_string(a, map, "group", node_get_string(task, "group", NULL));
    node_put_string(a, map, "model", node_get_string(task, "model", NULL));
    node_put_bool(a, map, "read_only", node_get_bool(task, "read_only"));
    copy_list(a, map, "depends_on", task);
    copy_list(a, map, "owns", task);
}

void serve_plan(struct serve_call *c)
{
    autofree char *path = run_file_path(c->serve->opts.state_dir, c->run, "plan.json");
    struct doc_options opts = {.syntax = DOC_JSON, .max_bytes = PLAN_MAX};
    autoproblems struct problems ps = {0};
    autodoc struct doc doc;
    struct node *root = node_new_map(&c->arena), *list = node_put_list(&c->arena, root, "tasks");
    int rc = doc_load(&doc, path, &opts, &ps);
    const struct node *tasks =
        rc == 0 && doc.root->kind == NODE_MAP ? node_get(doc.root, "tasks") : NULL;
    if (tasks && tasks->kind == NODE_LIST) {
        node_each (task, tasks)
            add_plan_task(&c->arena, list, task);
    }
    node_put_bool(&c->arena, root, "known", tasks != NULL);
    serve_answer_node(c->http, root);
}

struct events {
    const char *names, *task; /* filters; NULL: all */
    size_t n, max;
    bool more;
    int64_t last;
    struct buf json;
};

/* True if the word is in the comma-separated list. */
static bool is_in(const char *list, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, word, len) == 0 && (!at[len] || at[len] == ','))
            return true;
    }
    return false;
}

static bool add_event(void *ctx, const struct store_event *ev)
{
    struct events *e = ctx;
    if ((e->names && !is_in(e->names, ev->name)) ||
        (e->task && (!ev->task || strcmp(ev->task, e->task) != 0)))
        return true;
    if (e->n == e->max) {
        e->more = true;
        return false;
    }
    if (e->n++)
        buf_addch(&e->json, ',');
    serve_add_event(ev, &e->json);
    e->last = ev->seq;
    return true;
}

void serve_events(struct serve_call *c)
{
    struct err err = {0};
    int64_t after, max;
    if (!http_query_int(c->head, "after", 0, &after) ||
        !http_query_int(c->head, "max", 1000, &max) || !max || max > EVENTS_MAX) {
        serve_answer_error(c->http, 400, "after and max must be numbers, max at most 5000");
        return;
    }
    struct events e = {.names = http_query(c->head, "names"),
                       .task = http_query(c->head, "task"),
                       .max = (size_t)max,
                       .last = after,
                       .json = BUF_INIT};
    buf_addstr(&e.json, "{\"events\":[");
    if (store_each_event(c->serve->store, c->run, after, add_event, &e, &err)) {
        answer_error(c, &err);
    } else {
        buf_addf(&e.json, "],\"last\":%lld,\"more\":%s}", (long long)e.last,
                 e.more ? "true" : "false");
        serve_answer_json(c->http, 200, &e.json);
    }
    buf_done(&e.json);
}

static bool append_spending(void *ctx, const struct store_spending *s)
{
    struct tasks *t = ctx;
    struct node *map = node_add_map(t->arena, t->list);
    node_put_string(t->arena, map, "task", s->task);
    node_put_int(t->arena, map, "attempt", s->attempt);
    node_put_string(t->arena, map, "engine", s->engine);
    node_put_string(t->arena, map, "model", s->model);
    node_put_int(t->arena, map, "time", s->time);
    node_put_int(t->arena, map, "tokens_in", s->tokens_in);
    node_put_int(t->arena, map, "tokens_out", s->tokens_out);
    node_put_int(t->arena, map, "cache_read", s->cache_read);
    node_put_int(t->arena, map, "cache_made", s->cache_made);
    if (s->usd >= 0)
        node_put_real(t->arena, map, "usd", s->usd);
    return true;
}

void serve_cost(struct serve_call *c)
{
    struct err err = {0};
    struct node *root = node_new_map(&c->arena);
    struct tasks rows = {&c->arena, node_put_list(&c->arena, root, "spending")};
    if (store_each_spending(c->serve->store, c->run, 0, append_spending, &rows, &err))
        answer_error(c, &err);
    else
        serve_answer_node(c->http, root);
}

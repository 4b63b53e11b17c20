#include "view/report/details.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/timestamp.h"
#include "doc/doc.h"

#include <string.h>

enum { SCHEMA_VERSION = 1 };

/* Every member is always present; unknown values are null. */
static void put_null(struct arena *a, struct node *map, const char *key)
{
    node_put_value(a, map, key, node_new(a, NODE_NULL, (struct pos){0}));
}

static void put_string(struct arena *a, struct node *map, const char *key, const char *s)
{
    if (s)
        node_put_string(a, map, key, s);
    else
        put_null(a, map, key);
}

static void put_int(struct arena *a, struct node *map, const char *key, bool known, int64_t n)
{
    if (known)
        node_put_int(a, map, key, n);
    else
        put_null(a, map, key);
}

static void put_usd(struct arena *a, struct node *map, double usd)
{
    if (usd >= 0)
        node_put_real(a, map, "usd", usd);
    else
        put_null(a, map, "usd");
}

static void put_time(struct arena *a, struct node *map, const char *key, int64_t time)
{
    if (time)
        node_put_time(a, map, key, time);
    else
        put_null(a, map, key);
}

/* The result of the last agent that ended. */
static void encode_outcome(const char *outcome, struct arena *a, struct node *map)
{
    static const char *const texts[] = {"result", "session", "model", "helper_names", "denied"};
    static const char *const counts[] = {"helpers", "denials"};
    struct arena own = {0};
    const struct node *from = outcome ? doc_read_line(&own, outcome, strlen(outcome)) : NULL;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        put_string(a, map, texts[i], from ? node_get_string(from, texts[i], NULL) : NULL);
    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        put_int(a, map, counts[i], from, from ? node_get_int(from, counts[i], 0) : 0);
    arena_done(&own);
}

static void encode_task(const struct report_task *t, struct arena *a, struct node *map)
{
    const struct store_task *row = &t->row;
    bool tokens = report_task_knows_tokens(t);
    put_string(a, map, "id", row->id);
    put_string(a, map, "title", row->title);
    put_string(a, map, "engine", row->engine);
    put_string(a, map, "state", row->state);
    put_string(a, map, "failure", row->failure);
    put_string(a, map, "reason", row->reason);
    put_string(a, map, "output", t->output);
    node_put_int(a, map, "attempts", row->attempts);
    put_int(a, map, "exit_code", report_task_ran(t) && t->end != REPORT_UNFINISHED, row->exit_code);
    put_time(a, map, "started", row->started);
    put_time(a, map, "finished", row->finished);
    put_int(a, map, "duration_ms", t->duration >= 0, t->duration);
    put_string(a, map, "start_commit", row->start_commit);
    put_string(a, map, "commit", row->commit);
    put_string(a, map, "landed", row->landed);
    put_string(a, map, "branch", row->branch);
    put_string(a, map, "workspace", row->workspace);
    put_string(a, map, "logs", t->logs);
    put_int(a, map, "tokens_in", tokens, row->tokens_in);
    put_int(a, map, "tokens_out", tokens, row->tokens_out);
    put_usd(a, map, row->usd);
    put_string(a, map, "prices", t->prices);
    put_string(a, map, "action", t->doing.asks ? NULL : t->doing.action);
    put_string(a, map, "question", t->doing.asks ? t->doing.action : NULL);
    encode_outcome(t->outcome, a, map);
}

static void encode_totals(const struct report *r, struct arena *a, struct node *map)
{
    bool tokens = r->tokens_in > 0 || r->tokens_out > 0;
    node_put_int(a, map, "tasks", (int64_t)r->n);
    for (size_t i = 0; i < REPORT_END_COUNT_; i++)
        node_put_int(a, map, report_end_names[i], (int64_t)r->ends[i]);
    put_int(a, map, "tokens_in", tokens, r->tokens_in);
    put_int(a, map, "tokens_out", tokens, r->tokens_out);
    put_usd(a, map, r->usd);
    put_string(a, map, "prices", r->prices);
    node_put_int(a, map, "unpriced", (int64_t)r->unpriced);
}

static void put_list(struct arena *a, struct node *map, const char *key, const struct node *from)
{
    const struct node *list = node_get(from, key);
    if (!list || list->kind != NODE_LIST)
        return;
    struct node *copy = node_put_list(a, map, key);
    node_each (item, list)
        node_add_string(a, copy, item->text);
}

static void encode_change(const struct report_change *c, struct arena *a, struct node *map)
{
    static const char *const keys[] = {"what", "name", "from", "to", "undo", "saved", "kept"};
    const struct node *restored = node_get(c->data, "restored");
    put_string(a, map, "task", c->task);
    put_list(a, map, "tasks", c->data);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        put_string(a, map, keys[i], node_get_string(c->data, keys[i], NULL));
    node_put_bool(a, map, "restored", restored && restored->truth);
    put_list(a, map, "paths", c->data);
    if (node_get_int(c->data, "more", 0))
        node_put_int(a, map, "more", node_get_int(c->data, "more", 0));
}

struct node *report_encode(const struct report *r, struct arena *a)
{
    const struct store_run *row = &r->row;
    struct node *map = node_new_map(a);
    node_put_int(a, map, "version", SCHEMA_VERSION);
    put_string(a, map, "run", row->id);
    put_string(a, map, "plan", row->plan);
    put_string(a, map, "name", row->name);
    put_string(a, map, "state", row->state);
    if (report_is_running(r) && r->paused)
        node_put_bool(a, map, "paused", true);
    put_string(a, map, "base", row->base);
    put_string(a, map, "base_commit", row->base_commit);
    put_string(a, map, "tip", row->tip);
    if (r->kept)
        node_put_string(a, map, "kept", r->kept);
    put_time(a, map, "started", row->started);
    put_time(a, map, "finished", row->finished);
    put_int(a, map, "duration_ms", r->duration >= 0, r->duration);
    put_int(a, map, "exit_code", row->finished != 0, row->exit_code);
    put_string(a, map, "logs", r->logs);
    encode_totals(r, a, node_put_map(a, map, "totals"));
    struct node *tasks = node_put_list(a, map, "tasks");
    for (size_t i = 0; i < r->n; i++)
        encode_task(&r->tasks[i], a, node_add_map(a, tasks));
    struct node *changes = node_put_list(a, map, "changes");
    for (size_t i = 0; i < r->changes.n; i++)
        encode_change(&r->changes.v[i], a, node_add_map(a, changes));
    return map;
}

void report_json(struct report_details *m, struct buf *out)
{
    autoarena struct arena a = {0};
    doc_write_lines(out, report_encode(m->r, &a));
}

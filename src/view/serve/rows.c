/*
 * Encodes rows of the store for the page.
 */
#include "view/serve/serve_private.h"

#include "base/node/node_build.h"
#include "doc/doc.h"
#include "sys/guard/proc_table.h"

#include <string.h>

static void put_time(struct arena *a, struct node *map, const char *key, int64_t time)
{
    if (time)
        node_put_int(a, map, key, time);
}

static bool is_alive(const struct store_run *run)
{
    return run->pid_start && proc_table_start((pid_t)run->pid) == run->pid_start;
}

struct node *serve_encode_run(const struct store_run *run, struct arena *a)
{
    struct node *map = node_new_map(a);
    bool running = strcmp(run->state, "running") == 0;
    node_put_string(a, map, "id", run->id);
    node_put_string(a, map, "plan", run->plan);
    node_put_string(a, map, "name", run->name);
    node_put_string(a, map, "base", run->base);
    node_put_string(a, map, "tip", run->tip);
    node_put_string(a, map, "state", running && !is_alive(run) ? "interrupted" : run->state);
    put_time(a, map, "started", run->started);
    put_time(a, map, "finished", run->finished);
    if (run->finished)
        node_put_int(a, map, "exit_code", run->exit_code);
    return map;
}

struct node *serve_encode_task(const struct store_task *t, struct arena *a)
{
    struct node *map = node_new_map(a);
    node_put_string(a, map, "id", t->id);
    node_put_string(a, map, "title", t->title);
    node_put_string(a, map, "engine", t->engine);
    node_put_string(a, map, "state", t->state);
    node_put_string(a, map, "failure", t->failure);
    node_put_string(a, map, "reason", t->reason);
    node_put_string(a, map, "branch", t->branch);
    node_put_string(a, map, "workspace", t->workspace);
    node_put_string(a, map, "start_commit", t->start_commit);
    node_put_string(a, map, "commit", t->commit);
    if (strcmp(t->state, "landed") == 0)
        node_put_string(a, map, "landed", t->landed);
    node_put_int(a, map, "attempts", t->attempts);
    node_put_int(a, map, "place", t->place);
    put_time(a, map, "started", t->started);
    put_time(a, map, "finished", t->finished);
    if (t->tokens_in || t->tokens_out) {
        node_put_int(a, map, "tokens_in", t->tokens_in);
        node_put_int(a, map, "tokens_out", t->tokens_out);
    }
    if (t->usd >= 0)
        node_put_real(a, map, "usd", t->usd);
    return map;
}

/* Copies the event's data without parsing: it is JSON already. */
void serve_add_event(const struct store_event *ev, struct buf *out)
{
    autoarena struct arena a = {0};
    struct node *map = node_new_map(&a);
    node_put_int(&a, map, "seq", ev->seq);
    node_put_int(&a, map, "time", ev->time);
    node_put_string(&a, map, "event", ev->name);
    node_put_string(&a, map, "task", ev->task);
    if (ev->attempt)
        node_put_int(&a, map, "attempt", ev->attempt);
    doc_write_line(out, map);
    if (ev->data) {
        buf_cut(out, out->len - 1);
        buf_addf(out, ",\"data\":%s}", ev->data);
    }
}

#include "front/plan_json.h"

#include <string.h>

static const struct pos nowhere;

static struct node *put(struct arena *a, struct node *map, const char *key, struct node *value)
{
    node_put(a, map, key, strlen(key), nowhere, value);
    return value;
}

static void put_string(struct arena *a, struct node *map, const char *key, const char *s)
{
    put(a, map, key, node_string(a, s, strlen(s), nowhere));
}

static void put_int(struct arena *a, struct node *map, const char *key, int64_t n)
{
    put(a, map, key, node_new(a, NODE_INT, nowhere))->integer = n;
}

static void append_id(struct arena *a, struct node *list, const struct plan *plan, uint32_t t)
{
    node_append(list, node_string(a, plan->tasks[t].id, strlen(plan->tasks[t].id), nowhere));
}

static struct node *encode_stages(const struct plan_file *pf, struct arena *a)
{
    const struct graph *g = &pf->graph;
    struct node *list = node_new(a, NODE_LIST, nowhere);
    struct node **stages = mem_array(g->stages, sizeof(*stages));
    for (uint32_t i = 0; i < g->stages; i++)
        node_append(list, stages[i] = node_new(a, NODE_LIST, nowhere));
    for (uint32_t t = 0; t < g->n; t++)
        append_id(a, stages[g->stage[t]], &pf->plan, t);
    free(stages);
    return list;
}

static void put_graph(const struct plan_file *pf, struct arena *a, struct node *map)
{
    const struct graph *g = &pf->graph;
    struct node *graph = put(a, map, "graph", node_new(a, NODE_MAP, nowhere));
    put(a, graph, "stages", encode_stages(pf, a));
    put_int(a, graph, "width", g->width);
    struct node *path = put(a, graph, "critical_path", node_new(a, NODE_LIST, nowhere));
    for (size_t i = 0; i < g->critical_len; i++)
        append_id(a, path, &pf->plan, g->critical_path[i]);
    if (g->estimated) {
        put_int(a, graph, "critical_seconds", g->critical / 1000);
        put_int(a, graph, "total_seconds", g->total / 1000);
    }
}

static struct node *encode_problem(const struct problem *p, struct arena *a)
{
    struct node *map = node_new(a, NODE_MAP, nowhere);
    put_string(a, map, "severity", p->severity == PROBLEM_ERROR ? "error" : "warning");
    put_string(a, map, "rule", rule_name(p->rule));
    if (p->pos.line) {
        put_int(a, map, "line", p->pos.line);
        put_int(a, map, "column", p->pos.col);
    }
    put_string(a, map, "path", p->path);
    put_string(a, map, "message", p->message);
    if (p->hint)
        put_string(a, map, "hint", p->hint);
    return map;
}

struct node *plan_json(const struct plan_file *pf, const struct problems *ps, struct arena *a)
{
    struct node *map = node_new(a, NODE_MAP, nowhere);
    put_string(a, map, "file", ps->file);
    put(a, map, "valid", node_new(a, NODE_BOOL, nowhere))->truth = ps->errors == 0;
    struct node *problems = put(a, map, "problems", node_new(a, NODE_LIST, nowhere));
    for (size_t i = 0; i < ps->list.n; i++)
        node_append(problems, encode_problem(&ps->list.v[i], a));
    if (ps->errors)
        return map;
    put_string(a, map, "syntax", doc_syntax_name(pf->doc.syntax));
    put_string(a, map, "vocabulary", plan_kind_name(pf->plan.kind));
    put_graph(pf, a, map);
    put(a, map, "plan", plan_encode(&pf->plan, a));
    return map;
}

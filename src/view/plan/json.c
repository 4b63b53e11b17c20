#include "view/plan/json.h"

#include "base/node/node_build.h"

static void append_id(struct arena *a, struct node *list, const struct plan *plan, uint32_t t)
{
    node_add_string(a, list, plan->tasks[t].id);
}

static struct node *encode_stages(const struct plan_file *pf, struct arena *a)
{
    const struct graph *g = &pf->graph;
    struct node *list = node_new_list(a);
    struct node **stages = mem_array(g->stages, sizeof(*stages));
    for (uint32_t i = 0; i < g->stages; i++)
        node_append(list, stages[i] = node_new_list(a));
    for (uint32_t t = 0; t < g->n; t++)
        append_id(a, stages[g->stage[t]], &pf->plan, t);
    free(stages);
    return list;
}

static void put_graph(const struct plan_file *pf, struct arena *a, struct node *map)
{
    const struct graph *g = &pf->graph;
    struct node *graph = node_put_map(a, map, "graph");
    node_put_value(a, graph, "stages", encode_stages(pf, a));
    node_put_int(a, graph, "width", g->width);
    struct node *path = node_put_list(a, graph, "critical_path");
    for (size_t i = 0; i < g->critical_len; i++)
        append_id(a, path, &pf->plan, g->critical_path[i]);
    if (g->estimated) {
        node_put_int(a, graph, "critical_seconds", g->critical / 1000);
        node_put_int(a, graph, "total_seconds", g->total / 1000);
    }
}

static struct node *encode_problem(const struct problem *p, struct arena *a)
{
    struct node *map = node_new_map(a);
    node_put_string(a, map, "severity", p->severity == PROBLEM_ERROR ? "error" : "warning");
    node_put_string(a, map, "rule", rule_name(p->rule));
    if (p->pos.line) {
        node_put_int(a, map, "line", p->pos.line);
        node_put_int(a, map, "column", p->pos.col);
    }
    node_put_string(a, map, "path", p->path);
    node_put_string(a, map, "message", p->message);
    if (p->hint)
        node_put_string(a, map, "hint", p->hint);
    return map;
}

struct node *plan_json(const struct plan_file *pf, const struct problems *ps, struct arena *a)
{
    struct node *map = node_new_map(a);
    node_put_string(a, map, "file", ps->file);
    node_put_bool(a, map, "valid", ps->errors == 0);
    struct node *problems = node_put_list(a, map, "problems");
    for (size_t i = 0; i < ps->list.n; i++)
        node_append(problems, encode_problem(&ps->list.v[i], a));
    if (ps->errors)
        return map;
    node_put_string(a, map, "syntax", doc_syntax_name(pf->doc.syntax));
    node_put_string(a, map, "vocabulary", plan_kind_name(pf->plan.kind));
    put_graph(pf, a, map);
    node_put_value(a, map, "plan", plan_encode(&pf->plan, a));
    return map;
}

#include "view/plan/json.h"

#include "base/node/node_build.h"

static void append_id(struct arena *a, struct node *list, const struct plan *plan, uint32_t t)
{
    build_add_string(a, list, plan->tasks[t].id);
}

static struct node *encode_stages(const struct plan_file *pf, struct arena *a)
{
    const struct graph *g = &pf->graph;
    struct node *list = build_list(a);
    struct node **stages = mem_array(g->stages, sizeof(*stages));
    for (uint32_t i = 0; i < g->stages; i++)
        node_append(list, stages[i] = build_list(a));
    for (uint32_t t = 0; t < g->n; t++)
        append_id(a, stages[g->stage[t]], &pf->plan, t);
    free(stages);
    return list;
}

static void put_graph(const struct plan_file *pf, struct arena *a, struct node *map)
{
    const struct graph *g = &pf->graph;
    struct node *graph = build_put_map(a, map, "graph");
    build_put(a, graph, "stages", encode_stages(pf, a));
    build_put_int(a, graph, "width", g->width);
    struct node *path = build_put_list(a, graph, "critical_path");
    for (size_t i = 0; i < g->critical_len; i++)
        append_id(a, path, &pf->plan, g->critical_path[i]);
    if (g->estimated) {
        build_put_int(a, graph, "critical_seconds", g->critical / 1000);
        build_put_int(a, graph, "total_seconds", g->total / 1000);
    }
}

static struct node *encode_problem(const struct problem *p, struct arena *a)
{
    struct node *map = build_map(a);
    build_put_string(a, map, "severity", p->severity == PROBLEM_ERROR ? "error" : "warning");
    build_put_string(a, map, "rule", rule_name(p->rule));
    if (p->pos.line) {
        build_put_int(a, map, "line", p->pos.line);
        build_put_int(a, map, "column", p->pos.col);
    }
    build_put_string(a, map, "path", p->path);
    build_put_string(a, map, "message", p->message);
    if (p->hint)
        build_put_string(a, map, "hint", p->hint);
    return map;
}

struct node *plan_json(const struct plan_file *pf, const struct problems *ps, struct arena *a)
{
    struct node *map = build_map(a);
    build_put_string(a, map, "file", ps->file);
    build_put_bool(a, map, "valid", ps->errors == 0);
    struct node *problems = build_put_list(a, map, "problems");
    for (size_t i = 0; i < ps->list.n; i++)
        node_append(problems, encode_problem(&ps->list.v[i], a));
    if (ps->errors)
        return map;
    build_put_string(a, map, "syntax", doc_syntax_name(pf->doc.syntax));
    build_put_string(a, map, "vocabulary", plan_kind_name(pf->plan.kind));
    put_graph(pf, a, map);
    build_put(a, map, "plan", plan_encode(&pf->plan, a));
    return map;
}

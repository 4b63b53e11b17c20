/*
 * A document through everything that `anabranch check` does with it, without files and git: plan,
 * graph, claims, and the plan written out again as JSON.
 */
#include "fuzz.h"

#include "core/claims.h"
#include "core/graph.h"
#include "core/plan.h"

#include <string.h>

static const char *const tracked[] = {
    "Makefile", "README.md", "doc/guide.md", "src/a.c", "src/b/c.c", "tests/run",
};

static bool has_rule(const struct problems *ps, enum rule rule)
{
    for (size_t i = 0; i < ps->list.n; i++) {
        if (ps->list.v[i].rule == rule)
            return true;
    }
    return false;
}

static void check_graph(const struct graph *g)
{
    fuzz_check(g->n == 0 || (g->stages > 0 && g->width > 0 && g->critical_len > 0));
    fuzz_check(g->critical_len <= g->n && g->critical <= g->total);
    for (size_t t = 0; t < g->n; t++) {
        const struct task *task = &g->plan->tasks[t];
        fuzz_check(g->order[g->rank[t]] == t);
        for (size_t i = 0; i < task->dep_count; i++) {
            fuzz_check(g->rank[task->deps[i]] < g->rank[t]);
            fuzz_check(g->stage[task->deps[i]] < g->stage[t]);
        }
    }
}

/* `check --json` shows what other programs read: it has to be JSON. */
static void check_encoded(const struct plan *plan)
{
    autoproblems struct problems ps;
    autobuf struct buf json = BUF_INIT;
    struct arena a = {0};
    struct doc again;
    problems_init(&ps, "plan");
    fuzz_check(doc_write(&json, plan_encode(plan, &a), DOC_JSON, &ps) == 0);
    fuzz_check(fuzz_parse(&again, (const uint8_t *)json.s, json.len, DOC_JSON, &ps) == 0);
    doc_done(&again);
    arena_done(&a);
}

static void check_plan(struct doc *doc, struct problems *ps)
{
    struct claim_scope scope = {.prefix = "sub/dir", .fold = doc->syntax == DOC_TOML};
    struct plan plan;
    struct graph graph;
    struct claims claims;
    int decoded = plan_decode(&plan, doc->root, &doc->arena, ps);
    fuzz_check(decoded == (ps->errors ? -1 : 0));
    if (graph_init(&graph, &plan, ps) == 0)
        check_graph(&graph);
    claims_init(&claims, &plan, &scope, ps);
    if (!has_rule(ps, RULE_DEPENDENCY))
        claims_refuse_overlaps(&claims, &graph, ps);
    claims_check_tracked(&claims, tracked, sizeof(tracked) / sizeof(*tracked), ps);
    problems_sort(ps);
    fuzz_check_problems(ps);
    if (!ps->errors)
        check_encoded(&plan);
    claims_done(&claims);
    graph_done(&graph);
    plan_done(&plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    autoproblems struct problems ps;
    struct doc doc;
    problems_init(&ps, "plan");
    if (fuzz_parse(&doc, data, size, DOC_AUTO, &ps) == 0)
        check_plan(&doc, &ps);
    doc_done(&doc);
    return 0;
}

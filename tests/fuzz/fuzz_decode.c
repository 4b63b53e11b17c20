/*
 * A document through all steps of `anabranch check`, without files and git: plan, graph, claims,
 * and the plan written as JSON; a manifest also through `anabranch streams`.
 */
#include "base/mem.h"
#include "fuzz.h"

#include "plan/plan.h"
#include "plan/schedule/claims.h"
#include "plan/schedule/graph.h"
#include "plan/streams/streams.h"

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

/* The streams' plan is read as any other is. */
static void check_streams_plan(const struct streams *s, struct problems *ps)
{
    struct arena a = {0};
    struct plan plan;
    const char **prompts = mem_array(s->plan->task_count + 1, sizeof(*prompts));
    for (size_t i = 0; i < s->plan->task_count; i++)
        prompts[i] = s->plan->tasks[i].prompt ? s->plan->tasks[i].prompt : "from a file";
    struct streams_texts texts = {.prompts = prompts};
    struct node *root = streams_plan(s, &texts, &a, ps);
    if (root) {
        fuzz_check(plan_decode_encoded(&plan, root, PLAN_TASKS, ps) == 0);
        fuzz_check(plan.task_count == s->n);
        plan_done(&plan);
    }
    free(prompts);
    arena_done(&a);
}

static void check_streams(const struct plan *plan, const struct graph *g, struct claims *c,
                          struct problems *ps)
{
    struct streams_options opts = {.n = 3};
    struct streams s;
    size_t seen = 0;
    if (streams_init(&s, plan, g, c, &opts, ps) == 0) {
        for (size_t i = 0; i < s.n; i++)
            seen += s.list[i].n;
        fuzz_check(seen == plan->batches.n && s.cuts == 0 && s.n <= 3);
        check_streams_plan(&s, ps);
    }
    streams_done(&s);
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
    claims_check_tracked(&claims, tracked, ARRAY_LEN(tracked), ps);
    problems_sort(ps);
    fuzz_check_problems(ps);
    if (!ps->errors)
        check_encoded(&plan);
    if (!ps->errors && plan.batches.n)
        check_streams(&plan, &graph, &claims, ps);
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

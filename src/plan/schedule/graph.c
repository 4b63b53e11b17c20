#include "plan/schedule/graph.h"

#include "base/mem.h"
#include "base/vec.h"

#include <string.h>

int64_t graph_weight(const struct graph *g, uint32_t task)
{
    int64_t estimate = g->plan->tasks[task].estimate;
    return estimate == PLAN_UNSET ? g->weight_default : estimate;
}

static uint32_t *new_table(struct graph *g, size_t n)
{
    return arena_array(&g->arena, n ? n : 1, sizeof(uint32_t));
}

static void build_dependents(struct graph *g)
{
    const struct plan *plan = g->plan;
    size_t edges = 0;
    g->dependents_at = new_table(g, g->n + 2);
    for (size_t t = 0; t < g->n; t++) {
        edges += plan->tasks[t].dep_count;
        for (size_t i = 0; i < plan->tasks[t].dep_count; i++)
            g->dependents_at[plan->tasks[t].deps[i] + 2]++;
    }
    for (size_t t = 2; t < g->n + 2; t++)
        g->dependents_at[t] += g->dependents_at[t - 1];
    /* The indexes are shifted by one: filling moves each start to the beginning of the next. */
    g->dependents = new_table(g, edges);
    for (uint32_t t = 0; t < g->n; t++) {
        for (size_t i = 0; i < plan->tasks[t].dep_count; i++)
            g->dependents[g->dependents_at[plan->tasks[t].deps[i] + 1]++] = t;
    }
}

/* Sorts the tasks topologically as far as possible. `open` then holds the number of unsorted
 * dependencies of each task. */
static size_t order_tasks(struct graph *g, uint32_t *open)
{
    size_t done = 0, queued = 0;
    for (uint32_t t = 0; t < g->n; t++) {
        open[t] = (uint32_t)g->plan->tasks[t].dep_count;
        if (!open[t])
            g->order[queued++] = t;
    }
    for (; done < queued; done++) {
        uint32_t t = g->order[done];
        g->rank[t] = (uint32_t)done;
        for (uint32_t i = g->dependents_at[t]; i < g->dependents_at[t + 1]; i++) {
            uint32_t next = g->dependents[i];
            if (g->stage[next] < g->stage[t] + 1)
                g->stage[next] = g->stage[t] + 1;
            if (--open[next] == 0)
                g->order[queued++] = next;
        }
    }
    return done;
}

struct walk {
    const struct graph *g;
    uint32_t *next; /* per task: the dependency to try next */
    char *state;    /* per task */
    VEC(uint32_t) path;
};

enum { FRESH, ON_PATH, FINISHED };

static void report_cycle(struct walk *w, uint32_t first, struct problems *ps)
{
    const struct task *tasks = w->g->plan->tasks;
    size_t start = w->path.n;
    while (w->path.v[--start] != first)
        ;
    autobuf struct buf cycle = BUF_INIT;
    for (size_t i = start; i < w->path.n; i++) {
        if (cycle.len < 300)
            buf_addf(&cycle, "%s -> ", tasks[w->path.v[i]].id);
        else if (i == w->path.n - 1)
            buf_addstr(&cycle, "... -> ");
    }
    const struct node *deps = node_get(tasks[first].node, "depends_on");
    problem_error(ps, RULE_DEPENDENCY, deps, "these tasks depend on each other: %s%s", cycle.s,
                  tasks[first].id);
    problem_hint(ps, "an arrow reads \"needs first\": remove one of them");
    for (; w->path.n > start; w->path.n--)
        w->state[w->path.v[w->path.n - 1]] = FINISHED;
}

/* Follows dependencies. A dependency that is on the current path is a cycle: we report it and
 * continue without it. */
static void walk_from(struct walk *w, uint32_t start, struct problems *ps)
{
    vec_push(&w->path, start);
    w->state[start] = ON_PATH;
    while (w->path.n) {
        uint32_t t = w->path.v[w->path.n - 1];
        const struct task *task = &w->g->plan->tasks[t];
        if (w->next[t] == task->dep_count) {
            w->state[t] = FINISHED;
            w->path.n--;
            continue;
        }
        uint32_t dep = task->deps[w->next[t]++];
        if (w->state[dep] == ON_PATH) {
            report_cycle(w, dep, ps);
        } else if (w->state[dep] == FRESH) {
            w->state[dep] = ON_PATH;
            vec_push(&w->path, dep);
        }
    }
}

static int report_cycles(struct graph *g, const uint32_t *open, struct problems *ps)
{
    struct walk w = {.g = g, .next = new_table(g, g->n), .state = mem_alloc(g->n)};
    for (uint32_t t = 0; t < g->n; t++) {
        if (!open[t])
            w.state[t] = FINISHED;
    }
    for (uint32_t t = 0; t < g->n; t++) {
        if (w.state[t] == FRESH)
            walk_from(&w, t, ps);
    }
    vec_done(&w.path);
    free(w.state);
    return -1;
}

static void measure_stages(struct graph *g)
{
    for (size_t t = 0; t < g->n; t++) {
        if (g->stage[t] >= g->stages)
            g->stages = g->stage[t] + 1;
    }
    uint32_t *count = new_table(g, g->stages);
    for (size_t t = 0; t < g->n; t++) {
        if (++count[g->stage[t]] > g->width)
            g->width = count[g->stage[t]];
    }
}

/* A task without an estimate gets the average of the existing estimates. */
static void choose_weight(struct graph *g)
{
    int64_t sum = 0, n = 0;
    for (size_t t = 0; t < g->n; t++) {
        if (g->plan->tasks[t].estimate != PLAN_UNSET) {
            sum += g->plan->tasks[t].estimate;
            n++;
        }
    }
    g->estimated = n > 0;
    g->weight_default = n ? sum / n : 1;
}

static void find_critical_path(struct graph *g)
{
    int64_t *finish = mem_array(g->n, sizeof(*finish));
    uint32_t *via = new_table(g, g->n);
    uint32_t end = 0;
    for (size_t i = 0; i < g->n; i++) {
        uint32_t t = g->order[i];
        const struct task *task = &g->plan->tasks[t];
        via[t] = t;
        for (size_t k = 0; k < task->dep_count; k++) {
            if (via[t] == t || finish[task->deps[k]] > finish[via[t]])
                via[t] = task->deps[k];
        }
        finish[t] = graph_weight(g, t) + (via[t] == t ? 0 : finish[via[t]]);
        g->total += graph_weight(g, t);
        if (finish[t] > g->critical || (finish[t] == g->critical && t < end)) {
            g->critical = finish[t];
            end = t;
        }
    }
    for (uint32_t t = end; g->n; t = via[t]) {
        g->critical_len++;
        if (via[t] == t)
            break;
    }
    g->critical_path = new_table(g, g->critical_len);
    for (size_t i = g->critical_len; i-- > 0; end = via[end])
        g->critical_path[i] = end;
    free(finish);
}

/*
 * One depth-first walk over all dependents gives each task two intervals. [pre, last] is its
 * subtree in the walk: it reaches every task inside. [low, post] covers everything reached from it:
 * it reaches no task outside. `next` holds the next dependent to visit, per task.
 */
static void label_from(struct graph *g, uint32_t root, uint32_t *next, uint32_t *pre,
                       uint32_t *post)
{
    uint32_t *path = g->todo;
    size_t depth = 0;
    path[depth++] = root;
    g->pre[root] = ++*pre;
    g->low[root] = UINT32_MAX;
    while (depth) {
        uint32_t t = path[depth - 1];
        if (next[t] < g->dependents_at[t + 1]) {
            uint32_t d = g->dependents[next[t]++];
            if (!g->pre[d]) {
                g->pre[d] = ++*pre;
                g->low[d] = UINT32_MAX;
                path[depth++] = d;
            } else if (g->low[d] < g->low[t]) {
                g->low[t] = g->low[d];
            }
            continue;
        }
        g->post[t] = ++*post;
        g->last[t] = *pre;
        if (g->post[t] < g->low[t])
            g->low[t] = g->post[t];
        if (--depth && g->low[t] < g->low[path[depth - 1]])
            g->low[path[depth - 1]] = g->low[t];
    }
}

static void label_tasks(struct graph *g)
{
    uint32_t *next = new_table(g, g->n), pre = 0, post = 0;
    memcpy(next, g->dependents_at, g->n * sizeof(*next));
    for (size_t i = 0; i < g->n; i++) {
        if (!g->pre[g->order[i]])
            label_from(g, g->order[i], next, &pre, &post);
    }
}

/* 1: yes, 0: no, -1: the labels do not decide. */
static int compare_labels(const struct graph *g, uint32_t from, uint32_t to)
{
    if (g->stage[from] >= g->stage[to] || g->low[to] < g->low[from] || g->post[to] > g->post[from])
        return 0;
    return g->pre[to] >= g->pre[from] && g->pre[to] <= g->last[from] ? 1 : -1;
}

bool graph_reaches(struct graph *g, uint32_t from, uint32_t to)
{
    int answer = compare_labels(g, from, to);
    if (answer >= 0)
        return answer;
    size_t depth = 0;
    g->todo[depth++] = from;
    g->seen[from] = ++g->epoch;
    while (depth) {
        uint32_t t = g->todo[--depth];
        for (uint32_t i = g->dependents_at[t]; i < g->dependents_at[t + 1]; i++) {
            uint32_t d = g->dependents[i];
            if (d == to || (answer = compare_labels(g, d, to)) == 1)
                return true;
            if (answer == -1 && g->seen[d] != g->epoch) {
                g->seen[d] = g->epoch;
                g->todo[depth++] = d;
            }
        }
    }
    return false;
}

bool graph_ordered(struct graph *g, uint32_t a, uint32_t b)
{
    return graph_reaches(g, a, b) || graph_reaches(g, b, a);
}

int graph_init(struct graph *g, const struct plan *plan, struct problems *ps)
{
    *g = (struct graph){.plan = plan, .n = plan->task_count};
    build_dependents(g);
    uint32_t **tables[] = {&g->order, &g->rank, &g->stage, &g->low, &g->post,
                           &g->pre,   &g->last, &g->seen,  &g->todo};
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        *tables[i] = new_table(g, g->n);
    uint32_t *open = new_table(g, g->n);
    if (order_tasks(g, open) < g->n)
        return report_cycles(g, open, ps);
    measure_stages(g);
    choose_weight(g);
    find_critical_path(g);
    label_tasks(g);
    return 0;
}

void graph_done(struct graph *g)
{
    arena_done(&g->arena);
}

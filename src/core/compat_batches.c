/*
 * The Agent Dispatch Manifest: batches of agents. A batch follows the one before it unless its
 * `depends_on` says otherwise; its agents follow one another unless it is `parallel` or a fan-out.
 */
#include "core/compat.h"

#include "base/vec.h"

#include <string.h>

enum { EDGES_MAX = 500000 };

struct batch {
    struct node *node, *id;
    const char *name;    /* the text of its id */
    struct node **tasks; /* what it became */
    size_t n;
    bool parallel;
};

struct batches {
    struct arena *a;
    struct problems *ps;
    VEC(struct batch) list;
    struct map by_id; /* to the place in the list, plus one */
    size_t edges;
};

static bool batch_is_parallel(const struct batches *bs, const struct node *node)
{
    const struct node *parallel = node_get(node, "parallel"), *type = node_get(node, "type");
    if (type && (type->kind != NODE_STRING ||
                 (strcmp(type->text, "fan-out") != 0 && strcmp(type->text, "sequential") != 0)))
        problem_warn(bs->ps, RULE_VALUE, type, "is not a type of batch, and is ignored");
    if (type && type->kind == NODE_STRING && strcmp(type->text, "fan-out") == 0)
        return true;
    if (!parallel)
        return false;
    if (parallel->kind != NODE_BOOL)
        problem_error(bs->ps, RULE_TYPE, parallel, "expected a boolean, got %s",
                      node_kind_name(parallel->kind));
    return parallel->kind == NODE_BOOL && parallel->truth;
}

/* A batch without agents does what it says itself. */
static void batch_agents(struct batches *bs, struct batch *b)
{
    struct node *agents = node_get(b->node, "agents");
    if (!agents) {
        struct node *description = node_get(b->node, "description");
        if (!node_get(b->node, "prompt") && description && description->kind == NODE_STRING)
            compat_add_string(b->node, bs->a, "prompt", description->text, description);
        if (!node_get(b->node, "prompt"))
            problem_error(bs->ps, RULE_REQUIRED, b->node, "has no 'agents'");
        b->tasks = arena_array(bs->a, 1, sizeof(*b->tasks));
        b->tasks[b->n++] = b->node;
        return;
    }
    if (agents->kind != NODE_LIST) {
        problem_error(bs->ps, RULE_TYPE, agents, "expected a list, got %s",
                      node_kind_name(agents->kind));
        return;
    }
    if (agents->n == 0)
        problem_error(bs->ps, RULE_VALUE, agents, "is empty: a batch needs at least one agent");
    b->tasks = arena_array(bs->a, agents->n + 1, sizeof(*b->tasks));
    node_each (agent, agents) {
        if (agent->kind == NODE_MAP)
            b->tasks[b->n++] = agent;
        else
            problem_error(bs->ps, RULE_TYPE, agent, "expected a mapping, got %s",
                          node_kind_name(agent->kind));
    }
}

static void add_batch(struct batches *bs, struct node *node)
{
    if (node->kind != NODE_MAP) {
        problem_error(bs->ps, RULE_TYPE, node, "expected a mapping, got %s",
                      node_kind_name(node->kind));
        return;
    }
    struct batch b = {.node = node, .id = node_get(node, "id")};
    static const char *const required[] = {"id", NULL};
    compat_require(node, required, bs->ps);
    if (b.id)
        compat_as_string(b.id);
    if (b.id && b.id->kind != NODE_STRING)
        problem_error(bs->ps, RULE_TYPE, b.id, "expected a string or a number, got %s",
                      node_kind_name(b.id->kind));
    else if (b.id)
        b.name = b.id->text;
    b.parallel = batch_is_parallel(bs, node);
    batch_agents(bs, &b);
    if (b.name)
        map_put(&bs->by_id, b.name, strlen(b.name), (void *)(bs->list.n + 1));
    vec_push(&bs->list, b);
}

static struct batch *find_batch(struct batches *bs, const char *id, size_t len)
{
    size_t place = (size_t)map_get(&bs->by_id, id, len);
    return place ? &bs->list.v[place - 1] : NULL;
}

static void drop(struct node *map, const char *name)
{
    struct node *node = node_get(map, name);
    if (node)
        node_unlink(map, node);
}

/* What a batch says of all its agents holds for those that do not say it themselves. */
static void inherit(struct batches *bs, const struct batch *b, struct node *task, const char *key,
                    const char *name)
{
    const struct node *of_batch = node_get(b->node, key);
    if (!of_batch || node_get(task, name))
        return;
    struct node *copy = arena_alloc(bs->a, sizeof(*copy));
    *copy = *of_batch;
    node_link(task, copy, name);
}

static void translate_agent(struct batches *bs, const struct batch *b, struct node *task,
                            size_t nth)
{
    struct node *agent = compat_rename(task, "subagent_type", "agent", bs->ps);
    if (agent && agent->kind == NODE_STRING && strcmp(agent->text, "main") == 0)
        node_unlink(task, agent); /* the session itself, no persona */
    compat_rename(task, "owns_files", "owns", bs->ps);
    compat_rename(task, "description", "title", bs->ps);

    const struct node *title = node_get(b->node, "description");
    if (title && title->kind == NODE_STRING && title->len && !node_get(task, "title"))
        compat_add_string(task, bs->a, "title", title->text, title);
    inherit(bs, b, task, "owns_files", "owns");
    inherit(bs, b, task, "estimate", "estimate");
    if (!b->name)
        return;
    drop(task, "id");
    compat_add_string(task, bs->a, "id",
                      b->n == 1 ? arena_printf(bs->a, "b%s", b->name)
                                : arena_printf(bs->a, "b%s-%zu", b->name, nth + 1),
                      b->id);
}

static void add_edge(struct batches *bs, struct node *deps, const struct node *task)
{
    const struct node *id = node_get(task, "id");
    if (!id || ++bs->edges > EDGES_MAX)
        return;
    struct node *dep = node_new(bs->a, NODE_STRING, deps->pos);
    dep->text = id->text;
    dep->len = id->len;
    node_append(deps, dep);
}

/* All of a parallel batch, the last of a sequential one. */
static void depend_on_batch(struct batches *bs, struct node *deps, const struct batch *b)
{
    for (size_t i = b->parallel || !b->n ? 0 : b->n - 1; i < b->n; i++)
        add_edge(bs, deps, b->tasks[i]);
}

static void check_named(struct batches *bs, const struct node *named)
{
    if (named->kind != NODE_LIST) {
        problem_error(bs->ps, RULE_TYPE, named, "expected a list, got %s",
                      node_kind_name(named->kind));
        return;
    }
    node_each (item, named) {
        compat_as_string(item);
        if (item->kind != NODE_STRING || !find_batch(bs, item->text, item->len))
            problem_error(bs->ps, RULE_DEPENDENCY, item, "no batch has this id");
    }
}

static void depend_on_named(struct batches *bs, struct node *deps, const struct node *named)
{
    if (named->kind != NODE_LIST)
        return;
    node_each (item, named) {
        const struct batch *b =
            item->kind == NODE_STRING ? find_batch(bs, item->text, item->len) : NULL;
        if (b)
            depend_on_batch(bs, deps, b);
    }
}

static void link_batch(struct batches *bs, size_t place, const struct node *named)
{
    struct batch *b = &bs->list.v[place];
    for (size_t i = 0; i < b->n; i++) {
        struct node *deps =
            compat_add(b->tasks[i], bs->a, "depends_on", NODE_LIST, named ? named : b->node);
        if (i > 0 && !b->parallel)
            add_edge(bs, deps, b->tasks[i - 1]);
        else if (named)
            depend_on_named(bs, deps, named);
        else if (place > 0)
            depend_on_batch(bs, deps, &bs->list.v[place - 1]);
    }
}

/* Keys of the batch itself; what is left of a batch with agents is nobody's. */
static void strip_batch(struct batches *bs, struct batch *b)
{
    static const char *const known[] = {"agents", "parallel",    "type",       "id",
                                        "title",  "description", "owns_files", "estimate"};
    bool is_task = b->n == 1 && b->tasks[0] == b->node;
    for (size_t i = 0; i < (is_task ? 3 : sizeof(known) / sizeof(known[0])); i++)
        drop(b->node, known[i]);
    if (is_task)
        return;
    node_each (member, b->node) {
        if (strncmp(member->key, "x-", 2) != 0)
            problem_warn(bs->ps, RULE_UNKNOWN, member, "unknown key '%s' is ignored", member->key);
    }
}

static void batches_to_tasks(struct batches *bs, struct node *tasks)
{
    for (size_t i = 0; i < bs->list.n; i++) {
        for (size_t k = 0; k < bs->list.v[i].n; k++)
            translate_agent(bs, &bs->list.v[i], bs->list.v[i].tasks[k], k);
    }
    for (size_t i = 0; i < bs->list.n; i++) {
        struct batch *b = &bs->list.v[i];
        struct node *named = node_get(b->node, "depends_on");
        if (named)
            node_unlink(b->node, named);
        if (named)
            check_named(bs, named);
        link_batch(bs, i, named);
        strip_batch(bs, b);
        for (size_t k = 0; k < b->n; k++)
            node_link(tasks, b->tasks[k], NULL);
    }
}

void compat_batches(struct node *root, struct arena *a, struct problems *ps)
{
    struct node *plan_id = compat_rename(root, "plan_id", "name", ps);
    if (plan_id)
        compat_as_string(plan_id);
    struct node *list = compat_rename(root, "batches", "tasks", ps);
    if (!list || list->kind != NODE_LIST)
        return;
    struct batches bs = {.a = a, .ps = ps};
    node_each (node, list)
        add_batch(&bs, node);
    struct node *tasks = compat_add(root, a, "tasks", NODE_LIST, list);
    node_unlink(root, list);
    batches_to_tasks(&bs, tasks);
    if (bs.edges > EDGES_MAX)
        problem_error(ps, RULE_VALUE, list, "has more than %d dependencies between its agents",
                      EDGES_MAX);
    vec_done(&bs.list);
    map_done(&bs.by_id);
}

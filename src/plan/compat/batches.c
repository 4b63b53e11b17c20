/*
 * Translates the Agent Dispatch Manifest: batches of agents. A batch follows the one before it,
 * unless its `depends_on` says otherwise. Its agents run one after the other, unless the batch is
 * `parallel` or a fan-out.
 */
#include "plan/compat/compat.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "base/vec.h"
#include "plan/decode/task.h"

#include <string.h>

enum { EDGES_MAX = 500000 };

struct batch {
    struct node *node, *id;
    const char *name;    /* its id, or a generated one */
    struct node **tasks; /* its tasks */
    size_t n;
    const char *title;
    bool parallel, fan_out, says_order;
};

struct batches {
    struct arena *a;
    struct problems *ps;
    struct reader r; /* uses `a` and `ps` */
    VEC(struct batch) list;
    struct map by_id; /* index in the list, plus one */
    size_t edges;
};

static bool is_fan_out(const struct node *type)
{
    return type && type->kind == NODE_STRING && strcmp(type->text, "fan-out") == 0;
}

static bool read_parallel(struct batches *bs, const struct node *node)
{
    const struct node *parallel = node_get(node, "parallel"), *type = node_get(node, "type");
    if (type && (type->kind != NODE_STRING ||
                 (strcmp(type->text, "fan-out") != 0 && strcmp(type->text, "sequential") != 0))) {
        problem_warn(bs->ps, RULE_VALUE, type, "is not a type of batch, and is ignored");
        problem_hint(bs->ps, "it is one of: fan-out, sequential");
    }
    if (is_fan_out(type))
        return true;
    bool truth = false;
    if (parallel)
        read_bool(&bs->r, parallel, NULL, &truth);
    return truth;
}

/* A batch without agents is a task itself. */
static void find_agents(struct batches *bs, struct batch *b)
{
    struct node *agents = node_get(b->node, "agents");
    if (!agents) {
        struct node *description = node_get(b->node, "description");
        if (description && !node_get(b->node, "prompt") && !node_get(b->node, "prompt_file"))
            compat_prompt(b->node, bs->a, description);
        if (!node_get(b->node, "prompt") && !node_get(b->node, "prompt_file")) {
            problem_error(bs->ps, RULE_REQUIRED, b->node, "has no 'agents'");
            return;
        }
        b->tasks = arena_array(bs->a, 1, sizeof(*b->tasks));
        b->tasks[b->n++] = b->node;
        return;
    }
    if (!read_expect(&bs->r, agents, NODE_LIST))
        return;
    if (agents->n == 0)
        problem_error(bs->ps, RULE_VALUE, agents, "is empty: a batch needs at least one agent");
    b->tasks = arena_array(bs->a, agents->n + 1, sizeof(*b->tasks));
    node_each (agent, agents) {
        if (read_expect(&bs->r, agent, NODE_MAP))
            b->tasks[b->n++] = agent;
    }
}

static struct batch *find_batch(struct batches *bs, const char *id, size_t len)
{
    size_t place = (size_t)map_get(&bs->by_id, id, len);
    return place ? &bs->list.v[place - 1] : NULL;
}

/* Checks that the batch has an id from which we can derive the ids of its tasks. */
static bool check_id(struct batches *bs, const struct batch *b)
{
    const struct batch *first;
    if (b->id->kind != NODE_STRING) {
        problem_error(bs->ps, RULE_TYPE, b->id, "expected a string or a number, got %s",
                      node_kind_name(b->id->kind));
    } else if (strlen(b->id->text) != b->id->len || !task_id_valid(b->id->text)) {
        problem_error(bs->ps, RULE_VALUE, b->id, "'%.80s' cannot be the id of a batch",
                      b->id->text);
        problem_hint(bs->ps, "use letters, digits, '-' and '_'");
    } else if ((first = find_batch(bs, b->id->text, b->id->len))) {
        problem_error(bs->ps, RULE_DUPLICATE, b->id, "the id '%.80s' is taken by line %u",
                      b->id->text, first->id->pos.line);
    } else {
        return true;
    }
    return false;
}

/* If the id of a batch is missing or wrong, we use its index from then on, so that we report the
 * error only once. */
static void name_batch(struct batches *bs, struct batch *b)
{
    static const char *const required[] = {"id", NULL};
    compat_require(b->node, required, bs->ps);
    if (b->id)
        compat_as_string(b->id);
    bool has_id = b->id && check_id(bs, b);
    b->name = has_id ? b->id->text : arena_printf(bs->a, "_%zu", bs->list.n);
    if (b->id && b->id->kind == NODE_STRING && !find_batch(bs, b->id->text, b->id->len))
        map_put(&bs->by_id, b->id->text, b->id->len, (void *)(bs->list.n + 1));
}

/* Uses only the first line: a description may be the whole prompt. */
static const char *get_title(struct batches *bs, const struct node *node)
{
    const char *title = node_get_string(node, "title", node_get_string(node, "description", ""));
    title += strspn(title, " \t\r\n");
    return *title ? arena_dup(bs->a, title, strcspn(title, "\r\n")) : NULL;
}

static void add_batch(struct batches *bs, struct node *node)
{
    if (!read_expect(&bs->r, node, NODE_MAP))
        return;
    struct batch b = {.node = node, .id = node_get(node, "id")};
    name_batch(bs, &b);
    b.parallel = read_parallel(bs, node);
    b.fan_out = is_fan_out(node_get(node, "type"));
    b.title = get_title(bs, node);
    find_agents(bs, &b);
    vec_push(&bs->list, b);
}

static void remove_member(struct node *map, const char *name)
{
    struct node *node = node_get(map, name);
    if (node)
        node_unlink(map, node);
}

/* Copies a key of the batch to an agent that does not set it. */
static void inherit_member(struct batches *bs, const struct batch *b, struct node *task,
                           const char *key, const char *name)
{
    const struct node *batch_value = node_get(b->node, key);
    if (!batch_value || node_get(task, name))
        return;
    struct node *copy = arena_alloc(bs->a, sizeof(*copy));
    *copy = *batch_value;
    node_link(task, copy, name);
}

static bool is_empty(const struct node *node)
{
    return node && node->kind == NODE_STRING && node->len == 0;
}

/* The next batch gets the results of the agents of a fan-out. */
static void set_hand_on(struct batches *bs, const struct batch *b, struct node *task)
{
    struct node *truth = compat_add_string(task, bs->a, "hand_on", "true", b->node);
    truth->kind = NODE_BOOL;
    truth->truth = true;
}

static void translate_agent(struct batches *bs, const struct batch *b, struct node *task,
                            size_t nth)
{
    struct node *agent = compat_rename(task, "subagent_type", "agent", bs->ps);
    if (agent && agent->kind == NODE_STRING && strcmp(agent->text, "main") == 0)
        node_unlink(task, agent); /* the session itself, not a subagent */
    compat_rename(task, "owns_files", "owns", bs->ps);
    compat_rename(task, "description", "title", bs->ps);
    inherit_member(bs, b, task, "title", "title");
    if (!is_empty(node_get(b->node, "description")))
        inherit_member(bs, b, task, "description", "title");
    inherit_member(bs, b, task, "owns_files", "owns");
    inherit_member(bs, b, task, "estimate", "estimate");
    if (b->fan_out && !node_get(task, "hand_on"))
        set_hand_on(bs, b, task);

    const char *id = b->n == 1 ? arena_printf(bs->a, "b%s", b->name)
                               : arena_printf(bs->a, "b%s-%zu", b->name, nth + 1);
    const struct node *own = node_get(task, "id");
    if (own && own != b->id)
        problem_warn_key(bs->ps, RULE_UNKNOWN, own, "is ignored: the task is called '%.80s'", id);
    remove_member(task, "id");
    compat_add_string(task, bs->a, "id", id, b->id ? b->id : b->node);
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

/* Adds dependencies on all tasks of a parallel batch, or on the last task of a sequential one. */
static void depend_on_batch(struct batches *bs, struct node *deps, const struct batch *b)
{
    for (size_t i = b->parallel || !b->n ? 0 : b->n - 1; i < b->n; i++)
        add_edge(bs, deps, b->tasks[i]);
}

static void check_named(struct batches *bs, const struct batch *b, const struct node *named)
{
    if (!read_expect(&bs->r, named, NODE_LIST))
        return;
    node_each (item, named) {
        compat_as_string(item);
        if (item->kind != NODE_STRING)
            problem_error(bs->ps, RULE_TYPE, item, "expected the id of a batch, got %s",
                          node_kind_name(item->kind));
        else if (!find_batch(bs, item->text, item->len))
            problem_error(bs->ps, RULE_DEPENDENCY, item, "no batch has the id '%.80s'", item->text);
        else if (find_batch(bs, item->text, item->len) == b)
            problem_error(bs->ps, RULE_DEPENDENCY, item, "'%.80s' depends on itself", item->text);
    }
}

static void depend_on_named(struct batches *bs, const struct batch *self, struct node *deps,
                            const struct node *named)
{
    if (named->kind != NODE_LIST)
        return;
    node_each (item, named) {
        const struct batch *b =
            item->kind == NODE_STRING ? find_batch(bs, item->text, item->len) : NULL;
        if (b && b != self)
            depend_on_batch(bs, deps, b);
    }
}

static void link_batch(struct batches *bs, size_t place, const struct node *named)
{
    struct batch *b = &bs->list.v[place];
    for (size_t i = 0; i < b->n; i++) {
        struct node *deps =
            node_get(b->tasks[i], "depends_on"); /* dependencies of the agent itself */
        if (!deps || deps->kind != NODE_LIST)
            deps = compat_add(b->tasks[i], bs->a, "depends_on", NODE_LIST, named ? named : b->node);
        if (i > 0 && !b->parallel)
            add_edge(bs, deps, b->tasks[i - 1]);
        else if (named)
            depend_on_named(bs, b, deps, named);
        else if (place > 0)
            depend_on_batch(bs, deps, &bs->list.v[place - 1]);
    }
}

/* Removes the batch's own keys. If the batch has agents, its other keys are unknown. */
static void strip_batch(struct batches *bs, struct batch *b)
{
    static const char *const known[] = {"agents",     "parallel", "type",
                                        "id",         "title",    "description",
                                        "owns_files", "estimate", "depends_on"};
    const size_t count = ARRAY_LEN(known);
    bool is_task = b->n == 1 && b->tasks[0] == b->node;
    for (size_t i = 0; i < (is_task ? 3 : count); i++)
        remove_member(b->node, known[i]);
    if (is_task)
        return;
    node_each (member, b->node) {
        if (strncmp(member->key, "x-", 2) == 0)
            continue;
        const char *near = text_nearest(member->key, known, count);
        problem_warn_key(bs->ps, RULE_UNKNOWN, member, "unknown key '%s' is ignored", member->key);
        if (near)
            problem_hint(bs->ps, "did you mean '%s'?", near);
        else
            problem_hint(bs->ps, "write keys for agents into each agent");
    }
}

static bool has_agent_dependency(const struct batch *b)
{
    bool some = false;
    for (size_t i = 0; i < b->n; i++)
        some = some || node_get(b->tasks[i], "depends_on");
    return some;
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
            check_named(bs, b, named);
        b->says_order = named || has_agent_dependency(b);
        link_batch(bs, i, named);
        strip_batch(bs, b);
        for (size_t k = 0; k < b->n; k++)
            node_link(tasks, b->tasks[k], NULL);
    }
}

static void add_stand_in(struct batches *bs, struct node *tasks, const struct node *list)
{
    struct node *task = node_new(bs->a, NODE_MAP, list->pos);
    compat_add_string(task, bs->a, "id", "_", list);
    compat_add_string(task, bs->a, "prompt", "_", list);
    node_append(tasks, task);
}

/* Keeps the batches for callers that need more than tasks. */
static void keep_batches(const struct batches *bs, struct plan_batches *ret)
{
    uint32_t first = 0;
    ret->v = arena_array(bs->a, bs->list.n + 1, sizeof(*ret->v));
    ret->n = bs->list.n;
    for (size_t i = 0; i < bs->list.n; i++) {
        const struct batch *b = &bs->list.v[i];
        ret->v[i] = (struct plan_batch){
            .node = b->node,
            .id = b->name,
            .title = b->title,
            .first = first,
            .n = b->n,
            .parallel = b->parallel,
            .fan_out = b->fan_out,
            .says_order = b->says_order,
        };
        first += (uint32_t)b->n;
    }
}

void compat_batches(struct node *root, struct arena *a, struct problems *ps,
                    struct plan_batches *ret)
{
    compat_rename(root, "plan_id", "name", ps);
    compat_name(root, ps);
    struct node *list = compat_rename(root, "batches", "tasks", ps);
    if (!list || list->kind != NODE_LIST)
        return;
    struct batches bs = {.a = a, .ps = ps, .r = {.a = a, .ps = ps}};
    node_each (node, list)
        add_batch(&bs, node);
    struct node *tasks = compat_add(root, a, "tasks", NODE_LIST, list);
    node_unlink(root, list);
    batches_to_tasks(&bs, tasks);
    keep_batches(&bs, ret);
    if (list->n && !tasks->n) /* avoid a second error: the plan has no tasks */
        add_stand_in(&bs, tasks, list);
    if (bs.edges > EDGES_MAX)
        problem_error(ps, RULE_VALUE, list, "has more than %d dependencies between its agents",
                      EDGES_MAX);
    vec_done(&bs.list);
    map_done(&bs.by_id);
}
